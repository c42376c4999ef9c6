"""The exact optimum that iterates are measured from: least squares, or the Lasso with its gap."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from greedyexp.algorithms.lasso.lasso import lasso
from greedyexp.problems.problem import Problem
from greedyexp.solvers.lasso_active_set import duality_gap, minimise
from greedyexp.theory.constants import Optimum
from greedyexp.theory.spectrum import Spectrum, spectrum

# An optimum is certified when its gap is at most this part of G(0), whatever the units of the data;
# the search goes on to a hundredth of it, as accuracies may be asked for below it.
OPTIMUM_GAP = 1e-12
_AIM = 1e-14

# Rounds that the guess may take at each value of lam on its way.
_SWEEPS = 200


def projected(problem: Problem) -> Problem:
    """The problem with its response projected onto the range of the design.

    F(b) = ||X b - y||^2 / (2 n) is the sum of the same for the projection of y and of a constant,
    which no coefficients change: gradients, iterates and F - F* stay as they are. Without the
    constant the optimum of least squares is F* = 0, so that F itself is the distance from it,
    without cancellation and exact to rounding however small it is; with a penalty, G - G* cancels
    as little as it can.

    Parameters
    ----------
    problem : Problem
        One task.
    """
    X, y = problem.X[0], problem.y[0]
    known = spectrum(X)
    if known.rank == len(y):
        return problem
    return replace(problem, y=(_nearest(known, y),))


def optimum(problem: Problem, lam: float) -> Optimum:
    """The minimum of G(b) = ||X b - y||^2 / (2 n) + lam ||b||_1 with a certificate.

    Parameters
    ----------
    problem : Problem
        One task with finite values.
    lam : float >= 0
        Zero asks for least squares.

    Returns
    -------
    Optimum
        For least squares the coefficients of least norm; ``value`` is the distance of y from the
        range of X, of the numerical rank of ``theory.spectrum``, and ``gap`` how far the
        coefficients are above it. For the Lasso a solution on which an active-set method has
        settled; ``gap`` is its duality gap.
    """
    X, y = problem.X[0], problem.y[0]
    if lam == 0:
        return _least_squares(X, y)
    scale = y @ y / (2 * len(y))
    zero = duality_gap(X, y, lam, np.zeros(X.shape[1]))
    if zero.gap == 0:
        return zero
    # A fast guess in Gram form; the active set mends what that loses to rounding.
    guess = lasso(problem, lam=lam, max_sweeps=_SWEEPS)
    return minimise(X, y, lam, guess.coef[0, :, 0], _AIM * scale)


def certified(best: Optimum, problem: Problem) -> bool:
    """Whether the gap of an optimum is at most ``OPTIMUM_GAP`` G(0)."""
    y = problem.y[0]
    return best.gap <= OPTIMUM_GAP * float(y @ y) / (2 * len(y))


def _nearest(known: Spectrum, y: np.ndarray) -> np.ndarray:
    """The point of the numerical range that is nearest to y."""
    basis = known.left[:, : known.rank]
    return basis @ (basis.T @ y)


def _least_squares(X: np.ndarray, y: np.ndarray) -> Optimum:
    known = spectrum(X)
    rank = known.rank
    fit = _nearest(known, y) if rank < len(y) else y
    coef = known.right[:, :rank] @ ((known.left[:, :rank].T @ y) / known.values[:rank])
    short, left = X @ coef - fit, y - fit
    # By Pythagoras F(coef) is the sum of both squares; the second is the least possible.
    return Optimum(coef, float(left @ left / (2 * len(y))), float(short @ short / (2 * len(y))))
