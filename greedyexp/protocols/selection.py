"""Protocol ``selection``: one path measured at several numbers of features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from greedyexp.core.errors import DataError
from greedyexp.core.parts import Algorithm, Metric, RecordKind
from greedyexp.core.registry import protocol
from greedyexp.estimates.path import Path
from greedyexp.metrics.classification import labels_of, row_errors, wrong_rows
from greedyexp.metrics.optimisation import NotReported
from greedyexp.metrics.word_errors import wrong_words
from greedyexp.problems.chains import classes_of
from greedyexp.problems.problem import Problem
from greedyexp.protocols import fitting
from greedyexp.protocols.base import (
    FIT_SECONDS,
    Measured,
    Outcome,
    Setup,
    Status,
    in_records,
    of_metric,
    refuse_duplicates,
    rows_of,
)

_Size = Annotated[int, Field(ge=0)]
Sizes = Annotated[list[_Size], Field(min_length=1, description="numbers of features to measure at")]
By = Annotated[
    Literal["features", "rows"],
    Field(description="count coefficients, or rows of them: features of all tasks together"),
]
ClassesAt = Annotated[
    list[_Size], Field(description="sizes at which to record the error of each class")
]
ChosenAt = Annotated[list[_Size], Field(description="sizes at which to record the rows in use")]

# The sizes of the estimates of a path.
_COUNTS: dict[str, Callable[[Path], np.ndarray]] = {
    "features": lambda path: path.sparse.sizes,
    "rows": lambda path: path.sparse.row_sizes,
}

RECORDS = (
    RecordKind("size", ("size",), "Use protocol selection."),
    RecordKind(
        "class",
        ("size", "class"),
        "List sizes in 'classes_at' of protocol selection.",
        columns=("class_error", "class_share"),
    ),
    RecordKind(
        "feature",
        ("size", "feature"),
        "List sizes in 'chosen_at' of protocol selection.",
        columns=("used",),
    ),
)


def columns(
    metrics: Sequence[Metric],
    *,
    sizes: list[int],
    by: str,
    classes_at: list[int],
    chosen_at: list[int],
) -> list[Measured]:
    """Return the keys, the columns of each kind of record, and the seconds of the fit.

    Raises
    ------
    ValueError
        If a list has a duplicate.
    """
    refuse_duplicates(sizes=sizes, classes_at=classes_at, chosen_at=chosen_at)
    asked = {"size": sizes, "class": classes_at, "feature": chosen_at}
    kinds = tuple(kind for kind, given in asked.items() if given)
    every = tuple(sorted({size for given in asked.values() for size in given}))
    found = [Measured("record", "key", kinds), Measured("size", "key", every, apart=True)]
    for kind in kinds[1:]:
        found += in_records((kind,), "key", kind)
    found.append(Measured("reached", "number"))
    found += [of_metric(one, {"record": ("size",)}) for one in metrics]
    if classes_at:
        only = {"record": ("class",)}
        names = ("class_error", "class_share")
        found += [Measured(name, "number", only=only, held_out=True) for name in names]
    if chosen_at:
        found += in_records(("feature",), "success", "used")
    return [*found, FIT_SECONDS]


def check(
    params: dict, *, sizes: list[int], by: str, classes_at: list[int], chosen_at: list[int]
) -> None:
    """Raise ValueError if a parameter of an algorithm ends its path before the largest size."""
    largest = max([*sizes, *classes_at, *chosen_at])
    # Each row in use has at least one feature, so both limits also bound the number of rows.
    for name in ("max_features", *(("max_groups",) if by == "rows" else ())):
        limit = params.get(name)
        if limit is not None and limit < largest:
            raise ValueError(f"{name} = {limit} ends the path before size {largest}")


def needs(*, classes_at: list[int], **_) -> tuple[str, ...]:
    """Return the traits that a problem must have."""
    return ("test_rows",) if classes_at else ()


@protocol(
    "selection",
    title="Selection",
    paper="Liu, Fujimaki & Ye (2014)",
    takes="estimates",
    columns=columns,
    records=RECORDS,
    metrics=True,
    tunes=False,
    check=check,
    needs=needs,
)
def selection(
    problem: Problem,
    part: Algorithm,
    params: dict,
    setup: Setup,
    *,
    sizes: Sizes,
    by: By = "features",
    classes_at: ClassesAt = [],  # noqa: B006 - pydantic copies it
    chosen_at: ChosenAt = [],  # noqa: B006 - pydantic copies it
) -> Outcome:
    """Fit once and measure the path at several sizes, without tuning.

    The estimate of a size is the last point of the path with at most this number of selected
    coefficients, or rows of them. If a path ends before a size, its end is used. If a selection
    cannot continue, its path contains the last estimate twice, with and without a certificate. The
    size that it reached uses the former; larger sizes use the latter. The column ``record`` names
    the kinds of rows:

    - ``size``: every metric at one of ``sizes``, empty if the algorithm does not report it.
    - ``class``: the error on the test rows of each ``class`` at one of ``classes_at``.
    - ``feature``: which features are in use at one of ``chosen_at``.

    Columns
    -------
    record
        The kind of row.
    size
        Number of features to measure at, or of rows of coefficients.
    class
        Name of the class, or its number if it has none.
    feature
        Name of the feature, or its number if it has none.
    reached
        Actual size of the estimate; less than ``size`` if the path ends before.
    class_error
        Error on the test rows of the class, empty if there are none: the share of wrong words (most
        probable labels) for chains, the error of the sign of the margin for two classes, where
        margin 0 counts half, and the error of the largest prediction for several responses.
    class_share
        Share of the class among the test rows.
    used
        1 if a coefficient in the row of the feature is selected, else 0.

    Returns
    -------
    Outcome
        Status ``not_converged`` if a measured estimate lacks its certificate, ``nonfinite`` if an
        estimate or a metric is not finite, ``error`` if no estimate is small enough.

    References
    ----------
    J. Liu, R. Fujimaki, J. Ye, Forward-backward greedy algorithms for general convex smooth
    functions over a cardinality constraint, 2014, Section 5.
    """
    if classes_at and not problem.X_test:
        raise DataError("errors of classes need rows held out for testing.")
    start = setup.clock()
    path = fitting.fit(part, problem, params, rng=setup.rng)
    seconds = setup.clock() - start
    asked = {"size": sizes, "class": classes_at, "feature": chosen_at}
    return replace(_judge(problem, path, setup.metrics, asked, by), fit_seconds=seconds)


def _judge(
    problem: Problem,
    path: Path,
    metrics: Sequence[Metric],
    asked: dict[str, list[int]],
    by: str,
) -> Outcome:
    """Return the rows of each kind at the requested sizes."""
    if len(path) == 0:
        return Outcome(Status.ERROR, "the algorithm returned a path without points")
    reached = _COUNTS[by](path)
    every = sorted({size for sizes in asked.values() for size in sizes})
    if reached.min() > every[0]:
        what = f"the smallest estimate of the path has size {reached.min()}, above {every[0]}"
        return Outcome(Status.ERROR, what)
    # If rows are counted on a path over features, another feature of a used row might have
    # followed, so the end without a certificate is not replaced.
    prefer_certified = by == "features" or "max_features" not in path.grid
    place = {size: _last(path, reached, size, prefer_certified) for size in every}
    points = sorted(set(place.values()))
    path, reached = path.take(points), reached[points]
    place = {size: points.index(point) for size, point in place.items()}
    if not np.isfinite(path.sparse.values).all():
        return Outcome(Status.NONFINITE, "an estimate is not finite")
    rows = _metric_rows(problem, path, metrics, place, asked["size"])
    if not all(map(fitting.all_finite, rows)):
        return Outcome(Status.NONFINITE, "a metric is not finite")
    rows += _class_rows(problem, path, place, asked["class"])
    rows += _feature_rows(problem, path, place, asked["feature"])
    rows = [{**row, "reached": int(reached[place[row["size"]]])} for row in rows]
    return Outcome.with_doubts(rows, fitting.uncertified(path), path.message)


def _last(path: Path, reached: np.ndarray, size: int, prefer_certified: bool) -> int:
    """Return the last point of at most this size.

    With ``prefer_certified``, a point of exactly this size without a certificate is replaced by one
    that has the same coefficients and a certificate.
    """
    fitting_size = np.flatnonzero(reached <= size)
    last = fitting_size[-1]
    if prefer_certified and reached[last] == size and not path.converged[last]:
        sparse = path.sparse
        candidates = fitting_size[path.converged[fitting_size]]
        same = [k for k in candidates.tolist() if sparse.equal(k, int(last))]
        last = same[-1] if same else last
    return int(last)


def _metric_rows(
    problem: Problem,
    path: Path,
    metrics: Sequence[Metric],
    place: dict[int, int],
    sizes: list[int],
) -> list[dict]:
    """Return every metric at every size; None if the algorithm does not report it."""
    along: dict[str, Sequence] = {}
    for metric in metrics:
        try:
            along[metric.name] = fitting.measure(metric, problem, path).tolist()
        except NotReported:
            along[metric.name] = [None] * len(path)
    return [
        {
            "record": "size",
            "size": size,
            **{name: values[place[size]] for name, values in along.items()},
        }
        for size in sizes
    ]


def _class_rows(
    problem: Problem, path: Path, place: dict[int, int], sizes: list[int]
) -> list[dict]:
    if not sizes:
        return []
    errors, shares = _class_errors(problem, path.take([place[size] for size in sizes]))
    if problem.n_tasks == 1:
        labels = ["-1", "1"]
    else:
        labels = _names(problem.class_names, problem.n_tasks)
    rows = []
    for size, line in zip(sizes, errors, strict=True):
        cells = {"class": labels, "class_error": line, "class_share": shares}
        rows += rows_of("class", size=size, **cells)
    return rows


def _class_errors(problem: Problem, path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean error on the test rows of each class, and the share of these rows.

    Returns
    -------
    errors : array (m, classes)
        Errors in [0, 1]; nan for a class without rows.
    shares : array (classes,)
        They sum to 1.

    Raises
    ------
    DataError
        If the responses are not classes, or the algorithm has no model of chains.
    """
    if problem.chains_test is not None:
        labels = classes_of(problem.y_test)
        wrong, count = wrong_words(problem, path, held_out=True), problem.n_tasks
    elif problem.n_tasks == 1:
        labels = (labels_of(problem, held_out=True) > 0).astype(int)
        wrong, count = row_errors(problem, path, held_out=True), 2
    else:
        wrong, labels = wrong_rows(problem, path)
        count = problem.n_tasks
    members = (labels == np.arange(count)[:, None]).astype(float)
    with np.errstate(invalid="ignore"):
        # Convert to floats: the product of boolean arrays is boolean and does not count rows.
        errors = wrong.astype(float) @ members.T / members.sum(axis=1)
    return errors, members.mean(axis=1)


def _feature_rows(
    problem: Problem, path: Path, place: dict[int, int], sizes: list[int]
) -> list[dict]:
    labels = _names(problem.feature_names, problem.n_features)
    rows = []
    for size in sizes:
        used = np.zeros(problem.n_features, dtype=int)
        used[path.sparse.support(place[size]) // problem.n_tasks] = 1
        rows += rows_of("feature", size=size, feature=labels, used=used)
    return rows


def _names(names: Sequence[str], count: int) -> list[str]:
    """Return the names, or numbers from 0."""
    return list(names) or [str(i) for i in range(count)]
