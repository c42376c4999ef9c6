"""Errors of a selection against the best fit on the true support, and what they are bounded by."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from greedyexp.core.errors import DataError
from greedyexp.core.registry import metric
from greedyexp.estimates.path import Path
from greedyexp.losses.loss import Loss, Restricted
from greedyexp.losses.squared import SquaredLoss
from greedyexp.problems.problem import Problem
from greedyexp.theory.forward_backward import Bounds, bounds, bounds_of_any, gradient_threshold

# What a fit leaves of derivatives, and rounding of differences of the loss.
FITTED = 1e-8
SLACK = 1e-9


@dataclass(frozen=True)
class Compared:
    """An estimate b beside bbar, the minimiser on the true support.

    Parameters
    ----------
    error, gap : float
        ||b - bbar||^2 and Q(b) - Q(bbar).
    bounds : Bounds
        What they, and the numbers of features missed and wrong, are bounded by.
    proved : bool
        Whether the theorem of the selection gives the bounds.
    """

    error: float
    gap: float
    bounds: Bounds
    proved: bool


# All metrics of a path are asked for one after the other.
_last: tuple[Problem, Path, list[Compared]] | None = None


@metric("oracle_error", better="lower", title="squared error", requires=("truth",), of="path")
def oracle_error(problem: Problem, path: Path) -> np.ndarray:
    """||b - bbar||^2, where bbar minimises the path's loss over the true support."""
    return _along(problem, path, lambda one: one.error)


@metric(
    "oracle_error_bound",
    better="lower",
    title="bound on squared error",
    requires=("truth",),
    of="path",
)
def oracle_error_bound(problem: Problem, path: Path) -> np.ndarray:
    """Bound on ``oracle_error``: that of ``guaranteed`` where it applies, else by convexity alone.

    The latter is 4 max(||grad Q(b)||^2, ||grad Q(bbar)||^2) / rho_-^2, norms over the union of the
    supports. Infinite where Q is not strongly convex on it.
    """
    return _along(problem, path, lambda one: one.bounds.error)


@metric("objective_gap", better="lower", title="objective gap", requires=("truth",), of="path")
def objective_gap(problem: Problem, path: Path) -> np.ndarray:
    """Q(b) - Q(bbar), which is negative where an estimate fits better than the true support."""
    return _along(problem, path, lambda one: one.gap)


@metric(
    "objective_gap_bound",
    better="lower",
    title="bound on objective gap",
    requires=("truth",),
    of="path",
)
def objective_gap_bound(problem: Problem, path: Path) -> np.ndarray:
    """Bound on ``objective_gap``, as ``oracle_error_bound``; else ||grad Q(b)||^2 / (2 rho_-)."""
    return _along(problem, path, lambda one: one.bounds.gap)


@metric(
    "false_negatives_bound",
    better="lower",
    title="bound on false negatives",
    requires=("truth",),
    of="path",
)
def false_negatives_bound(problem: Problem, path: Path) -> np.ndarray:
    """Bound on ``false_negatives``, where ``guaranteed``; else the number of true coefficients."""
    return _along(problem, path, lambda one: one.bounds.missed)


@metric(
    "false_positives_bound",
    better="lower",
    title="bound on false positives",
    requires=("truth",),
    of="path",
)
def false_positives_bound(problem: Problem, path: Path) -> np.ndarray:
    """Bound on ``false_positives``, where ``guaranteed``; else the number that are truly zero."""
    return _along(problem, path, lambda one: one.bounds.wrong)


@metric(
    "guaranteed",
    better="higher",
    binary=True,
    title="theorem applies",
    requires=("truth",),
    of="path",
)
def guaranteed(problem: Problem, path: Path) -> np.ndarray:
    """Whether Theorems 4 and 5 of Liu, Fujimaki & Ye (2014) bound the errors of the estimate.

    Whether some epsilon makes it an output that they speak of: b minimises Q over its support, no
    derivative is larger than epsilon, no coefficient costs less than epsilon^2 / (4 rho_+(1)) to
    remove, and epsilon >= 2 sqrt(2) rho_+(1) / rho_- ||grad Q(bbar)||_inf. The bounds are those for
    the smallest such epsilon. rho_+(1) is the largest curvature along a coordinate; rho_- is that
    between b and bbar, which is all that the proofs need: for the squared loss the smallest
    eigenvalue on the union of their supports, for another its ridge.

    Raises
    ------
    DataError
        As all metrics here: when there is no certified fit on the true support, or several tasks
        and no loss.
    """
    return _along(problem, path, lambda one: float(one.proved))


def _along(problem: Problem, path: Path, what: Callable[[Compared], float]) -> np.ndarray:
    """One number of each estimate.

    Raises
    ------
    DataError
        When there is no certified fit on the true support, or several tasks and no loss.
    """
    global _last
    if _last is None or _last[0] is not problem or _last[1] is not path:
        _last = problem, path, _all_compared(problem, path)
    return np.array([what(one) for one in _last[2]])


def _all_compared(problem: Problem, path: Path) -> list[Compared]:
    loss = path.loss or _least_squares(problem)
    true = np.flatnonzero(problem.truth)
    best = loss.minimise(true)
    if not best.converged:
        raise DataError(f"the fit on the true support has no certificate: {best.message}")
    return [_compared(loss, params, best, true) for params in path.params]


def _least_squares(problem: Problem) -> SquaredLoss:
    """The loss of algorithms that name none.

    Raises
    ------
    DataError
        When there are several tasks.
    """
    if problem.n_tasks > 1:
        raise DataError(
            "metrics that compare with a fit on the true support need one task.",
            remedy="Leave them out, or use an algorithm that names its loss.",
        )
    return SquaredLoss(problem.X[0], problem.y[0])


def _compared(loss: Loss, params: np.ndarray, best: Restricted, true: np.ndarray) -> Compared:
    size = loss.size
    support = np.flatnonzero(params[:size])
    union = np.union1d(support, true)
    gradient = loss.gradient(params)
    own = np.append(support, np.arange(size, len(params)))
    fitted = bool(np.abs(gradient[own]).max(initial=0.0) <= FITTED * loss.scale)
    away = params[:size] - best.params[:size]
    error, gap = float(away @ away), loss.value(params) - best.value
    if fitted and np.array_equal(support, true):
        # The same minimiser, found in two ways: what differs is rounding.
        error = gap = 0.0
    most = float(len(true)), float(size - len(true))
    single, lower = float(loss.smoothness[:size].max()), loss.strong_convexity(union)
    if lower <= 0.0:
        return Compared(error, gap, Bounds(math.inf, math.inf, *most), False)
    slope = float(np.abs(best.gradient[:size]).max())
    epsilon = max(float(np.abs(gradient[:size]).max()), gradient_threshold(single, lower, slope))
    proved = fitted
    if proved and len(support):
        costs = loss.removal_costs(params, support)
        proved = bool(costs.min() >= epsilon**2 / (4.0 * single) * (1.0 - SLACK))
    if proved:
        weak = np.abs(best.params[np.setdiff1d(true, support)])
        return Compared(error, gap, bounds(epsilon, single, lower, weak), True)
    at = np.append(union, np.arange(size, len(params)))
    free = bounds_of_any(gradient[at], best.gradient[at], lower, most)
    return Compared(error, gap, free, False)
