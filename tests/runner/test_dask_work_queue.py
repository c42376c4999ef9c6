"""Which Dask worker gets which batch, and what follows when workers die. Dask is not needed."""

from __future__ import annotations

import itertools

from greedyexp.runner.dask.work_queue import Assignment, State, Worker, WorkQueue
from greedyexp.runner.work import Batch, Item


def item(replicate: int, algorithms=(0, 1)) -> Item:
    return Item(0, "", {}, replicate, algorithms)


class Play:
    """A queue whose workers compute by hand."""

    def __init__(self, batches: list[Batch], **threads: int):
        given = iter(batches)
        self.queue = WorkQueue(lambda: next(given, []))
        self.tickets = itertools.count()
        for address, count in threads.items():
            self.join(address, count)

    def join(self, address: str, threads: int = 1) -> None:
        self.queue.workers[address] = Worker(address, threads, State.ACCEPTED)

    def give(self) -> None:
        for worker, assignment in self.queue.give():
            worker.assignments[next(self.tickets)] = assignment

    def sizes(self, address: str) -> list[int]:
        return [
            len(assignment.batch) for assignment in self.queue.workers[address].assignments.values()
        ]

    def compute(self, address: str) -> list[Assignment]:
        worker = self.queue.workers[address]
        done, worker.assignments = list(worker.assignments.values()), {}
        return done


def test_each_thread_has_a_batch_and_another_to_go_on_with():
    play = Play([[item(r)] for r in range(100)], a=1, b=3)
    play.give()
    assert (len(play.sizes("a")), len(play.sizes("b"))) == (2, 6)


def test_few_batches_go_to_different_workers():
    play = Play([[item(0)], [item(1)]], a=1, b=1)
    play.give()
    assert (play.sizes("a"), play.sizes("b")) == ([1], [1])


def test_workers_that_are_not_fit_get_nothing():
    play = Play([[item(r)] for r in range(9)], a=1, b=1)
    play.queue.workers["a"].state = State.REFUSED
    play.give()
    assert (play.sizes("a"), play.sizes("b")) == ([], [1, 1])


def test_only_a_batch_in_progress_is_divided():
    play = Play([[item(r) for r in range(9)], [item(r) for r in range(9, 13)]], a=1)
    play.give()
    assert play.queue.remove_dead(play.queue.workers["a"]) == []
    play.join("b", 4)
    play.give()
    assert play.sizes("b") == [3, 3, 3, 4]
    assert [assignment.deaths for assignment in play.queue.workers["b"].assignments.values()] == [
        1,
        1,
        1,
        0,
    ]


def test_a_replicate_that_kills_three_workers_is_found_and_no_other_is_blamed():
    """Nine threads of one worker, which always dies: only the killer is blamed."""
    batches = [[item(r) for r in range(k, k + 7)] for k in range(0, 70, 7)]
    play = Play(batches)
    killer = (23, 1)
    blamed: list[tuple[int, int]] = []
    computed: list[tuple[int, int]] = []
    deaths = 0
    while True:
        if not play.queue.workers:
            play.join("a", 9)
        play.give()
        worker = play.queue.workers["a"]
        if play.queue.finished:
            break
        begun = list(worker.assignments)[: worker.threads]
        pairs = {
            ticket: [
                (i.replicate, a) for i in worker.assignments[ticket].batch for a in i.algorithms
            ]
            for ticket in begun
        }
        if any(killer in some for some in pairs.values()):
            deaths += 1
            assignments = play.queue.remove_dead(worker)
            blamed += [
                (i.replicate, a)
                for assignment in assignments
                for i in assignment.batch
                for a in i.algorithms
            ]
        else:
            for ticket in begun:
                del worker.assignments[ticket]
                computed += pairs[ticket]
    assert blamed == [killer]
    assert deaths == 3
    assert sorted([*computed, killer]) == [(r, a) for r in range(70) for a in range(2)]


def test_a_worker_runs_empty_when_a_single_replicate_waits():
    """Otherwise the replicate would wait until all other batches are done."""
    play = Play([[item(r)] for r in range(100)], a=2, b=2)
    play.give()
    play.queue.put_back(Assignment([item(100, (0,))], deaths=2))
    for _ in range(4):
        for worker in play.queue.workers.values():
            del worker.assignments[next(iter(worker.assignments))]
        play.give()
    # One worker has computed its four batches, and then got the single replicate only.
    assert (len(play.sizes("a")), len(play.sizes("b"))) == (1, 4)
    assert play.queue.workers["a"].has_single


def test_a_crew_is_finished_when_nothing_waits_and_nothing_is_in_progress():
    play = Play([[item(0)]], a=1)
    play.give()
    assert not play.queue.finished
    play.compute("a")
    play.give()
    assert play.queue.finished


def test_lots_of_a_worker_that_leaves_are_not_blamed():
    play = Play([[item(0), item(1)], [item(2)]], a=1)
    play.give()
    play.queue.remove(play.queue.workers["a"])
    play.join("b")
    play.give()
    assert [assignment.deaths for assignment in play.queue.workers["b"].assignments.values()] == [
        0,
        0,
    ]
    assert play.sizes("b") == [2, 1]
