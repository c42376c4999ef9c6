"""Run an iterative method until a certificate says that it has arrived."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greedyexp.estimates.iteration import Iteration
from greedyexp.problems.problem import Problem
from greedyexp.solvers.lasso_active_set import duality_gap


@dataclass(frozen=True)
class Settled:
    """Where a run was looked at, and how far it got.

    Parameters
    ----------
    iteration, support_size : arrays (m,) of int
        Iterations 0, 1, 2, 4, ... and the last.
    objective : array (m,)
    distance : float
        See ``distance``, at the last of them.
    """

    iteration: np.ndarray
    objective: np.ndarray
    support_size: np.ndarray
    distance: float


def settle(run: Iteration, problem: Problem, *, iterations: int, tol: float) -> Settled:
    """Double the number of iterations until the distance from optimality is at most ``tol``.

    Parameters
    ----------
    run : Iteration
        At its start; it stands at the estimate afterwards.
    problem : Problem
        Its problem, one task.
    iterations : int >= 1
        Most iterations.
    tol : float > 0
        See ``distance``.
    """
    seen = []
    until = 0
    while True:
        run.advance(until)
        coef = run.coef
        seen.append((run.iteration, run.objective, np.count_nonzero(coef)))
        left = distance(problem, run.lam, coef)
        if left <= tol or until == iterations or run.trouble or not np.isfinite(left):
            break
        until = min(max(2 * until, 1), iterations)
    iteration, objective, size = zip(*seen, strict=True)
    return Settled(np.array(iteration), np.array(objective), np.array(size), left)


def distance(problem: Problem, lam: float, coef: np.ndarray) -> float:
    """How far coefficients are from optimal, without units.

    With lam > 0 the duality gap, relative to the objective at zero. For least squares, which has no
    such gap, the largest |x_i^T (y - X b)| / (||x_i|| ||y||).
    """
    X, y = problem.X[0], problem.y[0]
    if lam > 0:
        left, scale = duality_gap(X, y, lam, coef).gap, y @ y / (2 * len(y))
        return float(left / scale) if left else 0.0
    # Each by its own norm: a small feature counts as much as one in units that make it large.
    left = np.abs(X.T @ (y - X @ coef))
    # Two roots, since the product of the squares may overflow.
    scale = np.sqrt((X**2).sum(axis=0)) * np.sqrt(y @ y)
    return float(np.divide(left, scale, out=np.zeros_like(left), where=left > 0).max())
