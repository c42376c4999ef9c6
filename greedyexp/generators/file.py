"""A user's own data from a file."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from greedyexp.datasets.own import locate
from greedyexp.errors import DataError
from greedyexp.generators._tables import read_problem
from greedyexp.problem import Problem
from greedyexp.registry import generator


@lru_cache(maxsize=1)
def _cached(
    path: str, response: tuple[str, ...] | None, truth: str | None, scaled: bool, _stamp
) -> tuple[Problem, list[str]]:
    return read_problem(
        Path(path),
        response=list(response) if response else None,
        truth=Path(truth) if truth else None,
        scaled=scaled,
    )


def _read(path, response, truth, scaled) -> tuple[Problem, list[str]]:
    found = [str(locate(name)) if name else None for name in (path, truth)]
    stamps = tuple(Path(one).stat().st_mtime_ns for one in found if one)
    named = tuple(response) if response else None
    return _cached(found[0], named, found[1], scaled, stamps)


def _fitted_rows(problem: Problem, test_fraction: float) -> list[int]:
    """Rows of each task that are not held out."""
    return [int(n) - round(test_fraction * n) for n in problem.n_samples]


def _check(*, path, response, truth, standardize, test_fraction, **_):
    problem, _ = _read(path, response, truth, standardize)
    for j, fitted in enumerate(_fitted_rows(problem, test_fraction)):
        if fitted < 2:
            n = problem.n_samples[j]
            raise ValueError(f"task {j} has {n} rows: test_fraction leaves fewer than 2 to fit.")


def _shape(*, path, response, truth, standardize, test_fraction, **_):
    problem, _ = _read(path, response, truth, standardize)
    return {**problem.shape, "n_samples": min(_fitted_rows(problem, test_fraction))}


def _provides(*, path, response, truth, standardize, test_fraction, **_):
    problem, _ = _read(path, response, truth, standardize)
    traits = {
        "multi_task": problem.n_tasks > 1,
        "truth": problem.truth is not None,
        "test_rows": test_fraction > 0,
    }
    return [name for name, present in traits.items() if present]


@generator(
    "file",
    title="Your own data",
    provides=_provides,
    check=_check,
    shape=_shape,
    facts=("n_samples", "n_features"),
    reads=lambda path, truth, **_: [name for name in (path, truth) if name],
)
def file(
    rng: np.random.Generator,
    *,
    path: Annotated[
        str,
        Field(description=".npz or .csv file; a relative path starts from the experiment file"),
    ],
    response: Annotated[
        list[str] | None, Field(description="response columns of a .csv; y and y_* by default")
    ] = None,
    truth: Annotated[
        str | None, Field(description=".csv with the true coefficients, one column per task")
    ] = None,
    standardize: Annotated[
        bool,
        Field(description="centre and scale features, centre responses, by the rows fitted to"),
    ] = True,
    test_fraction: Annotated[
        float, Field(ge=0, lt=1, description="rows held out at random, anew in each replicate")
    ] = 0.0,
) -> Problem:
    """Arrays X and y, and optionally the truth, from a .npz or .csv file.

    Standardised features have mean 0 and mean square 1 on the rows that are fitted to; the
    coefficients, and the truth given with the file, are then those of the standardised features.
    """
    whole, names = _read(path, response, truth, standardize)
    train, test = _split(rng, whole, test_fraction)
    fitted, held = whole.rows(train), whole.rows(test)
    X, y, truth_values = fitted.X, fitted.y, whole.truth
    X_test, y_test = (held.X, held.y) if test_fraction else ((), ())
    if standardize:
        centres, scales, shifts = _moments(fitted, names)
        X = _scaled(fitted, centres, scales)
        y = tuple(yj - shift for yj, shift in zip(y, shifts, strict=True))
        if test_fraction:
            X_test = _scaled(held, centres, scales)
            y_test = tuple(yj - shift for yj, shift in zip(y_test, shifts, strict=True))
        if truth_values is not None:
            truth_values = truth_values * np.stack(scales, axis=1)
    facts = {"n_samples": int(min(len(yj) for yj in y)), "n_features": whole.n_features}
    return Problem(X, y, truth_values, None, whole.sparsity, facts, X_test, y_test)


def _split(rng, problem: Problem, fraction: float):
    """Row indices to fit to and to hold out; tasks that share a design share the split."""
    if problem.shared_design:
        n = problem.n_samples[0]
        order = rng.permutation(n)
        held = round(fraction * n)
        one = (np.sort(order[held:]), np.sort(order[:held]))
        return (one[0],) * problem.n_tasks, (one[1],) * problem.n_tasks
    train, test = [], []
    for n in problem.n_samples:
        order = rng.permutation(n)
        held = round(fraction * n)
        train.append(np.sort(order[held:]))
        test.append(np.sort(order[:held]))
    return train, test


def _moments(problem: Problem, names: list[str]):
    centres, scales = [], []
    for j, X in enumerate(problem.X):
        if j and problem.shared_design:
            centres.append(centres[0])
            scales.append(scales[0])
            continue
        centre = X.mean(axis=0)
        scale = np.sqrt(((X - centre) ** 2).mean(axis=0))
        if not scale.all():
            raise DataError(
                f"{names[np.argmin(scale)]} is constant on the rows that are fitted to.",
                remedy="Remove features with few distinct values or hold out fewer rows.",
            )
        centres.append(centre)
        scales.append(scale)
    return centres, scales, [yj.mean() for yj in problem.y]


def _scaled(problem: Problem, centres, scales):
    if problem.shared_design:
        return ((problem.X[0] - centres[0]) / scales[0],) * problem.n_tasks
    return tuple(
        (X - centre) / scale for X, centre, scale in zip(problem.X, centres, scales, strict=True)
    )
