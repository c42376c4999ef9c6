"""The exact optimum of a trajectory, and the bounds and predictions of its gap."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from greedyexp.core.parts import Algorithm
from greedyexp.problems.problem import Problem
from greedyexp.solvers.lasso_active_set import duality_gap, minimise
from greedyexp.solvers.row_paths import PathSettings, data_of, follow
from greedyexp.solvers.row_penalties import DirtyPenalty
from greedyexp.theory.constants import Optimum
from greedyexp.theory.spectrum import Spectrum, spectrum

# An optimum is certified if its gap is at most this fraction of G(0), which has the units of the
# data. The search aims at a hundredth of it, since accuracies below it may be requested.
_OPTIMUM_GAP = 1e-12
_AIM = 1e-14

# Largest number of rounds of the initial guess at each value of lam.
_SWEEPS = 200


def projected(problem: Problem) -> Problem:
    """Return the problem with its response projected onto the range of the design.

    The projection changes F(b) = ||X b - y||^2 / (2 n) by a constant, so gradients, iterates and F
    - F* stay the same. Without the constant the optimum of least squares is F* = 0, and F itself is
    the distance from it, without cancellation even if it is tiny. With a penalty, G - G* cancels as
    little as possible.

    Parameters
    ----------
    problem : Problem
        A problem with one task.
    """
    X, y = problem.X[0], problem.y[0]
    known = spectrum(X)
    if known.rank == len(y):
        return problem
    return replace(problem, y=(_nearest(known, y),))


def optimum(problem: Problem, lam: float) -> Optimum:
    """Minimise G(b) = ||X b - y||^2 / (2 n) + lam ||b||_1 with a certificate.

    Parameters
    ----------
    problem : Problem
        A problem with one task and finite values.
    lam : float >= 0
        Zero for least squares.

    Returns
    -------
    Optimum
        For least squares the coefficients of least norm, with the numerical rank of
        ``theory.spectrum``. ``value`` is the least objective over the range of X, and ``gap`` is
        the distance from it to the objective at the coefficients. For the Lasso the solution of an
        active-set method with its duality gap.
    """
    X, y = problem.X[0], problem.y[0]
    if lam == 0:
        return _least_squares(X, y)
    scale = y @ y / (2 * len(y))
    zero = duality_gap(X, y, lam, np.zeros(X.shape[1]))
    if zero.gap == 0:
        return zero
    # A fast guess in Gram form; the active-set method removes its rounding errors.
    settings = PathSettings(max_sweeps=_SWEEPS)
    guess = follow(data_of(problem), DirtyPenalty(1.0), np.array([lam]), settings)
    return minimise(X, y, lam, guess.coef[0, :, 0], _AIM * scale)


def certified(best: Optimum, problem: Problem) -> bool:
    """Return True if the gap of an optimum is at most ``_OPTIMUM_GAP`` G(0)."""
    y = problem.y[0]
    return best.gap <= _OPTIMUM_GAP * float(y @ y) / (2 * len(y))


def _nearest(known: Spectrum, y: np.ndarray) -> np.ndarray:
    """Project y onto the numerical range."""
    basis = known.left[:, : known.rank]
    return basis @ (basis.T @ y)


def _least_squares(X: np.ndarray, y: np.ndarray) -> Optimum:
    known = spectrum(X)
    rank = known.rank
    fit = _nearest(known, y) if rank < len(y) else y
    coef = known.right[:, :rank] @ ((known.left[:, :rank].T @ y) / known.values[:rank])
    short, left = X @ coef - fit, y - fit
    # By Pythagoras F(coef) is the sum of both squares, and the second is the minimum.
    return Optimum(coef, float(left @ left / (2 * len(y))), float(short @ short / (2 * len(y))))


@dataclass(frozen=True)
class Bounds:
    """The bounds of one algorithm on one problem; None where there is no bound.

    Parameters
    ----------
    part : Algorithm
        The algorithm, with its ``guarantee`` and ``prediction``.
    params : dict
        Its parameters.
    problem : Problem
        A problem with one task.
    best : Optimum
    first : float
        The gap at iteration 0.
    """

    part: Algorithm
    params: dict
    problem: Problem
    best: Optimum
    first: float

    @property
    def rate(self) -> float | None:
        """Limit of the factor of the gap per iteration for random designs of these sizes."""
        predict = self.part.prediction
        n, p = self.problem.X[0].shape
        return None if predict is None else predict(n, p)

    def predicted(self, k: np.ndarray) -> np.ndarray | None:
        """Return gap_0 rate^k."""
        return None if self.rate is None else self.first * self.rate**k

    def proved(self, k: np.ndarray) -> np.ndarray | None:
        """Return the bound that is proved for every iteration."""
        prove = self.part.guarantee
        if prove is None:
            return None
        return prove(self.problem, self.best, **self.params).bound(k, self.first)

    def proved_locally(
        self, k: np.ndarray, gaps: np.ndarray, last_outside: int
    ) -> np.ndarray | None:
        """Return the linear bound on the support of the optimum; nan before it holds.

        Once no iterate has a nonzero coefficient outside this support, the method runs on its
        columns alone, with the step length of all columns.

        Parameters
        ----------
        k : array (m,) of int
            Recorded iterations.
        gaps : array (m,)
            Gaps at these iterations.
        last_outside : int
            The last iteration with a nonzero coefficient outside this support.
        """
        prove = self.part.guarantee
        later = np.flatnonzero(k > last_outside)
        if prove is None or not later.size:
            return None
        inside = np.flatnonzero(self.best.coef)
        factor = prove(self.problem, self.best, support=inside, **self.params).contraction
        if factor is None:
            return None
        bound = np.full(len(k), np.nan)
        bound[later] = gaps[later[0]] * factor ** (k[later] - k[later[0]])
        return bound
