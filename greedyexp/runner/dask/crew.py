"""The workers of a run, the batches that they have, and what follows when one of them dies.

A batch that was in progress when its worker died is divided. Its parts are given out again, and
once they are single replicates, each is alone on its worker. So a replicate that kills its worker
is found, and no other is blamed.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum

from greedyexp.runner.work import Batch

# Batches that a worker has for each of its threads: one in progress, and one to go on with.
_BATCHES_PER_THREAD = 2

# A replicate that was in progress at so many deaths of its worker is not tried again.
MOST_DEATHS = 3


@dataclass(frozen=True)
class Lot:
    """A batch, and how many workers have died while it was in progress."""

    batch: Batch
    deaths: int = 0

    @property
    def alone(self) -> bool:
        """True if its worker may have no other lot, so that another death has one cause only."""
        return self.deaths == MOST_DEATHS - 1

    def divided(self) -> list[Lot]:
        """Return the parts of this lot after one more death."""
        deaths = self.deaths + 1
        if deaths >= MOST_DEATHS - 1:
            singles = [[replace(i, algorithms=(a,))] for i in self.batch for a in i.algorithms]
            return [Lot(single, deaths) for single in singles]
        size = math.isqrt(len(self.batch))
        parts = [self.batch[at : at + size] for at in range(0, len(self.batch), size)]
        return [Lot(part, deaths) for part in parts]


class State(Enum):
    """Whether a worker gets batches."""

    ASKED = "asked"
    FIT = "fit"
    UNFIT = "unfit"


@dataclass
class Worker:
    """A Dask worker.

    Attributes
    ----------
    process : str
        Identifies its process, which may be another after a restart.
    lots : dict of int to Lot
        What it has to compute, by ticket, in the order in which it was given.
    """

    address: str
    threads: int
    state: State = State.ASKED
    process: str = ""
    lots: dict[int, Lot] = field(default_factory=dict)

    @property
    def has_single(self) -> bool:
        return any(lot.alone for lot in self.lots.values())


class Crew:
    """All workers, and the lots that wait.

    Parameters
    ----------
    next_batch : callable
        Returns the next batch, empty if there are no more.
    """

    def __init__(self, next_batch: Callable[[], Batch]):
        self.workers: dict[str, Worker] = {}
        self._next_batch = next_batch
        self._waiting: deque[Lot] = deque()
        self._exhausted = False

    @property
    def threads(self) -> int:
        return sum(worker.threads for worker in self.workers.values())

    @property
    def busy(self) -> bool:
        return any(worker.lots for worker in self.workers.values())

    @property
    def finished(self) -> bool:
        """True if the last call of ``give`` found nothing left to do."""
        return self._exhausted and not self._waiting and not self.busy

    def with_state(self, state: State) -> list[Worker]:
        return [worker for worker in self.workers.values() if worker.state is state]

    def give(self) -> Iterator[tuple[Worker, Lot]]:
        """Yield workers with their next lots; the caller enters them in ``Worker.lots``."""
        self._exhausted = False
        fit = self.with_state(State.FIT)
        # One worker is left to run empty when single replicates wait.
        emptied = None
        if fit and any(lot.alone for lot in self._waiting):
            emptied = min(fit, key=lambda worker: len(worker.lots))
        for share in range(1, _BATCHES_PER_THREAD + 1):
            for worker in fit:
                while len(worker.lots) < share * worker.threads and not worker.has_single:
                    lot = self._lot_for(worker, ordinary=worker is not emptied)
                    if lot is None:
                        break
                    yield worker, lot

    def _lot_for(self, worker: Worker, *, ordinary: bool) -> Lot | None:
        for place, lot in enumerate(self._waiting):
            if (not worker.lots) if lot.alone else ordinary:
                del self._waiting[place]
                return lot
        if not ordinary or self._exhausted:
            return None
        batch = self._next_batch()
        self._exhausted = not batch
        return Lot(batch) if batch else None

    def put_back(self, lot: Lot) -> None:
        """Let a lot wait that was not computed, before all batches that were not given out."""
        self._waiting.appendleft(lot)

    def part_with(self, worker: Worker) -> None:
        """Forget a worker and let its lots wait."""
        self.workers.pop(worker.address, None)
        for lot in reversed(worker.lots.values()):
            self.put_back(lot)
        worker.lots = {}

    def bury(self, worker: Worker) -> list[Lot]:
        """Forget a worker that has died, and let its lots wait.

        Returns
        -------
        list of Lot
            Single replicates that have had their last chance.
        """
        begun = list(worker.lots)[: worker.threads]
        lost = [worker.lots.pop(ticket) for ticket in begun]
        self.part_with(worker)
        return [lot for lot in lost if self.has_killed(lot)]

    def has_killed(self, lot: Lot) -> bool:
        """Return True if a lot had its last chance; otherwise let its parts wait."""
        if lot.alone:
            return True
        for part in reversed(lot.divided()):
            self.put_back(part)
        return False
