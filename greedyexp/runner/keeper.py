"""From results as they arrive to rows of the journal."""

from __future__ import annotations

import time

from greedyexp.runner.engines.base import Result
from greedyexp.runner.journal import Entry, Journal
from greedyexp.runner.plan import Plan

# Results are written when the oldest has waited this long (seconds), or when they are this many.
_LONGEST_WAIT = 0.5
_MOST_WAITING = 1000


class Keeper:
    """Brings results to the journal, a transaction now and then; on leaving, all it still has.

    Attributes
    ----------
    kept : int
        Results journaled so far.
    """

    def __init__(self, plan: Plan, journal: Journal):
        self._plan = plan
        self._journal = journal
        self._waiting: list[Entry] = []
        self._last = time.monotonic()
        self.kept = 0

    def __enter__(self) -> Keeper:
        return self

    def __exit__(self, *_) -> None:
        self.write()

    def take(self, results: list[Result]) -> None:
        """Remember results, and write what has waited long enough.

        Raises
        ------
        DataError
            When the data that they should be of were changed.
        """
        self._plan.disk.require_unchanged_data()
        for result in results:
            key = self._plan.key(result.point, result.replicate, result.algorithm)
            self._waiting.append(Entry(key, result.outcome, result.facts, result.seconds))
        late = time.monotonic() - self._last > _LONGEST_WAIT
        if late or len(self._waiting) >= _MOST_WAITING:
            self.write()

    def write(self) -> None:
        """Journal everything that still waits."""
        if self._waiting:
            entries, self._waiting = self._waiting, []
            self._journal.add(entries)
            self.kept += len(entries)
        self._last = time.monotonic()
