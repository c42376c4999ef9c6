"""Worker processes on this machine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import wait

from greedyexp.core import registry
from greedyexp.core.errors import PluginError
from greedyexp.runner.engines.base import Batch, Engine, Halt, Result, timed_out
from greedyexp.runner.engines.member import Member, crashed, not_ready, not_started
from greedyexp.runner.work import Work

# Seconds between looks at the clock and at the wish to stop.
_TICK = 0.1

# Importing the libraries from a slow disk can take this long, hardly longer.
_START_LIMIT = 300.0

# The other workers wait this long for the first batch, whose kernels they would compile as well.
_HEAD_START = 20.0

# How long an interrupted run waits for what is under way.
_GRACE = 2.0


class ProcessesEngine(Engine):
    """A pool of worker processes, one batch each.

    A worker that exceeds the time limit is killed and replaced; one that dies costs the replicate
    it was computing, which becomes an ``error``.

    Parameters
    ----------
    jobs : int, at least 1
        Number of workers.
    """

    name = "processes"

    def __init__(self, jobs: int):
        self.jobs = jobs

    def results(
        self,
        work: Work,
        next_batch: Callable[[], Batch],
        *,
        expected: int,
        time_limit: float | None,
        halt: Halt,
    ) -> Iterator[list[Result]]:
        _refuse_parts_of_the_session(work)
        pool = _Pool(work, next_batch, time_limit)
        try:
            for results in pool.run(min(self.jobs, expected), halt):
                self.compiling = pool.compiling
                yield results
        finally:
            pool.end(at_once=halt.now)


def usable_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _refuse_parts_of_the_session(work: Work) -> None:
    wanted = [("protocol", work.protocol)]
    wanted += [("generator", name) for name in work.generators]
    wanted += [("algorithm", task.name) for task in work.algorithms]
    wanted += [("metric", name) for name in work.metrics]
    for kind, name in wanted:
        if registry.find(kind, name).function.__module__ == "__main__":
            raise PluginError(
                f"the {kind} '{name}' is defined in the running script or session, which worker"
                " processes cannot import.",
                remedy="Put it in a file and name the file under `plugins:`, or use the serial"
                " engine.",
            )


class _Pool:
    def __init__(
        self,
        work: Work,
        next_batch: Callable[[], Batch],
        time_limit: float | None,
    ):
        self._work = work
        self._next_batch = next_batch
        self._time_limit = time_limit
        self._put_back: list[Batch] = []
        self._exhausted = False
        # The first batch goes to one worker alone, so that the others load what it compiled.
        self._alone_until = time.monotonic() + _HEAD_START
        self._begun = False
        self._members: list[Member] = []
        # Where the cache keeps nothing, every process compiles, and all alike.
        self._starts_over_left = 3 * (1 + len(work.algorithms))

    def run(self, jobs: int, halt: Halt) -> Iterator[list[Result]]:
        for _ in range(jobs):
            self._members.append(self._new_member())
        deadline = None
        while True:
            if halt.soon:
                deadline = deadline or time.monotonic() + _GRACE
                if halt.now or time.monotonic() > deadline or not self._busy():
                    return
            else:
                self._dispatch()
                if self._exhausted and not self._busy():
                    return
            yield self._collect() + self._overdue()

    def end(self, *, at_once: bool) -> None:
        for member in self._members:
            member.end(patience=0.0 if at_once or member.busy or not member.ready else 1.0)

    @property
    def compiling(self) -> bool:
        return any(member.compiling for member in self._members)

    def _busy(self) -> bool:
        return any(member.busy for member in self._members)

    def _dispatch(self) -> None:
        for member in self._members:
            if not member.idle:
                continue
            if self._begun and self._busy() and time.monotonic() < self._alone_until:
                return
            batch = self._put_back.pop() if self._put_back else self._next_batch()
            if not batch:
                self._exhausted = True
                return
            if self._begun:
                self._alone_until = 0.0
            self._begun = True
            member.give(batch)

    def _collect(self) -> list[Result]:
        """Wait for messages and read one of each worker that has any."""
        by_channel = {member.channel: member for member in self._members}
        results: list[Result] = []
        for channel in wait(list(by_channel), timeout=_TICK):
            member = by_channel[channel]
            try:
                results += member.receive()
            except (EOFError, OSError):
                results += self._replace_dead(member)
            if member.spent:
                self._starts_over_left -= 1
                self._replace(member, member.rest())
        return results

    def _replace_dead(self, member: Member) -> list[Result]:
        if not member.ready:
            raise not_started(member)
        lost, rest = member.abandon(crashed(member))
        self._replace(member, rest)
        return lost

    def _overdue(self) -> list[Result]:
        """End the workers that are past their limit, unless they have just said something."""
        now = time.monotonic()
        results: list[Result] = []
        for member in list(self._members):
            late = now - member.since
            if not member.ready:
                if late > _START_LIMIT:
                    raise not_ready(self._work, _START_LIMIT)
            elif self._past_limit(member, late) and not member.channel.poll():
                member.process.kill()
                lost, rest = member.abandon(timed_out(self._time_limit))
                self._replace(member, rest)
                results += lost
        return results

    def _past_limit(self, member: Member, late: float) -> bool:
        limited = self._time_limit is not None and member.busy and not member.held_up
        return limited and late > self._time_limit

    def _replace(self, member: Member, rest: Batch) -> None:
        member.end()
        if rest:
            self._put_back.append(rest)
            self._exhausted = False
        self._members[self._members.index(member)] = self._new_member()

    def _new_member(self) -> Member:
        return Member(self._work, may_start_over=self._starts_over_left > 0)
