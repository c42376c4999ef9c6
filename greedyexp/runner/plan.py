"""The replicates of an experiment and their batches, produced lazily to bound memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import TYPE_CHECKING

import numpy as np

from greedyexp.core.errors import ConfigError
from greedyexp.experiment.model import Experiment
from greedyexp.protocols.base import Status
from greedyexp.runner.allocation import Series, series_of
from greedyexp.runner.fingerprint import Fingerprints, InputFiles
from greedyexp.runner.journal import Journal, Timing
from greedyexp.runner.shards import WHOLE, Shard
from greedyexp.runner.work import Batch, Find, Found, Item, Result, Slot

if TYPE_CHECKING:
    from greedyexp.claims.judging import Verdicts

# Replicates read from the journal at a time.
_CHUNK = 500


@dataclass
class Census:
    """Numbers of finished replicates of a plan.

    Parameters
    ----------
    total, done : int
        Numbers of all replicates, and of those that are finished with any status.
    statuses : dict of str to int
        Number of finished replicates by status.
    seconds : float
        Time of the algorithms.
    """

    total: int
    done: int = 0
    statuses: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    def count(self, timing: Timing) -> None:
        """Count one finished replicate."""
        self.done += 1
        self.seconds += timing.seconds
        name = timing.status.value
        self.statuses[name] = self.statuses.get(name, 0) + 1

    @property
    def failed(self) -> dict[str, int]:
        """Failures by status, most frequent first."""
        found = [(name, n) for name, n in self.statuses.items() if Status(name).failed]
        return dict(sorted(found, key=lambda pair: (-pair[1], pair[0])))

    @property
    def missing(self) -> int:
        return self.total - self.done


class Plan:
    """The replicates of an experiment: how many are needed for each point and algorithm.

    If results determine these numbers, the plan starts with the first replicates of every series
    and grows as results arrive.

    Parameters
    ----------
    experiment : Experiment
    files : InputFiles, optional
        Files as they were when first read.
    shard : Shard, optional
        The part of the replicates that the plan is limited to.

    Attributes
    ----------
    files : InputFiles
        The code and the data that determine the keys.
    fingerprints : Fingerprints
    wanted : array of int (points, algorithms)
        Number of replicates, of all shards together.

    Raises
    ------
    ConfigError
        If the number of replicates of a shard would depend on results of the other shards.
    """

    def __init__(
        self, experiment: Experiment, files: InputFiles | None = None, shard: Shard = WHOLE
    ):
        self.experiment, self.files = experiment, files or InputFiles()
        self.fingerprints = Fingerprints(experiment, self.files)
        shape = (len(experiment.points), len(experiment.algorithms))
        self._open = series_of(experiment)
        rule = experiment.adaptive
        # The rule by which claims request replicates, until they request none.
        self._deciding = rule if rule and rule.until_decided else None
        self._verdicts: Verdicts | None = None
        if experiment.adaptive and shard != WHOLE:
            raise ConfigError(
                "adaptive trials depend on the results of all shards, so no shard can be computed"
                " by itself.",
                place=f"shard {shard}",
                remedy="Give a number of trials, or compute the experiment without shards.",
            )
        self._first = np.array([shard.first(experiment.seed, point) for point in experiment.points])
        self._step = shard.of
        self.wanted = np.full(shape, 0 if self._open else experiment.trials)
        if self._deciding:
            self.wanted[:] = self._deciding.min
        for series in self._open:
            self.wanted[series.points, series.algorithm] = series.rule.first(len(series.points))

    def __len__(self) -> int:
        return int(self.counts.sum())

    @property
    def counts(self) -> np.ndarray:
        """Number of replicates of the shard for each point and algorithm."""
        # Negative where a point has fewer replicates than the first of the shard.
        counts: np.ndarray = np.maximum(-(-(self.wanted - self._first[:, None]) // self._step), 0)
        return counts

    def replicates(self, point: int, algorithm: int) -> range:
        """Return the replicates of an algorithm at a point."""
        return range(int(self._first[point]), int(self.wanted[point, algorithm]), self._step)

    def key(self, point: int, replicate: int, algorithm: int) -> bytes:
        return self.fingerprints.key(point, replicate, algorithm)

    def finished(self, find: Find[Found]) -> Iterator[tuple[Slot, Found]]:
        """Yield the finished replicates in the order of the CSV: point, replicate, algorithm.

        Parameters
        ----------
        find : callable
            ``timings`` or ``entries`` of a journal, which looks up the second value of each pair.
        """
        slots = (
            self._slot(point, replicate, algorithm)
            for point, wanted in enumerate(self.wanted.tolist())
            for replicate in range(int(self._first[point]), max(wanted), self._step)
            for algorithm, count in enumerate(wanted)
            if replicate < count
        )
        return ((slot, found) for slot, found in _looked_up(slots, find) if found is not None)

    def grow_fully(self, journal: Journal, *, retry_failed: bool = False) -> None:
        """Grow until the journal lacks results that the next decision needs.

        Parameters
        ----------
        retry_failed : bool
            Treat failed replicates as unfinished.
        """
        while self.grow(journal, retry_failed=retry_failed):
            pass

    def grow(self, journal: Journal, *, retry_failed: bool = False) -> bool:
        """Add replicates to series that are finished; return True if any were added.

        A decision uses only the replicates requested so far. It is therefore the same after an
        interruption or with rows of another run in the journal.
        """
        before = len(self)
        if self._deciding and self._complete(journal, retry_failed):
            # Few experiments need what judges claims.
            from greedyexp.runner.deciding import next_look

            self.wanted, self._verdicts = next_look(
                self.experiment, self._deciding, self.wanted, self.finished, journal, self._verdicts
            )
            if len(self) == before:
                self._deciding = None
        self._open = [one for one in self._open if self._extend(one, journal, retry_failed)]
        return len(self) > before

    def _complete(self, journal: Journal, retry_failed: bool) -> bool:
        census = self.census(journal)
        return not census.missing and not (retry_failed and census.failed)

    def _extend(self, series: Series, journal: Journal, retry_failed: bool) -> bool:
        """Apply the rule of a series; return True if it may request more later."""
        trials = self.wanted[series.points, series.algorithm]
        successes = np.zeros(len(trials))
        for place, (point, count) in enumerate(zip(series.points, trials, strict=True)):
            keys = [self.key(int(point), k, series.algorithm) for k in range(count)]
            entries = journal.entries(keys)
            outcomes = [entry.outcome for entry in entries.values()]
            if len(outcomes) < count or (retry_failed and any(o.status.failed for o in outcomes)):
                return True
            # A failure has no rows. It counts as a trial without success.
            successes[place] = sum(row[series.metric] for o in outcomes for row in o.rows[:1])
        wanted = series.rule.grown(trials, successes)
        self.wanted[series.points, series.algorithm] = wanted
        return bool((wanted > trials).any())

    def census(self, journal: Journal) -> Census:
        """Count the finished replicates in the journal."""
        found = Census(len(self))
        for _, timing in self.finished(journal.timings):
            found.count(timing)
        return found

    def missing(
        self,
        journal: Journal,
        *,
        beyond: np.ndarray | int = 0,
        force: bool = False,
        retry_failed: bool = False,
    ) -> Iterator[Item]:
        """Yield data sets with the algorithms that have not been run on them.

        The first replicates of all points come first, then the second replicates, and so on. An
        interrupted run has therefore made equal progress at all points, and the estimate of the
        time left uses all points rather than only the smallest.

        Parameters
        ----------
        beyond : array of int (points, algorithms), or 0
            Skip this many replicates.
        force : bool
            Treat no replicate as finished.
        retry_failed : bool
            Treat failed replicates as unfinished.
        """
        # The plan may grow during the iteration; the next call yields the added replicates.
        wanted = self.wanted.copy()
        slots = (
            self._slot(point, replicate, int(algorithm))
            for replicate in range(int(wanted.max(initial=0)))
            for point, here in enumerate((beyond <= replicate) & (replicate < wanted))
            if (replicate - self._first[point]) % self._step == 0
            for algorithm in np.flatnonzero(here)
        )
        if not force:
            slots = (
                slot
                for slot, found in _looked_up(slots, journal.timings)
                if found is None or (retry_failed and found.status.failed)
            )
        for (point, replicate), some in groupby(slots, lambda slot: (slot.point, slot.replicate)):
            source = self.experiment.points[point]
            algorithms = tuple(slot.algorithm for slot in some)
            yield Item(point, source.generator, source.params, replicate, algorithms)

    def _slot(self, point: int, replicate: int, algorithm: int) -> Slot:
        return Slot(point, replicate, algorithm, self.key(point, replicate, algorithm))


def _looked_up(slots: Iterator[Slot], find: Find[Found]) -> Iterator[tuple[Slot, Found | None]]:
    """Yield each slot with its entry in the journal, or None."""
    while chunk := list(islice(slots, _CHUNK)):
        found = find([slot.key for slot in chunk])
        for slot in chunk:
            yield slot, found.get(slot.key)


class Batches:
    """Group items into batches of about equal time, estimated from earlier results.

    Parameters
    ----------
    items : iterable of Item
        The items to group, read one at a time.
    more : callable
        Called once all results have arrived; returns further items, or none at the end.
    """

    def __init__(self, items: Iterable[Item], more: Callable[[], Iterable[Item]]):
        self._items = iter(items)
        self._more = more
        self._in_progress = 0
        self._per_point: dict[int, float] = {}
        self._recent: float | None = None

    def next(self, seconds: float, most: int) -> Batch:
        """Return the next batch; empty if no items are left, or none until results arrive.

        The first batch is one item, since its time is unknown.

        Parameters
        ----------
        seconds : float
            Time that the batch should take.
        most : int
            Maximum number of items in the batch.
        """
        batch = self._take(seconds, most)
        if not batch and not self._in_progress:
            self._items = iter(self._more())
            batch = self._take(seconds, most)
        self._in_progress += sum(len(item.algorithms) for item in batch)
        return batch

    def _take(self, seconds: float, most: int) -> Batch:
        batch: Batch = []
        expected = 0.0
        while expected < seconds and len(batch) < most:
            item = next(self._items, None)
            if item is None:
                break
            batch.append(item)
            expected += self._expected(item, seconds)
        return batch

    def learn(self, result: Result) -> None:
        """Record the time of a result that has arrived."""
        self._in_progress -= 1
        spent = result.seconds + result.data_seconds
        before = self._per_point.get(result.point, spent)
        self._per_point[result.point] = 0.7 * before + 0.3 * spent
        self._recent = spent if self._recent is None else 0.9 * self._recent + 0.1 * spent

    def _expected(self, item: Item, unknown: float) -> float:
        each = self._per_point.get(item.point)
        if each is None:
            # A new point may be much larger than the others.
            each = unknown if self._recent is None else 10 * self._recent
        return each * len(item.algorithms)
