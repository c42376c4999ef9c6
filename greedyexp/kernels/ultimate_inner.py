"""Inner loops of the ultimate method: block descent on its step with ||u||_1^2 made quadratic.

A step looks for eta and w in the kernel of P that minimise

    <g, eta - a> + (L / 2) ||u||_1^2 + lam ||eta||_1  with  u = eta + w - a,

where g = P^T f'(P a) and w stands for Q z, Q a basis of the kernel. Weights gamma > 0 of sum 1 make
the square quadratic, since ||u||_1^2 = min sum u_i^2 / gamma_i, and theta > 0 the norm, since
||eta||_1 = min sum (eta_i^2 / theta_i + theta_i) / 2. At u_i = 0 the best weight would be zero, and
u_i could never move again. Sums therefore use u_i^2 + e^2: gamma_i is then proportional to
(u_i^2 + e^2)^(1/2), never zero, and every block is still minimised exactly. The value increases
with e, so lowering e keeps the descent monotone. Round j uses the smaller of
e = ||u||_1 / (p (1 + j)) and the e of the previous round. The error caused by e, L ||u||_1 p e, is
then the part 1 / (1 + j) of the value of the step, and no coordinate is frozen early.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from greedyexp.kernels._compile import kernel
from greedyexp.kernels.cholesky_numba import append, solve, solve_transposed


class Inner(NamedTuple):
    """The step and the state of its loop; arrays are changed in place."""

    atoms: np.ndarray  # (p, r), spanning R^r
    start: np.ndarray  # (p,) a
    slope: np.ndarray  # (p,) g
    lam: float
    smoothness: float  # L
    eta: np.ndarray  # (p,) representation of the next point
    null: np.ndarray  # (p,) w, in the kernel of P
    gamma: np.ndarray  # (p,) weights of the move
    theta: np.ndarray  # (p,) weights of the representation
    floor: np.ndarray  # (1,) e


@kernel
def begin(atoms, start, slope, lam, smoothness):
    """The state at eta = a and w = 0, with equal weights and e for the longest first move."""
    p = len(start)
    floor = np.full(1, (np.max(np.abs(slope)) + lam) / (smoothness * p))
    state = Inner(
        atoms,
        start,
        slope,
        lam,
        smoothness,
        start.copy(),
        np.zeros(p),
        np.full(p, 1.0 / p),
        np.empty(p),
        floor,
    )
    weigh_representation(state)
    return state


@kernel
def shift_in_kernel(state):
    """Minimise over w: sum u_i^2 / gamma_i with P u = P (eta - a), a system of r equations.

    It is Q z for z = (Q^T D^-1 Q)^-1 Q^T D^-1 (a - eta), D = diag(gamma), without Q and without a
    division by gamma. If rounding makes the system singular, w does not change.
    """
    atoms = state.atoms
    r = atoms.shape[1]
    weighted = atoms * state.gamma.reshape(-1, 1)
    system = np.dot(weighted.T, atoms)
    factor = np.empty((r, r))
    for i in range(r):
        if append(factor, i, system[i], system[i, i]) <= 0.0:
            return
    away = state.eta - state.start
    rest = np.dot(away, atoms)
    move = np.zeros(len(away))
    # The second round makes P u accurate to rounding even if weights differ by many orders.
    for _ in range(2):
        part = rest.copy()
        solve(factor, r, part)
        solve_transposed(factor, r, part, part)
        change = np.dot(weighted, part)
        move += change
        rest -= np.dot(change, atoms)
    state.null[:] = move - away


@kernel
def weigh_move(state):
    """Minimise over gamma."""
    total, floor = 0.0, state.floor[0]
    for i in range(len(state.eta)):
        weight = np.hypot(state.eta[i] + state.null[i] - state.start[i], floor)
        state.gamma[i] = weight
        total += weight
    for i in range(len(state.eta)):
        state.gamma[i] /= total


@kernel
def weigh_representation(state):
    """Minimise over theta."""
    for i in range(len(state.eta)):
        state.theta[i] = np.hypot(state.eta[i], state.floor[0])


@kernel
def threshold(state):
    """Minimise over eta with the exact norm: soft thresholding."""
    for i in range(len(state.eta)):
        reach = state.gamma[i] / state.smoothness
        centre = state.start[i] - state.null[i] - reach * state.slope[i]
        size = abs(centre) - state.lam * reach
        state.eta[i] = 0.0 if size <= 0.0 else (size if centre > 0.0 else -size)


@kernel
def shrink(state):
    """Minimise over eta with its norm made quadratic by theta."""
    for i in range(len(state.eta)):
        gamma, theta = state.gamma[i], state.theta[i]
        pull = state.smoothness * (state.start[i] - state.null[i]) - gamma * state.slope[i]
        state.eta[i] = theta * pull / (state.smoothness * theta + state.lam * gamma)


@kernel
def value(state, quadratic):
    """The function that the blocks minimise; with ``quadratic``, theta replaces the norm."""
    total, square, norm = 0.0, 0.0, 0.0
    power = state.floor[0] ** 2
    for i in range(len(state.eta)):
        away = state.eta[i] - state.start[i]
        total += state.slope[i] * away
        square += ((away + state.null[i]) ** 2 + power) / state.gamma[i]
        if quadratic:
            norm += ((state.eta[i] ** 2 + power) / state.theta[i] + state.theta[i]) / 2.0
        else:
            norm += abs(state.eta[i])
    return total + state.smoothness / 2.0 * square + state.lam * norm


@kernel
def step_value(state):
    """The step's own value and ||u||_1."""
    total, length, norm = 0.0, 0.0, 0.0
    for i in range(len(state.eta)):
        away = state.eta[i] - state.start[i]
        total += state.slope[i] * away
        length += abs(away + state.null[i])
        norm += abs(state.eta[i])
    return total + state.smoothness / 2.0 * length * length + state.lam * norm, length


@kernel
def _close_round(state, j, least, estimate):
    """Keep eta in ``estimate`` if it has the least value so far, and lower e; the least value."""
    reached, length = step_value(state)
    if reached < least:
        least = reached
        estimate[:] = state.eta
    if length > 0.0:
        state.floor[0] = min(state.floor[0], length / (len(state.eta) * (1.0 + j)))
    return least


@kernel
def alternate(state, rounds):
    """Minimise over w, gamma and eta in turn.

    Returns
    -------
    estimate : array (p,)
        The eta with the least value of the step, or ``start`` if no value is less.
    values : array (rounds,)
        The value after each round.
    """
    estimate = state.start.copy()
    least = state.lam * np.sum(np.abs(state.start))
    values = np.empty(rounds)
    for j in range(rounds):
        shift_in_kernel(state)
        weigh_move(state)
        threshold(state)
        values[j] = value(state, False)
        least = _close_round(state, j, least, estimate)
    return estimate, values


@kernel
def random_blocks(state, choices):
    """Minimise over eta or w, by ``choices``, and then over gamma and theta together.

    Parameters
    ----------
    choices : bool array (rounds,)
        True for eta.

    Returns
    -------
    estimate, values
        As of ``alternate``.
    """
    estimate = state.start.copy()
    least = state.lam * np.sum(np.abs(state.start))
    values = np.empty(len(choices))
    for j in range(len(choices)):
        if choices[j]:
            shrink(state)
        else:
            shift_in_kernel(state)
        least = _close_round(state, j, least, estimate)
        weigh_move(state)
        weigh_representation(state)
        values[j] = value(state, True)
    return estimate, values
