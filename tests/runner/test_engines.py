"""Engines behind their small interface, and the plan that feeds them."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc

import pytest
from runner_lab import Laboratory

from greedyexp.protocols.base import Outcome, Status
from greedyexp.runner import session
from greedyexp.runner.engine import Engine, Interruption, SerialEngine, results_of
from greedyexp.runner.journal import Journal, JournalEntry
from greedyexp.runner.plan import Batches, Plan
from greedyexp.runner.processes import ProcessesEngine
from greedyexp.runner.work import Item, Result, work_of


class Switch(Interruption):
    """A halt that tests set by hand."""

    soon = False
    now = False


@pytest.fixture
def lab(tmp_path):
    return Laboratory(tmp_path)


def collect(engine, lab, items, *, interruption=None, **changes) -> list[Result]:
    work = work_of(lab.experiment(**changes))
    expected = sum(len(item.algorithms) for item in items)
    batches = iter([[item] for item in items])
    results = []
    for some in results_of(
        engine,
        work,
        lambda: next(batches, []),
        expected=expected,
        interruption=interruption or Switch(),
    ):
        results += some
    return results


def items_of(lab, replicates: int, algorithms=(0, 1)) -> list[Item]:
    point = lab.experiment().points[0]
    return [
        Item(0, point.generator, point.params, replicate, algorithms)
        for replicate in range(replicates)
    ]


@pytest.mark.parametrize(
    "engine",
    [SerialEngine(), ProcessesEngine(1), ProcessesEngine(2)],
    ids=["serial", "one process", "two processes"],
)
def test_every_engine_gives_every_result_once_and_the_same(lab, engine):
    found = collect(engine, lab, items_of(lab, 5))
    keys = [(result.replicate, result.algorithm) for result in found]
    assert sorted(keys) == [(r, a) for r in range(5) for a in range(2)]
    expected = collect(SerialEngine(), lab, items_of(lab, 5))
    rows = {(r.replicate, r.algorithm): (r.outcome, r.facts) for r in found}
    assert rows == {(r.replicate, r.algorithm): (r.outcome, r.facts) for r in expected}


@pytest.mark.parametrize(
    "engine", [SerialEngine(), ProcessesEngine(2)], ids=["serial", "processes"]
)
def test_an_engine_that_is_halted_starts_nothing_new(lab, engine):
    interruption = Switch()
    work = work_of(lab.experiment())
    given = iter([[item] for item in items_of(lab, 50)])
    count = 0
    for some in results_of(
        engine, work, lambda: next(given), expected=100, interruption=interruption
    ):
        count += len(some)
        interruption.soon = count >= 4
    assert 4 <= count <= 12


def test_no_more_workers_than_results_are_started(lab, monkeypatch):
    from greedyexp.runner import processes

    started = []
    real = processes.WorkerHandle
    monkeypatch.setattr(processes, "WorkerHandle", lambda work: started.append(work) or real(work))
    assert len(collect(ProcessesEngine(16), lab, items_of(lab, 1, (0,)))) == 1
    assert len(started) == 1


@pytest.mark.deep
def test_what_a_dead_worker_had_not_begun_is_done_by_another(lab):
    """One batch of six data sets; each small draw kills a worker, the others lose nothing."""
    changes = {"algorithms": [lab.trouble("kill")]}
    work = work_of(lab.experiment(**changes))
    batches = iter([items_of(lab, 8, (0,))])
    results = []
    for some in results_of(
        ProcessesEngine(1), work, lambda: next(batches, []), expected=8, interruption=Switch()
    ):
        results += some
    assert sorted(result.replicate for result in results) == list(range(8))
    for result in results:
        assert (result.outcome.status is Status.ERROR) == (result.facts["draw"] < 0.5)


def test_what_algorithms_print_stays_out_of_standard_output(lab):
    lab.plugin.write_text(
        lab.plugin.read_text().replace("    time.sleep(pause)\n", "    print('chatter')\n")
    )
    script = (
        "import sys; from greedyexp import config as experiment, runner\n"
        "options = runner.RunOptions(jobs=1, progress=False)\n"
        "runner.run(experiment.load(sys.argv[1]), sys.argv[2], options)\n"
        "print('done')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(lab.write_yaml()), str(lab.results)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "done\n"
    assert "chatter" in done.stderr


def test_batches_grow_to_the_time_they_should_take():
    items = [Item(point, "", {}, r, (0, 1)) for point in range(2) for r in range(1000)]
    batches = Batches(items, tuple)
    assert len(batches.next(0.3, 50)) == 1
    for _ in range(2):
        batches.learn(Result(0, 0, 0, Outcome(Status.OK), seconds=0.01))
    # Two algorithms of 10 ms each.
    assert len(batches.next(0.3, 50)) in (15, 16)
    for _ in range(100):
        batches.learn(Result(0, 0, 0, Outcome(Status.OK), seconds=1e-6))
    sizes = [len(batches.next(0.3, 50)) for _ in range(10)]
    assert max(sizes) == 50


def test_a_point_not_seen_yet_is_approached_with_care():
    items = [Item(0, "", {}, 0, (0,)), *(Item(1, "", {}, r, (0,)) for r in range(1000))]
    batches = Batches(items, tuple)
    batches.next(0.3, 500)
    batches.learn(Result(0, 0, 0, Outcome(Status.OK), seconds=0.001))
    assert len(batches.next(0.3, 500)) == 30


def test_batches_take_items_only_as_they_are_asked():
    taken = []

    def items():
        for r in range(10**9):
            taken.append(r)
            yield Item(0, "", {}, r, (0,))

    batches = Batches(items(), tuple)
    batches.next(0.3, 500)
    assert len(taken) == 1


def test_a_plan_asks_for_every_point_before_the_next_replicate(lab, tmp_path):
    with Journal(tmp_path) as journal:
        items = list(Plan(lab.experiment()).missing(journal))
    assert [(item.replicate, item.point) for item in items] == [
        (r, p) for r in range(6) for p in range(2)
    ]


def test_a_plan_knows_what_is_missing(lab, tmp_path):
    plan = Plan(lab.experiment())
    ok, bad = Outcome(Status.OK, "", [{}]), Outcome(Status.ERROR, "no")
    with Journal(tmp_path) as journal:
        journal.add(
            [
                JournalEntry(plan.key(1, 3, 0), ok, {}, 2.0),
                JournalEntry(plan.key(1, 3, 1), bad, {}, 1.0),
            ]
        )
        journal.add([JournalEntry(plan.key(0, 2, 1), ok, {}, 1.0)])
        census = plan.census(journal)
        missing = {(i.point, i.replicate): i.algorithms for i in plan.missing(journal)}
        again = {
            (i.point, i.replicate): i.algorithms for i in plan.missing(journal, retry_failed=True)
        }
        everything = list(plan.missing(journal, force=True))
    assert (census.total, census.done, census.missing, census.seconds) == (24, 3, 21, 4.0)
    assert census.failed == {"error": 1}
    assert len(missing) == 11
    assert missing[0, 2] == (0,)
    assert again[1, 3] == (1,)
    assert all(item.algorithms == (0, 1) for item in everything)
    assert len(everything) == 12


class Instant(Engine):
    """Gives every replicate the same long message at once."""

    name = "instant"
    jobs = 1

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self._batch: list[Item] = []

    @property
    def free(self):
        return not self._batch

    @property
    def busy(self):
        return bool(self._batch)

    def start(self, work, expected, guard):
        pass

    def submit(self, batch):
        self.sizes.append(len(batch))
        self._batch = batch

    def wait(self):
        outcome = Outcome(Status.ERROR, "x" * 400)
        batch, self._batch = self._batch, []
        return [
            Result(item.point, item.replicate, algorithm, outcome, {"n": item.replicate})
            for item in batch
            for algorithm in item.algorithms
        ]

    def stop(self):
        pass

    def end(self):
        pass


class Stopped(Instant):
    """Gives half of the replicates while SIGTERM arrives, and the rest when asked again."""

    def __init__(self, switch: Switch) -> None:
        super().__init__()
        self._switch = switch

    def wait(self):
        self._switch.soon = self._switch.now = True
        half = len(self._batch) // 2 or 1
        self._batch, rest = self._batch[:half], self._batch[half:]
        results = super().wait()
        self._batch = rest
        return results


def test_a_signal_that_stops_at_once_keeps_the_results_that_have_arrived(lab):
    switch = Switch()
    batch = items_of(lab, 4, (0,))
    results = []
    for some in results_of(
        Stopped(switch),
        work_of(lab.experiment()),
        lambda: batch,
        expected=len(batch),
        interruption=switch,
    ):
        results += some
    assert [result.replicate for result in results] == [0, 1, 2]


@pytest.mark.deep
def test_quick_replicates_travel_in_large_batches(lab, monkeypatch):
    engine = Instant()
    monkeypatch.setattr(session, "_engine", lambda *_: engine)
    report = lab.run(trials=2000, how={"jobs": None})
    assert report.done == sum(engine.sizes) * 2 == 8000
    assert len(engine.sizes) < 20


def peak_of_run(lab, trials: int, monkeypatch) -> int:
    """Most memory that Python objects took during a run, bytes."""
    monkeypatch.setattr(session, "_engine", lambda *_: Instant())
    one = {"data": {"sweep": {"n": [8]}}, "algorithms": [f"{lab.tag}_median"]}
    experiment = lab.experiment(**one, trials=trials)
    tracemalloc.start()
    try:
        session.run(
            experiment,
            lab.folder / "out" / str(trials) / "quick",
            session.RunOptions(progress=False),
        )
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.deep
def test_memory_does_not_grow_with_the_experiment(lab, monkeypatch):
    peak_of_run(lab, 10, monkeypatch)
    small = peak_of_run(lab, 2000, monkeypatch)
    large = peak_of_run(lab, 8000, monkeypatch)
    assert large < 1.2 * small
