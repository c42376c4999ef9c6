"""Descent on least squares with an l1 penalty, one step after the other until a target is met."""

from __future__ import annotations

import numpy as np

from greedyexp.kernels._compile import kernel
from greedyexp.kernels.descent_state import HELD, ITERATION, conclude, move, move_all, reached
from greedyexp.kernels.gram_fit import TIE, largest
from greedyexp.kernels.matching_pursuit import propose

GAUSS_SOUTHWELL, PROXIMAL_GAUSS_SOUTHWELL, PROXIMAL_GRADIENT, MATCHING_PURSUIT = range(4)


@kernel
def descend(state, rule, until, target):
    """Step until ``until`` steps are made in all, or the objective is at or below ``target``.

    Parameters
    ----------
    state : State
        Brought up to date.
    rule : int
        How to step, one of the constants above.
    until : int
    target : float
    """
    while state.counts[ITERATION] < until and not reached(state, target):
        if rule == GAUSS_SOUTHWELL:
            _gauss_southwell(state)
        elif rule == PROXIMAL_GAUSS_SOUTHWELL:
            _proximal_gauss_southwell(state)
        elif rule == PROXIMAL_GRADIENT:
            _proximal_gradient(state)
        else:
            _matching_pursuit(state)
        conclude(state)


@kernel
def _first_largest(values):
    """The lowest index whose value >= 0 is the largest up to rounding."""
    least = largest(values) * (1.0 - TIE)
    for i in range(len(values)):
        if values[i] >= least:
            return i
    return 0


@kernel
def _steepest(state):
    """The coordinate along which G falls most steeply away from zero.

    The rates are compared, not the derivatives: near an optimum these are all but lam.
    """
    for i in range(len(state.grad)):
        state.score[i] = max(abs(state.grad[i]) - state.lam, 0.0)
    return _first_largest(state.score)


@kernel
def _gauss_southwell(state):
    i = _steepest(state)
    move(state, i, state.coef[i] - state.grad[i] / state.smoothness)


@kernel
def _shrunk(value, slope, lam, smoothness):
    """argmin over t of slope (t - value) + (L/2) (t - value)^2 + lam |t|."""
    free = value - slope / smoothness
    return np.copysign(max(abs(free) - lam / smoothness, 0.0), free)


@kernel
def _gain(value, slope, lam, smoothness):
    """2 L times the decrease that the same minimum brings from a nonzero value.

    A sum of positive terms: near an optimum, the difference of the two models would be rounding.
    """
    inward = lam + slope if value > 0.0 else lam - slope
    way = smoothness * abs(value)
    if inward <= way:
        return inward * inward
    beyond = max(inward - 2.0 * lam - way, 0.0)
    return way * (2.0 * inward - way) + beyond * beyond


@kernel
def _proximal_gauss_southwell(state):
    coef, grad, score = state.coef, state.grad, state.score
    lam, smoothness = state.lam, state.smoothness
    for i in range(len(grad)):
        outward = max(abs(grad[i]) - lam, 0.0)
        score[i] = outward * outward
    for t in range(state.counts[HELD]):
        i = state.held[t]
        score[i] = _gain(coef[i], grad[i], lam, smoothness)
    i = _first_largest(score)
    move(state, i, _shrunk(coef[i], grad[i], lam, smoothness))


@kernel
def _proximal_gradient(state):
    coef, grad, score = state.coef, state.grad, state.score
    lam, smoothness = state.lam, state.smoothness
    for i in range(len(coef)):
        score[i] = _shrunk(coef[i], grad[i], lam, smoothness)
    move_all(state, score)


@kernel
def _matching_pursuit(state):
    moved = propose(
        state.coef,
        state.grad,
        state.lam,
        state.smoothness,
        state.held,
        state.counts[HELD],
        _steepest(state),
        state.score,
        state.features,
        state.values,
    )
    for t in range(moved):
        move(state, state.features[t], state.values[t])
