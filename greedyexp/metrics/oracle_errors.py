"""Errors of a selection against the best fit on the true support, and their bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from greedyexp.core.errors import DataError
from greedyexp.core.registry import metric
from greedyexp.estimates.path import Path
from greedyexp.losses.loss import Loss, Restricted
from greedyexp.losses.squared import SquaredLoss
from greedyexp.metrics.support import truth_of
from greedyexp.problems.problem import Problem
from greedyexp.theory.forward_backward import Bounds, bounds, bounds_of_any, gradient_threshold

# Tolerances for the derivatives of a fit and for rounded differences of the loss.
FITTED = 1e-8
SLACK = 1e-9

_oracle = partial(metric, requires=("truth",), of="path")


@dataclass(frozen=True)
class Compared:
    """Comparison of an estimate b with bbar, the minimiser on the true support.

    Parameters
    ----------
    error, gap : float
        ||b - bbar||^2 and Q(b) - Q(bbar).
    bounds : Bounds
        Bounds on the error, the gap, and the numbers of missed and wrong features.
    proved : bool
        True if the theorem about the selection gives the bounds.
    """

    error: float
    gap: float
    bounds: Bounds
    proved: bool


# Cache: the metrics of a path are computed one after another from the same comparison.
_last: tuple[Problem, Path, list[Compared]] | None = None


@_oracle("oracle_error", better="lower", title="squared error")
def oracle_error(problem: Problem, path: Path) -> np.ndarray:
    """||b - bbar||^2, where bbar minimises the path's loss over the true support."""
    return _along(problem, path, lambda one: one.error)


@_oracle("oracle_error_bound", better="lower", title="bound on squared error")
def oracle_error_bound(problem: Problem, path: Path) -> np.ndarray:
    """Bound on ``oracle_error``, from the theorem of ``guaranteed`` or else from convexity.

    The latter is 4 max(||grad Q(b)||^2, ||grad Q(bbar)||^2) / rho_-^2, with norms over the union of
    the supports. It is infinite if Q is not strongly convex on the union.
    """
    return _along(problem, path, lambda one: one.bounds.error)


@_oracle("objective_gap", better="lower", title="objective gap")
def objective_gap(problem: Problem, path: Path) -> np.ndarray:
    """Q(b) - Q(bbar), negative if the estimate fits better than the true support."""
    return _along(problem, path, lambda one: one.gap)


@_oracle("objective_gap_bound", better="lower", title="bound on objective gap")
def objective_gap_bound(problem: Problem, path: Path) -> np.ndarray:
    """Bound on ``objective_gap``, as ``oracle_error_bound``; else ||grad Q(b)||^2 / (2 rho_-)."""
    return _along(problem, path, lambda one: one.bounds.gap)


@_oracle("false_negatives_bound", better="lower", title="bound on false negatives")
def false_negatives_bound(problem: Problem, path: Path) -> np.ndarray:
    """Bound on ``false_negatives`` if ``guaranteed``, else the number of true coefficients."""
    return _along(problem, path, lambda one: one.bounds.missed)


@_oracle("false_positives_bound", better="lower", title="bound on false positives")
def false_positives_bound(problem: Problem, path: Path) -> np.ndarray:
    """Bound on ``false_positives`` if ``guaranteed``, else the number of true zeros."""
    return _along(problem, path, lambda one: one.bounds.wrong)


@_oracle("guaranteed", better="higher", binary=True, title="theorem applies")
def guaranteed(problem: Problem, path: Path) -> np.ndarray:
    """1 if Theorems 4 and 5 of Liu, Fujimaki & Ye (2014) bound the errors of the estimate, else 0.

    They apply if the following holds for some epsilon: b minimises Q over its support, no
    derivative exceeds epsilon, removing any coefficient costs at least epsilon^2 / (4 rho_+(1)),
    and epsilon >= 2 sqrt(2) rho_+(1) / rho_- ||grad Q(bbar)||_inf. The bounds are those for the
    smallest such epsilon. rho_+(1) is the largest curvature along a coordinate. rho_- is the
    curvature between b and bbar, which suffices for the proofs: for the squared loss the smallest
    eigenvalue on the union of their supports, for other losses the ridge.

    Raises
    ------
    DataError
        As for all metrics of this module: if the fit on the true support has no certificate, or
        there are several tasks and no loss.
    """
    return _along(problem, path, lambda one: float(one.proved))


def _along(problem: Problem, path: Path, number: Callable[[Compared], float]) -> np.ndarray:
    """Return one number for each estimate of the path.

    Raises
    ------
    DataError
        If the fit on the true support has no certificate, or there are several tasks and no loss.
    """
    global _last
    if _last is None or _last[0] is not problem or _last[1] is not path:
        _last = problem, path, _all_compared(problem, path)
    return np.array([number(one) for one in _last[2]])


def _all_compared(problem: Problem, path: Path) -> list[Compared]:
    loss = path.loss or _least_squares(problem)
    true = np.flatnonzero(truth_of(problem))
    best = loss.minimise(true)
    if not best.converged:
        raise DataError(f"the fit on the true support has no certificate: {best.message}")
    return [_compared(loss, params, best, true) for params in path.params]


def _least_squares(problem: Problem) -> SquaredLoss:
    """Return the squared loss, for algorithms that name no loss.

    Raises
    ------
    DataError
        If there are several tasks.
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
        # Both are the same minimiser: any difference is rounding.
        error = gap = 0.0
    most = float(len(true)), float(size - len(true))
    single, lower = float(loss.smoothness[:size].max()), loss.strong_convexity(union)
    if lower <= 0.0 or math.isinf(single):
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
