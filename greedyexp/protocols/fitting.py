"""Estimates of an algorithm: fit, tune, measure, and iterate until certified."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from greedyexp.core.errors import ConfigError, DataError
from greedyexp.core.parts import Algorithm, Metric
from greedyexp.estimates.iteration import Iteration
from greedyexp.estimates.path import Path
from greedyexp.losses.quadratic import QuadraticLoss
from greedyexp.problems.problem import Problem
from greedyexp.problems.scaling import Scaling, without_lost_columns
from greedyexp.protocols.contracts import check_estimates, check_metric, own_randomness_only
from greedyexp.solvers.lasso_active_set import duality_gap

# How a point of a path is chosen: the best by the truth for each metric, the least cross-validated
# error, the least information criterion, the point that theory prescribes, or the last point.
TUNINGS = ("oracle", "cv", "ebic_robust", "theory", "end")

# Indices of training rows and of held-out rows, the same for all tasks.
Split = tuple[np.ndarray, np.ndarray]

# Centres or scales the columns of a problem, and says how.
Prepare = Callable[[Problem], tuple[Problem, Scaling]]


def fit(
    part: Algorithm,
    problem: Problem,
    params: dict[str, Any],
    *,
    grid: Mapping[str, np.ndarray] | None = None,
    rng: np.random.Generator | None = None,
    prepare: Prepare | None = None,
    end: bool = False,
    n_jobs: int = 1,
) -> Path:
    """Call an algorithm; an estimate (p,) or (p, r) becomes a path of one point.

    Parameters
    ----------
    grid : dict of str to array, optional
        The points of the path.
    rng : Generator, optional
        Passed to algorithms that draw at random.
    prepare : callable, optional
        Changes the columns of the problem before the fit. The coefficients are returned in the
        original units, and with intercepts (m, r) as ``dense`` if columns were centred.
    end : bool
        Only the last point of the path is needed, so an algorithm may return it alone.
    n_jobs : int >= 1
        Number of threads for algorithms that use several.

    Raises
    ------
    PluginError
        If the algorithm does not return real numbers of the expected shape, or returns a path with
        points that are not those of the grid.
    ConfigError
        If columns were centred, and the loss is not the squared loss.
    """
    given: dict[str, Any] = {} if grid is None else {"grid": grid}
    if rng is not None and part.takes_rng:
        given["rng"] = rng
    options = {"end": end, "n_jobs": n_jobs}
    given |= {name: value for name, value in options.items() if name in part.takes}
    shape = (problem.n_features, problem.n_tasks)
    if prepare is None:
        return check_estimates(part, part.function(problem, **params, **given), shape, grid)
    prepared, scaling = prepare(problem)
    path = check_estimates(part, part.function(prepared, **params, **given), shape, grid)
    sparse = path.sparse
    sparse = sparse.with_values(sparse.values / sparse.at(scaling.scales.T))
    if not scaling.centred:
        return replace(path, estimates=sparse)
    if path.loss is not None and not isinstance(path.loss, QuadraticLoss):
        raise ConfigError(
            f"algorithm '{part.name}' fits no intercept by centring, because its loss is not the"
            " squared loss.",
            remedy="Ask for the intercept in its own parameters.",
        )
    # An intercept of the algorithm is one of centred data; only a model of one task has it.
    own = 0.0 if path.dense is None else path.dense.sum(axis=1, keepdims=True)
    intercepts = scaling.shifts - sparse.task_sums(sparse.values * sparse.at(scaling.means.T))
    return replace(path, estimates=sparse, dense=intercepts + own)


def uncertified(path: Path, noun: str = "estimates") -> list[str]:
    """Return a list with a message about uncertified estimates; empty if there are none."""
    short = int((~path.converged).sum())
    said = f"{short} of {len(path)} {noun} lack their certificate"
    return [f"{said}: {path.message}".rstrip(": ")] if short else []


def measure(metric: Metric, problem: Problem, path: Path) -> np.ndarray:
    """Return a metric at every estimate of a path, shape (m,).

    Raises
    ------
    PluginError
        If the metric does not return one real number for each estimate, or draws from a global
        random state.
    """
    with own_randomness_only(metric):
        made = metric.function(problem, path if metric.of == "path" else path.coef)
    return check_metric(metric, made, len(path))


def all_finite(row: dict[str, Any]) -> bool:
    """Return True if the numbers of a row are finite; texts and None are ignored."""
    return all(math.isfinite(x) for x in row.values() if x is not None and not isinstance(x, str))


def check_folds(n_samples: int, folds: int) -> None:
    """Raise ValueError if a task has fewer rows than folds."""
    if n_samples < folds:
        raise ValueError(
            f"{folds}-fold cross-validation needs at least {folds} rows; a task has {n_samples}."
        )


def cross_validated(
    part: Algorithm,
    problem: Problem,
    params: dict[str, Any],
    *,
    folds: int | Sequence[Split],
    rng: np.random.Generator,
    prepare: Prepare | None = None,
    n_jobs: int = 1,
) -> tuple[Path, int]:
    """Return the path on all rows and the point with the least cross-validated prediction error.

    A point counts as converged if its fit to all rows and its fits without a fold have converged.

    The error of a point is the mean over folds of the mean over tasks of the mean squared residual
    on the held-out fold, or of the logistic loss there if that was minimised. The grid comes from
    the path on all rows, so every fold fits the same tuning values. Ties go to the earlier point,
    which by convention is the sparser one.

    Parameters
    ----------
    folds : int in [2, smallest number of rows], or sequence of splits
        Number of folds of equal size, or the rows of each fold.
    rng : Generator
        Random stream that shuffles the rows for folds of equal size; tasks with the same design
        have the same folds. A randomized algorithm draws from it before the rows are shuffled.
    prepare : callable, optional
        See ``fit``. Rows that are held out do not enter the means and scales.
    n_jobs : int >= 1
        See ``fit``.

    Raises
    ------
    DataError
        If a task has fewer rows than folds, or the algorithm cannot fit without a fold, for example
        because the other rows have one class and the loss needs two.
    """
    if isinstance(folds, int):
        try:
            check_folds(int(problem.n_samples.min()), folds)
        except ValueError as error:
            raise DataError(str(error)) from None
    path = fit(part, problem, params, rng=rng, prepare=prepare, n_jobs=n_jobs)
    certified = path.converged.copy()
    if isinstance(folds, int):
        splits = _equal_folds(problem, folds, rng)
    else:
        tasks = problem.n_tasks
        splits = [([kept] * tasks, [left] * tasks) for kept, left in folds]
    errors = np.zeros(len(path))
    for number, (kept, left) in enumerate(splits, start=1):
        train = without_lost_columns(problem.rows(kept), problem)
        try:
            fitted = fit(
                part, train, params, grid=path.grid, rng=rng, prepare=prepare, n_jobs=n_jobs
            )
        except DataError as refused:
            name = f"fold {number} of {len(splits)}"
            raise _without_fold(problem, train, name, refused) from refused
        certified &= fitted.converged
        for loss in _held_out_errors(fitted, problem.rows(left)):
            errors += loss / (len(splits) * problem.n_tasks)
    chosen = int(np.argmin(errors))
    if path.converged[chosen] and not certified[chosen]:
        doubt = "A fit without one of the folds lacks the certificate of the algorithm."
        path = replace(path, message=f"{path.message} {doubt}".lstrip())
    return replace(path, converged=certified), chosen


def _held_out_errors(fitted: Path, left: Problem) -> Iterator[np.ndarray]:
    """Yield the mean error on the held-out rows of each task, an array (m,).

    The error is the loss of the path if it has one, otherwise the squared residual.

    Raises
    ------
    DataError
        If the loss is not a sum over rows.
    """
    weights = left.weights
    if fitted.loss is not None:
        yield np.average(fitted.row_losses(left.X, left.y), axis=1, weights=weights)
        return
    for task, (X, y) in enumerate(zip(left.X, left.y, strict=True)):
        yield np.average((y - fitted.predictions(X, task)) ** 2, axis=1, weights=weights)


def _without_fold(problem: Problem, train: Problem, fold: str, error: DataError) -> DataError:
    """Return the error of a fit without one fold; the message names the fold."""
    classes = np.unique(problem.y[0])
    if problem.n_tasks == 1 and len(classes) == 2 and len(np.unique(train.y[0])) == 1:
        lacking = classes[classes != train.y[0][0]][0]
        return DataError(
            f"cross-validation: all rows with response {lacking:g} are in {fold}, so the other"
            " folds have one class.",
            remedy="Use more rows of that class, more folds, or another seed.",
        )
    return DataError(
        f"cross-validation without {fold}: {error.message}", place=error.place, remedy=error.remedy
    )


def _equal_folds(
    problem: Problem, folds: int, rng: np.random.Generator
) -> list[tuple[list[np.ndarray], list[np.ndarray]]]:
    """Return the training rows and the held-out rows of each task for each fold."""
    tasks = 1 if problem.shared_design else problem.n_tasks
    parts = [np.array_split(rng.permutation(n), folds) for n in problem.n_samples[:tasks]]
    again = problem.n_tasks // tasks
    splits = []
    for k in range(folds):
        left = [np.sort(part[k]) for part in parts]
        kept = [np.setdiff1d(np.arange(sum(map(len, part))), part[k]) for part in parts]
        splits.append((kept * again, left * again))
    return splits


def prescribed(part: Algorithm, problem: Problem, params: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return the grid of one point that the algorithm's theory prescribes.

    Raises
    ------
    ConfigError
        If the algorithm has no tuning rule from theory.
    """
    if part.theory is None:
        raise ConfigError(f"algorithm '{part.name}' has no tuning rule from theory.")
    return part.theory(problem, **params)


