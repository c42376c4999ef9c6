"""A user's own data from a file."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from greedyexp.core.registry import generator
from greedyexp.datasets.own import stamped
from greedyexp.generators._tables import read_problem
from greedyexp.problems.checks import constant_columns, far_from_centred
from greedyexp.problems.problem import Problem
from greedyexp.problems.scaling import standardised

Resample = Literal["halves", "bootstrap"] | None

# Files that were read are kept up to this number of bytes: a sweep goes from one to the next.
_MOST_KEPT = 2**28
# Lists of more than twice this many names are shortened to the first names and the last.
_LISTED = 10


# The problems that were read last, by file and settings.
_kept: dict[tuple, Problem] = {}


def _cached(path: str, truth: str | None, stamps, **settings) -> Problem:
    key = (path, truth, stamps, *settings.items())
    if key not in _kept:
        _kept[key] = read_problem(Path(path), truth=Path(truth) if truth else None, **settings)
        while len(_kept) > 1 and sum(map(_size, _kept.values())) > _MOST_KEPT:
            del _kept[next(iter(_kept))]
    return _kept[key]


def _size(problem: Problem) -> int:
    return sum(X.nbytes for X in problem.designs)


def _read(*, path, response, truth, standardize, ignore, delimiter, **_) -> Problem:
    found, stamp = stamped(path)
    true, true_stamp = stamped(truth) if truth else (None, None)
    return _cached(
        found,
        true,
        (stamp, true_stamp),
        response=tuple(response or ()),
        ignore=tuple(ignore or ()),
        delimiter=delimiter,
    )


def _fitted_rows(problem: Problem, test_fraction: float, resample: Resample) -> list[int]:
    """Return the number of training rows of each task."""
    if resample == "halves":
        return [int(n) // 2 for n in problem.n_samples]
    return [int(n) - round(test_fraction * n) for n in problem.n_samples]


def _check(*, test_fraction, resample, **reading):
    problem = _read(**reading)
    if resample and test_fraction:
        raise ValueError("resample and test_fraction both choose the training rows: give one.")
    for n, fitted in zip(
        problem.n_samples, _fitted_rows(problem, test_fraction, resample), strict=True
    ):
        name = "resample" if resample else f"test_fraction = {test_fraction:g}"
        if fitted < 2:
            raise ValueError(f"a task has {n} rows: {name} leaves fewer than 2 to fit.")
        if test_fraction and fitted == n:
            raise ValueError(
                f"a task has {n} rows: {name} holds out none. Give at least {1 / n:g}."
            )


def _shape(*, test_fraction, resample, **reading):
    problem = _read(**reading)
    return {**problem.shape, "n_samples": min(_fitted_rows(problem, test_fraction, resample))}


def _left_out(*, test_fraction: float, resample: Resample, **_) -> float:
    # A bootstrap sample varies as much as half of the rows, drawn without replacement.
    return 0.5 if resample else test_fraction


def _provides(*, test_fraction, resample, standardize, **reading):
    problem = _read(standardize=standardize, **reading)
    traits = {
        "multi_task": problem.n_tasks > 1,
        "two_values": _two_values(problem),
        # Centred counts are none.
        "counts": not standardize and all(((y >= 0) & (y % 1 == 0)).all() for y in problem.y),
        "truth": problem.truth is not None,
        "test_rows": test_fraction > 0,
        "repeated_rows": resample == "bootstrap",
    }
    return [name for name, present in traits.items() if present]


def _two_values(problem: Problem) -> bool:
    return all(len(np.unique(y)) == 2 for y in problem.y)


def _describe(*, path, standardize, ignore, **reading):
    """Return lines on the roles of the columns, and a note if the data are far from centred."""
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
    if standardize:
        of_tasks = map(constant_columns, problem.designs, problem.columns)
        constant = reduce(np.intersect1d, of_tasks)
        if len(constant):
            names = np.array(problem.feature_names or range(problem.n_features), dtype=str)
            listed = _listed(names[constant])
            lines.append(f"constant and never selected ({len(constant)}): {listed}")
    else:
        # Labels are not centred.
        responses = [np.zeros(len(y)) for y in problem.y] if _two_values(problem) else problem.y
        what = far_from_centred(problem.X, responses, problem.columns, problem.feature_names)
        if what:
            lines.append(
                f"note: {what}. Algorithms that fit no intercept need `standardize: true`."
            )
    return [f"{path}: {line}" for line in lines]


def _listed(names) -> str:
    """Join the names; if there are many, leave out those in the middle."""
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
    # The same rows are held out wherever the file is, and whichever column is the response.
    unseeded=("path", "truth", "response", "ignore", "delimiter"),
    left_out=_left_out,
    added=("resample",),
)
def file(
    rng: np.random.Generator,
    *,
    path: Annotated[
        str,
        Field(
            description=".npz, .csv or .parquet file; a relative path starts from the experiment"
        ),
    ],
    response: Annotated[
        list[str] | None, Field(description="response columns of a table; y or y_* by default")
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
    resample: Annotated[
        Resample,
        Field(
            description="training rows of each replicate: half of the rows, or as many as there are"
            " with replacement; all by default"
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None, Field(description="columns of a table that are left out")
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
    """Arrays X and y, and optionally the truth, from a .npz, .csv or .parquet file.

    Columns of a table that are neither responses nor ignored are features. ``check`` and ``run``
    print the roles of the columns, and the metric ``selected_features`` lists the features with a
    nonzero coefficient.

    Standardised features have mean 0 and mean square 1 on the training rows. The coefficients are
    then those of the standardised features; a truth given with the file is converted to them. A
    feature that is constant on the training rows is zero everywhere and is never selected.

    Replicates with ``test_fraction`` or ``resample`` are splits of one table, not independent data
    sets; intervals of means allow for it. Without either, all replicates have the same rows.
    """
    whole = _read(
        path=path,
        response=response,
        truth=truth,
        standardize=standardize,
        ignore=ignore,
        delimiter=delimiter,
    )
    # Tasks that share a design share its split and its scaling.
    repeats = whole.n_tasks // len(whole.designs)
    splits = [_split(rng, len(X), test_fraction, resample) for X in whole.designs] * repeats
    scaled = [
        _scaled(X, *split, standardize) for X, split in zip(whole.designs, splits, strict=False)
    ]
    X, X_test, scales = (parts * repeats for parts in zip(*scaled, strict=True))
    centred = [_centred(y, *split, standardize) for y, split in zip(whole.y, splits, strict=True)]
    y, y_test = zip(*centred, strict=True)
    return replace(
        whole,
        X=X,
        y=y,
        truth=None if whole.truth is None else whole.truth * np.stack(scales, axis=1),
        facts={"n_samples": min(map(len, y)), "n_features": whole.n_features},
        X_test=X_test if test_fraction else (),
        y_test=y_test if test_fraction else (),
    )


def _split(
    rng: np.random.Generator, n: int, fraction: float, resample: Resample
) -> tuple[np.ndarray, np.ndarray]:
    """Draw the training and test rows of a design."""
    if resample == "bootstrap":
        return np.sort(rng.integers(n, size=n)), np.zeros(0, dtype=int)
    order = rng.permutation(n)
    if resample == "halves":
        return np.sort(order[: n // 2]), np.zeros(0, dtype=int)
    held = round(fraction * n)
    return np.sort(order[held:]), np.sort(order[:held])


def _scaled(
    X: np.ndarray, train: np.ndarray, test: np.ndarray, standardize: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Training rows and test rows, and the factors by which they are divided."""
    if not standardize:
        return X[train], X[test], np.ones(X.shape[1])
    return standardised(X[train], X[test])[:3]


def _centred(
    y: np.ndarray, train: np.ndarray, test: np.ndarray, standardize: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Responses of the training rows and the test rows."""
    shift = y[train].mean() if standardize else 0.0
    return y[train] - shift, y[test] - shift
