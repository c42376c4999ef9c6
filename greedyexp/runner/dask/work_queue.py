"""The batches that wait or are on a worker, and what follows when a worker dies.

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

# Batches that a worker has for each of its threads: one in progress, and one to start next.
_BATCHES_PER_THREAD = 2

# A replicate is not tried again after this many deaths of its worker.
MOST_DEATHS = 3


@dataclass(frozen=True)
class Assignment:
    """A batch, and how many workers have died while it was in progress."""

    batch: Batch
    deaths: int = 0

    @property
    def alone(self) -> bool:
        """True if its worker may have no other assignment, so that one more death has one cause."""
        return self.deaths == MOST_DEATHS - 1

    def divided(self) -> list[Assignment]:
        """Return the parts of this assignment after one more death."""
        deaths = self.deaths + 1
        if deaths >= MOST_DEATHS - 1:
            singles = [[replace(i, algorithms=(a,))] for i in self.batch for a in i.algorithms]
            return [Assignment(single, deaths) for single in singles]
        size = math.isqrt(len(self.batch))
        parts = [self.batch[at : at + size] for at in range(0, len(self.batch), size)]
        return [Assignment(part, deaths) for part in parts]


class State(Enum):
    """Whether a worker gets batches."""

    ASKED = "asked"
    ACCEPTED = "accepted"
    REFUSED = "refused"


@dataclass
class Worker:
    """A Dask worker.

    Attributes
    ----------
    process : str
        Identifies its process, which may be another after a restart.
    assignments : dict of int to Assignment
        What it has to compute, by ticket, in the order in which it was given.
    """

    address: str
    threads: int
    state: State = State.ASKED
    process: str = ""
    assignments: dict[int, Assignment] = field(default_factory=dict)

    @property
    def has_single(self) -> bool:
        return any(assignment.alone for assignment in self.assignments.values())


class WorkQueue:
    """All workers, and the assignments that wait.

    Parameters
    ----------
    next_batch : callable
        Returns the next batch, empty if there are no more.
    """

    def __init__(self, next_batch: Callable[[], Batch]):
        self.workers: dict[str, Worker] = {}
        self._next_batch = next_batch
        self._waiting: deque[Assignment] = deque()
        self._exhausted = False

    @property
    def threads(self) -> int:
        return sum(worker.threads for worker in self.workers.values())

    @property
    def busy(self) -> bool:
        return any(worker.assignments for worker in self.workers.values())

    @property
    def finished(self) -> bool:
        """True if the last call of ``give`` found nothing left to do."""
        return self._exhausted and not self._waiting and not self.busy

    def with_state(self, state: State) -> list[Worker]:
        return [worker for worker in self.workers.values() if worker.state is state]

    def give(self) -> Iterator[tuple[Worker, Assignment]]:
        """Yield workers with their next assignments, which the caller adds to ``assignments``."""
        self._exhausted = False
        accepted = self.with_state(State.ACCEPTED)
        # While single replicates wait, one worker gets no other batches, so that it becomes free.
        emptied = None
        if accepted and any(assignment.alone for assignment in self._waiting):
            emptied = min(accepted, key=lambda worker: len(worker.assignments))
        for share in range(1, _BATCHES_PER_THREAD + 1):
            for worker in accepted:
                while len(worker.assignments) < share * worker.threads and not worker.has_single:
                    assignment = self._next_for(worker, ordinary=worker is not emptied)
                    if assignment is None:
                        break
                    yield worker, assignment

    def _next_for(self, worker: Worker, *, ordinary: bool) -> Assignment | None:
        for place, assignment in enumerate(self._waiting):
            if (not worker.assignments) if assignment.alone else ordinary:
                del self._waiting[place]
                return assignment
        if not ordinary or self._exhausted:
            return None
        batch = self._next_batch()
        self._exhausted = not batch
        return Assignment(batch) if batch else None

    def put_back(self, assignment: Assignment) -> None:
        """Let an assignment that was not computed wait, before all new batches."""
        self._waiting.appendleft(assignment)

    def remove(self, worker: Worker) -> None:
        """Forget a worker and let its assignments wait."""
        self.workers.pop(worker.address, None)
        for assignment in reversed(worker.assignments.values()):
            self.put_back(assignment)
        worker.assignments = {}

    def remove_dead(self, worker: Worker) -> list[Assignment]:
        """Forget a worker that has died, and let its assignments wait.

        Returns
        -------
        list of Assignment
            Single replicates that have had their last chance.
        """
        begun = list(worker.assignments)[: worker.threads]
        lost = [worker.assignments.pop(ticket) for ticket in begun]
        self.remove(worker)
        return [assignment for assignment in lost if not self.retry(assignment)]

    def retry(self, assignment: Assignment) -> bool:
        """Divide an assignment whose worker died; return False if it had its last chance."""
        if assignment.alone:
            return False
        for part in reversed(assignment.divided()):
            self.put_back(part)
        return True