@dataclass(frozen=True)
class Progress:
    """The recorded iterations of a run, and its last distance from optimality.

    Parameters
    ----------
    iteration, support_size : arrays (m,) of int
        Iterations 0, 1, 2, 4, ... and the last.
    objective : array (m,)
    distance : float
        Distance from optimality at the last iteration; see ``_distance_from_optimality``.
    """

    iteration: np.ndarray
    objective: np.ndarray
    support_size: np.ndarray
    distance: float


def run_until_converged(
    run: Iteration, problem: Problem, *, iterations: int, tol: float
) -> Progress:
    """Double the number of iterations until the distance from optimality is at most ``tol``.

    Parameters
    ----------
    run : Iteration
        The method at iteration 0; it is advanced to the final estimate.
    problem : Problem
        The problem of the run, with one task.
    iterations : int >= 1
        Largest number of iterations.
    tol : float > 0
        Largest distance at which to stop; see ``_distance_from_optimality``.
    """
    seen = []
    until = 0
    while True:
        run.advance(until)
        coef = run.coef
        seen.append((run.iteration, run.objective, np.count_nonzero(coef)))
        left = _distance_from_optimality(problem, run.lam, coef)
        if left <= tol or until == iterations or run.trouble or not np.isfinite(left):
            break
        until = min(max(2 * until, 1), iterations)
    iteration, objective, size = zip(*seen, strict=True)
    return Progress(np.array(iteration), np.array(objective), np.array(size), left)


def _distance_from_optimality(problem: Problem, lam: float, coef: np.ndarray) -> float:
    """Return a dimensionless distance of coefficients from optimality.

    With lam > 0, the distance is the duality gap relative to the objective at zero. Least squares
    has no such gap; its distance is the largest |x_i^T (y - X b)| / (||x_i|| ||y||).
    """
    X, y = problem.X[0], problem.y[0]
    if lam > 0:
        left, scale = duality_gap(X, y, lam, coef).gap, y @ y / (2 * len(y))
        return float(left / scale) if left else 0.0
    # Normalised by each column: the units of a feature do not matter.
    left = np.abs(X.T @ (y - X @ coef))
    # Two roots, since the product of the squares may overflow.
    scale = np.sqrt((X**2).sum(axis=0)) * np.sqrt(y @ y)
    return float(np.divide(left, scale, out=np.zeros_like(left), where=left > 0).max())
