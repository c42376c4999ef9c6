"""Replicates one after another in this process: for debuggers and tiny runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from threadpoolctl import threadpool_limits

from greedyexp.core.errors import Interrupted, PluginError
from greedyexp.core.plugins import exit_refused
from greedyexp.runner.engines.base import Batch, Engine, Halt, Item, Result
from greedyexp.runner.watch import Watch
from greedyexp.runner.work import PART_ERRORS, Bench, Work, facts


class SerialEngine(Engine):
    """No workers: a debugger sees everything, and a crash of an algorithm is a crash of the run.

    It cannot end an algorithm that runs too long, so time limits are not enforced. Nor can it leave
    its work to a new process after kernels were compiled: those of the run that compiles them may
    round a last digit differently from those that later runs load.
    """

    name = "serial"
    jobs = 1

    def results(
        self,
        work: Work,
        next_batch: Callable[[], Batch],
        *,
        expected: int,
        time_limit: float | None,
        halt: Halt,
    ) -> Iterator[list[Result]]:
        # Only here, as commands that compute nothing in this process do without numba.
        from numba.core import event

        from greedyexp.runner.compiling import EVENT, CompilationListener

        watch = Watch()
        listener = event.install_listener(EVENT, CompilationListener(watch))
        with threadpool_limits(limits=1), listener, exit_refused(_exit_called):
            bench = Bench(work, watch)
            while not halt.soon and (batch := next_batch()):
                for item in batch:
                    if halt.soon:
                        break
                    results: list[Result] = []
                    try:
                        for result in run_item(bench, item, watch.clock, halt):
                            results.append(result)
                    except Interrupted:
                        # Without a signal it comes from the debugger, which ends the run.
                        if not halt.soon:
                            raise
                    yield results


def _exit_called(status: int) -> BaseException:
    # In a worker process it ends the worker, which costs no more than the replicate either.
    return RuntimeError(f"it called os._exit({status})")


def run_item(bench: Bench, item: Item, clock: Callable[[], float], halt: Halt) -> Iterator[Result]:
    """Make a data set and run its algorithms, timed by ``clock``, until the run is to stop.

    Raises
    ------
    Interrupted
        When the replicate in progress is abandoned.
    """
    start = clock()
    try:
        with halt.abandonable():
            problem = bench.problem(item.generator, item.params, item.replicate)
            known = facts(problem)
    except (Interrupted, PluginError):
        raise
    except PART_ERRORS as error:
        failure = bench.no_data(error)
        for algorithm in () if halt.soon else item.algorithms:
            yield Result(item.point, item.replicate, algorithm, failure)
        return
    data_seconds = (clock() - start) / len(item.algorithms)
    for algorithm in item.algorithms:
        if halt.soon:
            return
        start = clock()
        with halt.abandonable():
            outcome = bench.outcome(problem, item.generator, item.params, item.replicate, algorithm)
        if halt.now:
            # The part may have caught the exception that was to end it.
            return
        seconds = clock() - start
        yield Result(item.point, item.replicate, algorithm, outcome, known, seconds, data_seconds)
