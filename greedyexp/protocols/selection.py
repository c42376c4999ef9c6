"""Selection: one fit, looked at wherever its path has so many features."""

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
from greedyexp.metrics.optimisation import NotReported
from greedyexp.problems.problem import Problem
from greedyexp.protocols import tuning as tunings
from greedyexp.protocols.classes import class_errors, class_labels, feature_labels
from greedyexp.protocols.measured import FIT_SECONDS, Measured, of_metric
from greedyexp.protocols.measuring import all_finite, measure
from greedyexp.protocols.outcome import Outcome, Status
from greedyexp.protocols.setup import Setup

_Size = Annotated[int, Field(ge=0)]
Sizes = Annotated[list[_Size], Field(min_length=1, description="numbers of features to measure at")]
By = Annotated[
    Literal["features", "rows"],
    Field(description="count coefficients, or rows of them: features of all tasks together"),
]
ClassesAt = Annotated[list[_Size], Field(description="sizes at which to tell each class's error")]
ChosenAt = Annotated[list[_Size], Field(description="sizes at which to tell the rows in use")]

# What counts as the size of an estimate (p, r).
_COUNTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "features": lambda coef: (coef != 0).sum(axis=(-2, -1)),
    "rows": lambda coef: (coef != 0).any(axis=-1).sum(axis=-1),
}


def columns(
    metrics: Sequence[Metric],
    *,
    sizes: list[int],
    by: str,
    classes_at: list[int],
    chosen_at: list[int],
) -> list[Measured]:
    """The keys, what each kind of row has, and the seconds of the fit.

    Raises
    ------
    ValueError
        When a size stands twice in a list.
    """
    asked = {"size": sizes, "class": classes_at, "feature": chosen_at}
    for name, given in zip(("sizes", "classes_at", "chosen_at"), asked.values(), strict=True):
        if len(set(given)) < len(given):
            raise ValueError(f"a size stands twice in {name}.")
    kinds = tuple(kind for kind, given in asked.items() if given)
    every = tuple(sorted({size for given in asked.values() for size in given}))
    found = [Measured("record", "key", kinds), Measured("size", "key", every, apart=True)]
    found += [Measured(kind, "key", None, {"record": (kind,)}) for kind in kinds[1:]]
    found.append(Measured("reached", "number"))
    own = {"record": ("size",)}
    found += [of_metric(one, own) for one in metrics]
    if classes_at:
        own = {"record": ("class",)}
        found += [Measured(name, "number", None, own) for name in ("class_error", "class_share")]
    if chosen_at:
        found.append(Measured("used", "success", None, {"record": ("feature",)}))
    return [*found, FIT_SECONDS]


def check(
    params: dict, *, sizes: list[int], by: str, classes_at: list[int], chosen_at: list[int]
) -> None:
    """Refuse an algorithm that is told to end before the largest size.

    Raises
    ------
    ValueError
        With the parameter that tells it.
    """
    largest = max([*sizes, *classes_at, *chosen_at])
    # Each row in use holds a feature, so that either number bounds that of rows.
    for name in ("max_features", *(("max_groups",) if by == "rows" else ())):
        limit = params.get(name)
        if limit is not None and limit < largest:
            raise ValueError(f"{name} = {limit} ends the path before size {largest}")


