"""What the engine `dask` does with the answers of its workers, which a fake connection gives."""

from __future__ import annotations

import pickle
from collections import Counter
from concurrent.futures import CancelledError

import pytest
from distributed.comm import CommClosedError
from runner_lab import Laboratory

from greedyexp.protocols.base import Outcome, Status
from greedyexp.runner.dask import engine, remote
from greedyexp.runner.dask.clusters import Scheduler
from greedyexp.runner.dask.connection import Done, KnownWorkers
from greedyexp.runner.engine import Interruption
from greedyexp.runner.work import Item, Result, work_of


class FakeConnection:
    """A connection to one worker, which computes at once.

    ``errors`` are those of the first tasks, None for a task that succeeds.
    """

    errors: list[BaseException | None]
    sent: list

    def __init__(self, arguments, name):
        self.dashboard = ""
        self._events = [KnownWorkers({"tcp://a": 1})]

    def submit(self, ticket, worker, function, *arguments):
        self.sent.append(function)
        error = self.errors.pop(0) if self.errors else None
        value = None if error else self._value(function, *arguments)
        self._events += [Done(ticket, value, error), KnownWorkers({"tcp://a": 1})]

    def _value(self, function, *arguments):
        if function is remote.prepare:
            return remote.Answer("process", [], "")
        results = [
            Result(item.point, item.replicate, algorithm, Outcome(Status.OK))
            for item in pickle.loads(arguments[1])
            for algorithm in item.algorithms
        ]
        return remote.Computed("process", pickle.dumps(results))

    def events(self, timeout):
        while self._events:
            yield self._events.pop(0)

    def drop(self, ticket):
        pass

    def close(self, function, *arguments):
        pass


@pytest.mark.parametrize("error", [CommClosedError("closed"), CancelledError()])
def test_a_result_that_could_not_be_fetched_is_computed_again(tmp_path, monkeypatch, error):
    """The first answer to the setup is lost, and later that of the first batch."""
    lab = Laboratory(tmp_path)
    monkeypatch.setattr(FakeConnection, "errors", [error, None, error], raising=False)
    monkeypatch.setattr(FakeConnection, "sent", [], raising=False)
    monkeypatch.setattr(engine, "Connection", FakeConnection)
    batches = iter([[Item(0, "", {}, r, (0, 1))] for r in range(4)])
    computed: Counter[int] = Counter()
    for results in engine.DaskEngine(Scheduler("tcp://a:1"), announce=False).results(
        work_of(lab.experiment()),
        lambda: next(batches, []),
        expected=8,
        interruption=Interruption(announce=False),
    ):
        computed.update(result.replicate for result in results)
    assert computed == {0: 2, 1: 2, 2: 2, 3: 2}
    sent = Counter(function.__name__ for function in FakeConnection.sent)
    assert sent == {"prepare": 2, "compute": 5}
