"""From events of sensors and intervals of activities to labelled samples, days as chains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greedyexp.core.errors import DataError
from greedyexp.generators._labelled_chains import LabelledChains

NO_ACTIVITY = "No activity"

DAY = 86_400

# Values of all sensors at all samples: two gigabytes.
_MOST_VALUES = 2**28


@dataclass(frozen=True)
class Spans:
    """Half-open intervals of time, each of one of several kinds.

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
        """From the name of each interval; kinds are the names in alphabetical order."""
        known, kind = np.unique(np.array(names, dtype=str), return_inverse=True)
        begin, end = np.asarray(begin, dtype=float), np.asarray(end, dtype=float)
        return cls(begin, end, kind, tuple(known.tolist()))


def sampled(
    sensors: Spans, activities: Spans, interval: float, representation: str
) -> LabelledChains:
    """One sample for each interval of time from the first activity to the last, one chain a day.

    Samples start at multiples of the interval from midnight and belong to the day they start in.
    The label of a sample is the activity that holds most of it, the first in alphabetical order of
    those that hold as much; where activities overlap, the one that began last holds the time, of
    those that began together the one listed last. A sample no part of which is held is labelled
    "No activity", a class of its own. Days with neither an activity nor the start of a sensor's
    event are left out.

    Parameters
    ----------
    sensors, activities : Spans
        Of at least one activity; a sensor's is the time it is on.
    interval : float
        Seconds.
    representation : {"raw", "last_fired"}
        Columns are sensors. Raw: 1 where the sensor was on in any part of the sample. Last fired:
        1 for the one sensor that turned on last, in the sample or before, also on another day; all
        are 0 before the first event.

    Raises
    ------
    DataError
        When the samples are too many to hold.
    """
    first = np.floor(activities.begin.min() / interval)
    count = int(np.ceil(activities.end.max() / interval) - first)
    _refuse_many(count, len(sensors.names), interval)
    edges = (first + np.arange(count + 1)) * interval
    labels = held_most(activities, edges)
    day = np.floor(edges[:-1] / DAY)
    alive = np.concatenate([day[labels >= 0], np.floor(sensors.begin / DAY)])
    kept = np.isin(day, alive)

    known = {"raw": on_in, "last_fired": fired_last}[representation]
    cells, columns = known(sensors, edges)
    X = np.zeros((count, len(sensors.names)))
    X[cells, columns] = 1.0
    labels, names = labels[kept], activities.names
    if (labels < 0).any():
        names = (*names, NO_ACTIVITY)
        labels[labels < 0] = len(activities.names)
    lengths = np.unique(day[kept], return_counts=True)[1]
    return LabelledChains(X[kept], labels, lengths, sensors.names, names)


def _refuse_many(count: int, n_sensors: int, interval: float) -> None:
    if count * n_sensors > _MOST_VALUES:
        raise DataError(
            f"from the first activity to the last are {count} samples of {interval:g} seconds:"
            f" with {n_sensors} sensors these are too many.",
            remedy="Raise the interval, or look for a wrong date.",
        )


def held_most(spans: Spans, edges: np.ndarray) -> np.ndarray:
    """The kind that holds most of each cell between two edges; -1 where none holds any of it."""
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


def on_in(spans: Spans, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cells and kinds, both (k,), where a span of that kind meets that cell.

    A span of no length meets the cell that it lies in.
    """
    begin = np.searchsorted(edges, spans.begin, side="right") - 1
    end = np.maximum(np.searchsorted(edges, spans.end, side="left"), begin + 1)
    begin, end = np.clip(begin, 0, None), np.clip(end, None, len(edges) - 1)
    length = np.clip(end - begin, 0, None)
    offset = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
    return np.repeat(begin, length) + offset, np.repeat(spans.kind, length)


def fired_last(spans: Spans, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cells and kinds, both (k,): the kind whose span began last before the end of the cell."""
    order = np.argsort(spans.begin, kind="stable")
    last = np.searchsorted(spans.begin[order], edges[1:], side="left") - 1
    cells = np.flatnonzero(last >= 0)
    return cells, spans.kind[order][last[cells]]
