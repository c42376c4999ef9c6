"""A user's own data from a file."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from greedyexp.core.errors import DataError
from greedyexp.core.registry import generator
from greedyexp.datasets.own import locate
from greedyexp.generators._tables import Columns, feature_name, read_problem
from greedyexp.problems.checks import far_from_centred
from greedyexp.problems.problem import Problem

# Lists of more than twice this many names are shortened to the first names and the last.
_LISTED = 10


@lru_cache(maxsize=1)
def _cached(path: str, columns: Columns, truth: str | None, scaled: bool, _stamp) -> Problem:
    return read_problem(
        Path(path), columns=columns, truth=Path(truth) if truth else None, scaled=scaled
    )


def _read(*, path, response, truth, standardize, ignore, delimiter, **_) -> Problem:
    found = [str(locate(name)) if name else None for name in (path, truth)]
    stamps = tuple(Path(one).stat().st_mtime_ns for one in found if one)
    columns = Columns(tuple(response) if response else None, tuple(ignore or ()), delimiter)
    return _cached(found[0], columns, found[1], standardize, stamps)


def _fitted_rows(problem: Problem, test_fraction: float) -> list[int]:
    """Return the number of training rows of each task."""
    return [int(n) - round(test_fraction * n) for n in problem.n_samples]


def _check(*, test_fraction, **reading):
    problem = _read(**reading)
    for j, fitted in enumerate(_fitted_rows(problem, test_fraction)):
        if fitted < 2:
            n = problem.n_samples[j]
            raise ValueError(f"task {j} has {n} rows: test_fraction leaves fewer than 2 to fit.")


def _shape(*, test_fraction, **reading):
    problem = _read(**reading)
    return {**problem.shape, "n_samples": min(_fitted_rows(problem, test_fraction))}


def _provides(*, test_fraction, **reading):
    problem = _read(**reading)
    traits = {
        "multi_task": problem.n_tasks > 1,
        "truth": problem.truth is not None,
        "test_rows": test_fraction > 0,
    }
    return [name for name, present in traits.items() if present]


def _describe(*, path, standardize, ignore, **reading):
    """Lines on the roles of the columns, and a note if the data are far from centred."""
    problem = _read(path=path, standardize=standardize, ignore=ignore, **reading)
    if problem.feature_names:
        roles = {
            "responses": problem.class_names,
            "features": problem.feature_names,
            "ignored": ignore or (),
        }
        lines = [f"{what} ({len(names)}): {_listed(names)}" for what, names in roles.items()]
    else:
        lines = [f"responses: {problem.n_tasks}", f"features: {problem.n_features}"]
    if not standardize:
        two_values = all(len(np.unique(y)) == 2 for y in problem.y)
        # Labels are not centred.
        responses = [np.zeros(len(y)) for y in problem.y] if two_values else problem.y
        what = far_from_centred(problem.X, responses, problem.feature_names)
        if what:
            lines.append(
                f"note: {what}. Algorithms that fit no intercept need `standardize: true`."
            )
    return [f"{path}: {line}" for line in lines]


def _listed(names) -> str:
    """Join the names, without those in the middle if there are many."""
    shown = list(names)
    if len(shown) > 2 * _LISTED:
        shown = [*shown[:_LISTED], "...", shown[-1]]
    return ", ".join(shown) or "none"


@generator(
    "file",
    title="Your own data",
    provides=_provides,
    check=_check,
    shape=_shape,
    facts=("n_samples", "n_features"),
    reads=lambda path, truth, **_: [name for name in (path, truth) if name],
    describe=_describe,
    unseeded=("ignore", "delimiter"),
)
def file(
    rng: np.random.Generator,
    *,
    path: Annotated[
        str,
        Field(description=".npz or .csv file; a relative path starts from the experiment file"),
    ],
    response: Annotated[
        list[str] | None, Field(description="response columns of a .csv; y or y_* by default")
    ] = None,
    truth: Annotated[
        str | None, Field(description=".csv with the true coefficients, one column per task")
    ] = None,
    standardize: Annotated[
        bool,
        Field(description="centre and scale features, centre responses, both by the training rows"),
    ] = True,
    test_fraction: Annotated[
        float, Field(ge=0, lt=1, description="share of rows to hold out, drawn in each replicate")
    ] = 0.0,
    ignore: Annotated[
        list[str] | None, Field(description="columns of a .csv that are left out")
    ] = None,
    delimiter: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=1,
            description="character between the cells of a .csv; a comma by default",
        ),
    ] = None,
) -> Problem:
    """Arrays X and y, and optionally the truth, from a .npz or .csv file.

    Columns of a .csv that are neither responses nor ignored are features. ``check`` and ``run``
    print the roles of the columns, and the metric ``selected_features`` lists the features with a
    nonzero coefficient.

    Standardised features have mean 0 and mean square 1 on the training rows. The coefficients are
    then those of the standardised features; a truth given with the file is converted to them.
    """
    whole = _read(
        path=path,
        response=response,
        truth=truth,
        standardize=standardize,
        ignore=ignore,
        delimiter=delimiter,
    )
    train, test = _split(rng, whole, test_fraction)
    fitted, held = whole.rows(train), whole.rows(test)
    X, y, truth_values = fitted.X, fitted.y, whole.truth
    X_test, y_test = (held.X, held.y) if test_fraction else ((), ())
    if standardize:
        centres, scales, shifts = _moments(fitted)
        X = _scaled(fitted, centres, scales)
        y = tuple(yj - shift for yj, shift in zip(y, shifts, strict=True))
        if test_fraction:
            X_test = _scaled(held, centres, scales)
            y_test = tuple(yj - shift for yj, shift in zip(y_test, shifts, strict=True))
        if truth_values is not None:
            truth_values = truth_values * np.stack(scales, axis=1)
    facts = {"n_samples": int(min(len(yj) for yj in y)), "n_features": whole.n_features}
    return Problem(
        X,
        y,
        truth_values,
        None,
        whole.sparsity,
        facts,
        X_test,
        y_test,
        feature_names=whole.feature_names,
        class_names=whole.class_names,
    )


def _split(rng, problem: Problem, fraction: float):
    """Draw the training and test rows; tasks with a shared design share the split."""
    train, test = [], []
    for n in problem.n_samples[: 1 if problem.shared_design else None]:
        order = rng.permutation(n)
        held = round(fraction * n)
        train.append(np.sort(order[held:]))
        test.append(np.sort(order[:held]))
    repeats = problem.n_tasks // len(train)
    return train * repeats, test * repeats


def _moments(problem: Problem):
    centres: list[np.ndarray] = []
    scales: list[np.ndarray] = []
    designs = problem.X[:1] if problem.shared_design else problem.X
    for X in designs:
        centre = X.mean(axis=0)
        scale = np.sqrt(((X - centre) ** 2).mean(axis=0))
        if not scale.all():
            name = feature_name(problem, int(np.argmin(scale)))
            raise DataError(
                f"{name} is constant on the training rows.",
                remedy="Remove features with few distinct values or hold out fewer rows.",
            )
        centres.append(centre)
        scales.append(scale)
    repeats = problem.n_tasks // len(designs)
    return centres * repeats, scales * repeats, [yj.mean() for yj in problem.y]


def _scaled(problem: Problem, centres, scales):
    if problem.shared_design:
        return ((problem.X[0] - centres[0]) / scales[0],) * problem.n_tasks
    return tuple(
        (X - centre) / scale for X, centre, scale in zip(problem.X, centres, scales, strict=True)
    )