@protocol(
    "selection",
    title="Selection",
    paper="Liu, Fujimaki & Ye (2014)",
    takes="estimates",
    columns=columns,
    records=(
        RecordKind("size", ("size",), "Use protocol selection."),
        RecordKind(
            "class",
            ("size", "class"),
            "Give protocol selection sizes in classes_at.",
            columns=("class_error", "class_share"),
        ),
        RecordKind(
            "feature",
            ("size", "feature"),
            "Give protocol selection sizes in chosen_at.",
            columns=("used",),
        ),
    ),
    metrics=True,
    tunes=False,
    check=check,
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
    """Fit once and measure the path at several sizes; nothing is tuned.

    The estimate of a size is the last point of the path with at most so many nonzero coefficients,
    or rows of them. A path that ends before a size has its end there, and ``reached`` tells the
    size that the estimate has. Where a selection could not go on, its path stands at the end twice,
    with a certificate and without: the size that it came to has the one, sizes beyond the other.
    The column ``record`` tells the kinds of rows:

    - ``size``: every metric at one of ``sizes``, empty where the algorithm does not tell it.
    - ``class``: ``class_error``, the error on the rows held out that are of one ``class``, empty
      when there are none: of chains the share of wrong words (most probable labels), of two
      classes by the sign of the margin, where margin 0 counts half, of several responses by the
      largest prediction; and ``class_share``, which part of the rows held out are of it. Classes
      without names are numbered.
    - ``feature``: ``used`` is 1 when the row of a ``feature`` has a nonzero coefficient, else 0.
      Features without names are numbered.

    Returns
    -------
    Outcome
        Status ``not_converged`` when an estimate that is measured lacks its certificate,
        ``nonfinite`` when one or a metric is not finite, ``error`` when no estimate is small
        enough.

    References
    ----------
    J. Liu, R. Fujimaki, J. Ye, Forward-backward greedy algorithms for general convex smooth
    functions over a cardinality constraint, 2014, Section 5.
    """
    if classes_at and not problem.X_test:
        raise DataError("errors of classes need rows held out for testing.")
    start = setup.clock()
    path = tunings.fit(part, problem, params, rng=setup.rng)
    seconds = setup.clock() - start
    asked = {"size": sizes, "class": classes_at, "feature": chosen_at}
    found = _judged(problem, path, setup.metrics, asked, by)
    return replace(found, fit_seconds=seconds)


def _judged(
    problem: Problem,
    path: Path,
    metrics: Sequence[Metric],
    asked: dict[str, list[int]],
    by: str,
) -> Outcome:
    """The rows of each kind at the sizes asked for."""
    if len(path) == 0:
        return Outcome(Status.ERROR, "the algorithm returned a path without points", [])
    reached = _COUNTS[by](path.coef)
    every = sorted({size for sizes in asked.values() for size in sizes})
    # Another feature of a row in use might have come where a path by features could not go on.
    clear = by == "features" or "max_features" not in path.grid
    place = {size: _last(path, reached, size, clear) for size in every}
    if place[every[0]] is None:
        what = f"the smallest estimate of the path has size {reached.min()}, above {every[0]}"
        return Outcome(Status.ERROR, what, [])
    points = sorted(set(place.values()))
    path, reached = path.take(points), reached[points]
    place = {size: points.index(point) for size, point in place.items()}
    if not np.isfinite(path.coef).all():
        return Outcome(Status.NONFINITE, "an estimate is not finite", [])
    rows = _measured(problem, path, metrics, place, asked["size"])
    if not all(map(all_finite, rows)):
        return Outcome(Status.NONFINITE, "a metric is not finite", [])
    rows = [{"record": "size", **row} for row in rows]
    rows += _classes(problem, path, place, asked["class"])
    rows += _features(problem, path, place, asked["feature"])
    rows = [{**row, "reached": int(reached[place[row["size"]]])} for row in rows]
    short = int((~path.converged).sum())
    if short:
        message = f"{short} of {len(path)} estimates lack their certificate"
        return Outcome(Status.NOT_CONVERGED, f"{message}: {path.message}".rstrip(": "), rows)
    return Outcome(Status.OK, path.message, rows)


def _last(path: Path, reached: np.ndarray, size: int, clear: bool) -> int | None:
    """The last point of at most that size.

    With ``clear`` one of exactly that size without a certificate gives way to one that has the same
    coefficients and a certificate.
    """
    fitting = np.flatnonzero(reached <= size)
    if not fitting.size:
        return None
    last = fitting[-1]
    if clear and reached[last] == size and not path.converged[last]:
        same = (path.coef[fitting] == path.coef[last]).all(axis=(1, 2)) & path.converged[fitting]
        last = fitting[same][-1] if same.any() else last
    return int(last)


def _measured(
    problem: Problem, path: Path, metrics: Sequence[Metric], place: dict, sizes: list[int]
) -> list[dict]:
    """Every metric at every size; None for one that the algorithm does not tell."""
    along: dict[str, Sequence] = {}
    for metric in metrics:
        try:
            along[metric.name] = measure(metric, problem, path).tolist()
        except NotReported:
            along[metric.name] = [None] * len(path)
    return [
        {"size": size, **{name: values[place[size]] for name, values in along.items()}}
        for size in sizes
    ]


def _classes(problem: Problem, path: Path, place: dict, sizes: list[int]) -> list[dict]:
    if not sizes:
        return []
    points = [place[size] for size in sizes]
    errors, shares = class_errors(problem, path.take(points))
    return [
        {
            "record": "class",
            "size": size,
            "class": label,
            "class_error": None if np.isnan(error) else float(error),
            "class_share": float(share),
        }
        for size, line in zip(sizes, errors, strict=True)
        for label, error, share in zip(class_labels(problem), line, shares, strict=True)
    ]


def _features(problem: Problem, path: Path, place: dict, sizes: list[int]) -> list[dict]:
    return [
        {"record": "feature", "size": size, "feature": label, "used": int(used)}
        for size in sizes
        for label, used in zip(
            feature_labels(problem), (path.coef[place[size]] != 0).any(axis=-1), strict=True
        )
    ]
