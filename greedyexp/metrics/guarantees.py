"""Errors of a selection against the best fit on the true support, and what they are bounded by."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from greedyexp.errors import DataError
from greedyexp.losses.loss import Loss
from greedyexp.losses.squared import SquaredLoss
from greedyexp.path import Path
from greedyexp.problem import Problem
from greedyexp.registry import metric
from greedyexp.theory.forward_backward import Bounds, bounds, bounds_of_any, gradient_threshold
from greedyexp.theory.restricted_convexity import convexity

# What a fit leaves of derivatives, and rounding of differences of the loss.
FITTED = 1e-8
SLACK = 1e-9


@dataclass(frozen=True)
class Judged:
    """An estimate b beside bbar, the minimiser on the true support.

    Parameters
    ----------
    errors, bounds : Bounds
        What the errors are, and what they are bounded by.
    proved : bool
        Whether the theorem of the selection gives the bounds.
    """

    errors: Bounds
    bounds: Bounds
    proved: bool


@metric("oracle_error", better="lower", title="squared error", requires=("truth",), of="path")
def oracle_error(problem: Problem, path: Path) -> np.ndarray:
    """||b - bbar||^2, where bbar minimises the path's loss over the true support."""
    return _along(problem, path, lambda one: one.errors.error)


@metric("oracle_error_bound", better="lower", title="bound", requires=("truth",), of="path")
def oracle_error_bound(problem: Problem, path: Path) -> np.ndarray:
    """Bound on ``oracle_error``: that of ``guaranteed`` where it applies, else by convexity alone.

    The latter is 4 max(||grad Q(b)||^2, ||grad Q(bbar)||^2) / rho_-^2, norms over the union of the
    supports. Infinite where Q is not strongly convex on it.
    """
    return _along(problem, path, lambda one: one.bounds.error)


@metric("objective_gap", better="lower", title="objective gap", requires=("truth",), of="path")
def objective_gap(problem: Problem, path: Path) -> np.ndarray:
    """Q(b) - Q(bbar), which is negative where an estimate fits better than the true support."""
    return _along(problem, path, lambda one: one.errors.gap)


@metric("objective_gap_bound", better="lower", title="bound", requires=("truth",), of="path")
def objective_gap_bound(problem: Problem, path: Path) -> np.ndarray:
    """Bound on ``objective_gap``, as ``oracle_error_bound``; else ||grad Q(b)||^2 / (2 rho_-)."""
    return _along(problem, path, lambda one: one.bounds.gap)


@metric("missed", better="lower", title="true features missed", requires=("truth",), of="path")
def missed(problem: Problem, path: Path) -> np.ndarray:
    """Number of nonzero true coefficients that the estimate has not."""
    return _along(problem, path, lambda one: one.errors.missed)


@metric("missed_bound", better="lower", title="bound", requires=("truth",), of="path")
def missed_bound(problem: Problem, path: Path) -> np.ndarray:
    """Bound on ``missed``, where ``guaranteed``; else itself."""
    return _along(problem, path, lambda one: one.bounds.missed)


@metric("wrong", better="lower", title="wrong features", requires=("truth",), of="path")
def wrong(problem: Problem, path: Path) -> np.ndarray:
    """Number of nonzero coefficients of the estimate where the true one is zero."""
    return _along(problem, path, lambda one: one.errors.wrong)


@metric("wrong_bound", better="lower", title="bound", requires=("truth",), of="path")
def wrong_bound(problem: Problem, path: Path) -> np.ndarray:
    """Bound on ``wrong``, where ``guaranteed``; else itself."""
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
    """
    return _along(problem, path, lambda one: float(one.proved))


def _along(problem: Problem, path: Path, what: Callable[[Judged], float]) -> np.ndarray:
    loss = path.loss or _least_squares(problem)
    q = loss.n_dense
    dense = path.dense
    if path.loss is None or dense is None:
        dense = np.zeros((len(path), q))
    params = np.concatenate((path.coef.reshape(len(path), -1), dense), axis=1)
    true = np.flatnonzero(problem.truth)
    best = loss.minimise(true)
    if not best.converged:
        raise DataError(f"the fit on the true support has no certificate: {best.message}")
    return np.array([what(_judge(loss, one, best, true)) for one in params])


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


def _judge(loss: Loss, params: np.ndarray, best, true: np.ndarray) -> Judged:
    size = loss.size
    support = np.flatnonzero(params[:size])
    union = np.union1d(support, true)
    lost, extra = np.setdiff1d(true, support), np.setdiff1d(support, true)
    gradient, value = loss.gradient(params), loss.value(params)
    away = params[:size] - best.params[:size]
    errors = Bounds(float(away @ away), value - best.value, float(len(lost)), float(len(extra)))
    single, lower = float(loss.smoothness[:size].max()), convexity(loss, union)
    if lower <= 0.0:
        return Judged(errors, Bounds(math.inf, math.inf, *_sizes(errors)), False)
    slope = float(np.abs(best.gradient[:size]).max())
    epsilon = max(float(np.abs(gradient[:size]).max()), gradient_threshold(single, lower, slope))
    own = np.append(support, np.arange(size, len(params)))
    fitted = bool(np.abs(gradient[own]).max(initial=0.0) <= FITTED * loss.scale)
    if fitted and not (len(lost) or len(extra)):
        # The same minimiser, found in two ways: what differs is rounding.
        errors = Bounds(0.0, 0.0, 0.0, 0.0)
    proved = fitted
    if proved and len(support):
        costs = loss.removal_costs(params, support)
        proved = bool(costs.min() >= epsilon**2 / (4.0 * single) * (1.0 - SLACK))
    if proved:
        weak = np.abs(best.params[lost])
        return Judged(errors, bounds(epsilon, single, lower, weak), True)
    at = np.append(union, np.arange(size, len(params)))
    free = bounds_of_any(gradient[at], best.gradient[at], lower, _sizes(errors))
    return Judged(errors, free, False)


def _sizes(errors: Bounds) -> tuple[float, float]:
    return errors.missed, errors.wrong
