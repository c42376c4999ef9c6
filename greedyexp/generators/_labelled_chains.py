"""Chains of labelled words: from recorded intervals to chains, and from chains to a problem."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from greedyexp.core.errors import DataError
from greedyexp.problems.problem import Problem

NO_ACTIVITY = "No activity"

DAY = 86_400

# Largest number of values of all sensors at all samples, two gigabytes.
_MOST_VALUES = 2**28

TRAITS = ("multi_task", "labels", "chains", "test_rows")

Representation = Annotated[
    Literal["last_fired", "raw"],
    Field(description="features of a sample: the sensor that fired last, or all that were on"),
]
TrainShare = Annotated[
    float,
    Field(gt=0, lt=1, description="fraction of training days, drawn in each replicate"),
]


@dataclass(frozen=True)
class LabelledChains:
    """Labelled words in sequence, divided into chains.

    Parameters
    ----------
    X : array (n, p)
        Observations of each word.
    labels : int array (n,)
        Class of each word, 0 to r - 1.
    lengths : int array (c,)
        Number of words of each chain, at least one; the sum is n.
    feature_names, class_names : tuples of p and r str
    """

    X: np.ndarray
    labels: np.ndarray
    lengths: np.ndarray
    feature_names: tuple[str, ...]
    class_names: tuple[str, ...]

    def part(self, kept: np.ndarray) -> LabelledChains:
        """The chains selected by a bool array (c,), in their order."""
        word = np.repeat(kept, self.lengths)
        return replace(self, X=self.X[word], labels=self.labels[word], lengths=self.lengths[kept])


def left_out(*, train_share: float, **_) -> float:
    """Return the share of days that are test days; minutes of a day are not independent."""
    return 1 - train_share


def require_two_days(record: LabelledChains, place: str | None = None) -> None:
    """Raise DataError if a record has a single chain and cannot be split."""
    if len(record.lengths) < 2:
        raise DataError(
            "the record spans one day; at least two are needed, for training and for testing.",
            place=place,
            remedy="Use a longer record.",
        )


def split_days(
    rng: np.random.Generator, record: LabelledChains, train_share: float, **facts
) -> Problem:
    """Return a problem with random chains for training and the others for testing.

    Both parts have at least one chain.

    Parameters
    ----------
    **facts
        Further facts of the problem.

    Raises
    ------
    DataError
        If there is only one chain.
    """
    require_two_days(record)
    count = len(record.lengths)
    n_train = min(max(round(train_share * count), 1), count - 1)
    train = np.zeros(count, dtype=bool)
    train[rng.choice(count, size=n_train, replace=False)] = True
    return chain_problem(record.part(train), record.part(~train), **facts)


def chain_problem(fitted: LabelledChains, held: LabelledChains, **facts) -> Problem:
    """Return a problem with one task for each class: 1 on its words and 0 on all others.

    Parameters
    ----------
    fitted, held : LabelledChains
        Training and test chains, with the same features and classes.
    **facts
        Further facts of the problem.
    """
    n_classes = len(fitted.class_names)
    return Problem(
        (fitted.X,) * n_classes,
        _indicators(fitted.labels, n_classes),
        facts={"n_samples": len(fitted.labels), "n_test": len(held.labels), **facts},
        X_test=(held.X,) * n_classes,
        y_test=_indicators(held.labels, n_classes),
        chains=fitted.lengths,
        chains_test=held.lengths,
        feature_names=fitted.feature_names,
        class_names=fitted.class_names,
    )


def _indicators(labels: np.ndarray, n_classes: int) -> tuple[np.ndarray, ...]:
    """Responses (n,) of the r tasks, as rows of one array."""
    return tuple((labels == np.arange(n_classes)[:, None]).astype(float))


@dataclass(frozen=True)
class Spans:
    """Half-open intervals of time, each with one of several kinds.

    Parameters
    ----------
    begin, end : float arrays (m,)
        Seconds since a midnight, end at least begin.
    kind : int array (m,)
        Index into ``names``.
    names : tuple of str
    """

    begin: np.ndarray
    end: np.ndarray
    kind: np.ndarray
    names: tuple[str, ...]

    @classmethod
    def named(cls, begin, end, names) -> Spans:
        """Create spans from the names of intervals; kinds are these names in alphabetical order."""
        known, kind = np.unique(np.array(names, dtype=str), return_inverse=True)
        begin, end = np.asarray(begin, dtype=float), np.asarray(end, dtype=float)
        return cls(begin, end, kind, tuple(known.tolist()))


def sampled(
    sensors: Spans,
    activities: Spans,
    interval: float,
    representation: str,
    place: str | None = None,
) -> LabelledChains:
    """Return a sample for each interval of time between the first and the last activity.

    Samples start at multiples of the interval from midnight. A chain is a day; samples belong to
    the day on which they start. The label of a sample is the activity with the most time in it;
    ties go to the first in alphabetical order. Where activities overlap, the time counts for the
    activity that began last; if they began together, for the one that is listed last. Samples
    without any activity are labelled "No activity", a separate class. Days without an activity and
    without the start of a sensor's event are left out.

    Parameters
    ----------
    sensors, activities : Spans
        At least one activity. The span of a sensor is the time in which it is on.
    interval : float
        Seconds.
    representation : {"raw", "last_fired"}
        Columns are sensors. Raw: 1 if the sensor was on in any part of the sample. Last fired: 1
        for the sensor that turned on last, in the sample or before, even on another day; all are
        0 before the first event.
    place : str, optional
        The file, which is the place of errors.

    Raises
    ------
    DataError
        If the samples need too much memory.
    """
    first = np.floor(activities.begin.min() / interval)
    count = int(np.ceil(activities.end.max() / interval) - first)
    if count * len(sensors.names) > _MOST_VALUES:
        raise DataError(
            f"{count} samples of {interval:g} seconds between the first activity and the last are"
            f" too many with {len(sensors.names)} sensors.",
            place=place,
            remedy="Raise the interval, or look for a wrong date.",
        )
    edges = (first + np.arange(count + 1)) * interval
    labels = dominant_kinds(activities, edges)
    day = np.floor(edges[:-1] / DAY)
    alive = np.concatenate([day[labels >= 0], np.floor(sensors.begin / DAY)])
    kept = np.isin(day, alive)

    known = {"raw": overlapping_cells, "last_fired": last_started}[representation]
    cells, columns = known(sensors, edges)
    X = np.zeros((count, len(sensors.names)))
    X[cells, columns] = 1.0
    labels, names = labels[kept], activities.names
    if (labels < 0).any():
        names = (*names, NO_ACTIVITY)
        labels[labels < 0] = len(activities.names)
    lengths = np.unique(day[kept], return_counts=True)[1]
    return LabelledChains(X[kept], labels, lengths, sensors.names, names)


def dominant_kinds(spans: Spans, edges: np.ndarray) -> np.ndarray:
    """Return the kind with the most time in each cell between two edges; -1 for an empty cell."""
    cuts = np.unique(np.concatenate([edges, spans.begin, spans.end]))
    holder = np.full(len(cuts) - 1, -1)
    for i in np.argsort(spans.begin, kind="stable"):
        begin, end = np.searchsorted(cuts, (spans.begin[i], spans.end[i]))
        holder[begin:end] = spans.kind[i]
    cell = np.searchsorted(edges, cuts[:-1], side="right") - 1
    count, n_kinds = len(edges) - 1, len(spans.names)
    use = (holder >= 0) & (cell >= 0) & (cell < count)
    held = np.bincount(
        cell[use] * n_kinds + holder[use],
        weights=np.diff(cuts)[use],
        minlength=count * n_kinds,
    ).reshape(count, n_kinds)
    return np.where(held.any(axis=1), held.argmax(axis=1), -1)


def overlapping_cells(spans: Spans, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs of cell and kind, both (k,), for which a span of the kind meets the cell.

    A span of length zero meets the cell that contains it.
    """
    begin = np.searchsorted(edges, spans.begin, side="right") - 1
    end = np.maximum(np.searchsorted(edges, spans.end, side="left"), begin + 1)
    begin, end = np.clip(begin, 0, None), np.clip(end, None, len(edges) - 1)
    length = np.clip(end - begin, 0, None)
    offset = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
    return np.repeat(begin, length) + offset, np.repeat(spans.kind, length)


def last_started(spans: Spans, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return cells and kinds, both (k,), of the last span that begins before a cell ends."""
    order = np.argsort(spans.begin, kind="stable")
    last = np.searchsorted(spans.begin[order], edges[1:], side="left") - 1
    cells = np.flatnonzero(last >= 0)
    return cells, spans.kind[order][last[cells]]
