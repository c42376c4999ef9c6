"""Paths of an algorithm, tuned by held-out data or by theory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from greedyexp.core.errors import ConfigError, DataError
from greedyexp.core.parts import Algorithm
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem
from greedyexp.protocols.border import check_estimates
from greedyexp.protocols.held_out import held_out_errors


def fit(
    part: Algorithm,
    problem: Problem,
    params: dict,
    *,
    grid: Mapping[str, np.ndarray] | None = None,
    rng: np.random.Generator | None = None,
) -> Path:
    """Call an algorithm; an estimate (p,) or (p, r) becomes a path of one point.

    Parameters
    ----------
    grid : dict of str to array, optional
        The points that the path is to have.
    rng : Generator, optional
        Given to an algorithm that draws at random; others do without.

    Raises
    ------
    PluginError
        When the algorithm returns anything but real numbers of this shape, or other points.
    """
    given = {} if grid is None else {"grid": grid}
    if rng is not None and part.takes_rng:
        given["rng"] = rng
    result = part.function(problem, **params, **given)
    return check_estimates(part, result, (problem.n_features, problem.n_tasks), grid)


def check_folds(n_samples: int, folds: int) -> None:
    """Refuse more folds than the fewest rows of a task.

    Raises
    ------
    ValueError
        With a sentence.
    """
    if n_samples < folds:
        raise ValueError(
            f"{folds}-fold cross-validation needs at least {folds} rows; a task has {n_samples}."
        )


def cross_validated(
    part: Algorithm, problem: Problem, params: dict, *, folds: int, rng: np.random.Generator
) -> tuple[Path, int]:
    """The path on all rows, and the point with the least K-fold prediction error.

    A point counts as converged when its fits to all rows and to every fold are.

    The error of a point is the mean over folds of the mean over tasks of the mean squared residual
    on the fold left out, or of the logistic loss there where that was minimised. The grid comes
    from the path on all rows, so that every fold fits the same tuning values. Ties go to the
    earlier point, which by convention is the sparser one.

    Parameters
    ----------
    folds : int in [2, smallest number of rows]
    rng : Generator
        Shuffles the rows; tasks that share a design share the folds. An algorithm that draws at
        random draws from it before.

    Raises
    ------
    DataError
        When a task has fewer rows than folds, or the rows of a fold cannot be fitted to, such as
        those of one class where the loss takes two.
    """
    try:
        check_folds(int(problem.n_samples.min()), folds)
    except ValueError as error:
        raise DataError(str(error)) from None
    path = fit(part, problem, params, rng=rng)
    certified = path.converged.copy()
    held_out = _fold_rows(problem, folds, rng)
    error = np.zeros(len(path))
    for number, fold in enumerate(held_out, start=1):
        train = problem.rows(_complement(problem, fold))
        try:
            fitted = fit(part, train, params, grid=path.grid, rng=rng)
        except DataError as refused:
            raise _without_fold(problem, train, f"fold {number} of {folds}", refused) from refused
        certified &= fitted.converged
        left = problem.rows(fold)
        for loss in held_out_errors(fitted, left):
            error += loss / (folds * problem.n_tasks)
    return replace(path, converged=certified), int(np.argmin(error))


def _without_fold(problem: Problem, train: Problem, fold: str, error: DataError) -> DataError:
    """An error of a fit to the other folds, with the fold that was left out."""
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


def _fold_rows(problem: Problem, folds: int, rng) -> list[list[np.ndarray]]:
    """For each fold the rows of each task that are left out."""
    tasks = 1 if problem.shared_design else problem.n_tasks
    parts = [np.array_split(rng.permutation(n), folds) for n in problem.n_samples[:tasks]]
    return [
        [np.sort(parts[j % tasks][k]) for j in range(tasks)] * (problem.n_tasks // tasks)
        for k in range(folds)
    ]


def _complement(problem: Problem, fold: list[np.ndarray]) -> list[np.ndarray]:
    if problem.shared_design:
        return [np.setdiff1d(np.arange(problem.n_samples[0]), fold[0])] * problem.n_tasks
    return [
        np.setdiff1d(np.arange(n), left) for n, left in zip(problem.n_samples, fold, strict=True)
    ]


def prescribed(part: Algorithm, problem: Problem, params: dict) -> dict[str, np.ndarray]:
    """The grid of one point that the algorithm's theory prescribes.

    Raises
    ------
    ConfigError
        When the algorithm has no such rule.
    """
    rule: Callable | None = part.theory
    if rule is None:
        raise ConfigError(f"algorithm '{part.name}' has no tuning rule from theory.")
    return rule(problem, **params)
