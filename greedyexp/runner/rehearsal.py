"""The first replicate of everything, before the long run."""

from __future__ import annotations

from dataclasses import replace

from greedyexp.core import registry
from greedyexp.core.errors import Interrupted
from greedyexp.core.plugins import load_plugins
from greedyexp.protocols.base import Outcome, Status
from greedyexp.protocols.contracts import breach
from greedyexp.runner.columns import columns_of
from greedyexp.runner.engines.base import Item, Result
from greedyexp.runner.engines.processes import ProcessesEngine
from greedyexp.runner.engines.serial import SerialEngine
from greedyexp.runner.interrupt import Interruption
from greedyexp.runner.session import warn_of_time_limit
from greedyexp.runner.work import Work, describe


def rehearse(
    experiment, *, tracebacks: bool = False, pdb: bool = False
) -> list[tuple[str, Outcome, float]]:
    """Run every algorithm once, on the first data set of each block of data.

    Nothing is written. The numbers are those of the real run, and so is the time: nothing is made
    smaller. It all happens in this process, or under a time limit in another that can be ended.
    An algorithm of a plugin runs twice, to detect random numbers that do not come from the seed.

    Parameters
    ----------
    experiment : Experiment
    tracebacks : bool
        Whether outcomes of exceptions hold the traceback.
    pdb : bool
        Stop in the debugger where a part raises. The time limit is then not enforced.

    Returns
    -------
    list of (label, Outcome, seconds)
        Seconds include the compilation of kernels in this process. Where the data are a list, the
        label names the block too.

    Raises
    ------
    ConfigError, PluginError
        When a part or a plugin cannot be used, or an algorithm gives other rows the second time.
    Interrupted
        After Ctrl-C, SIGTERM or SIGHUP.
    """
    load_plugins(experiment.plugins)
    reserved = columns_of(experiment).not_for_facts
    work = describe(experiment, reserved, tracebacks=tracebacks, pdb=pdb)
    everything = tuple(range(len(work.algorithms)))
    first: dict[str | None, Item] = {}
    for index, point in enumerate(experiment.points):
        first.setdefault(point.label, Item(index, point.generator, point.params, 0, everything))
    plugins = _of_plugins(work)
    batches = [[item] for item in first.values()]
    if plugins:
        batches = [[item, replace(item, algorithms=plugins)] for item in first.values()]
    limit = experiment.time_limit
    engine = SerialEngine() if limit is None or pdb else ProcessesEngine(1)
    warn_of_time_limit(engine, limit)
    found: dict[tuple[int, int], Result] = {}
    with Interruption() as halt:
        for results in engine.results(
            work,
            lambda: batches.pop(0) if batches else [],
            expected=len(batches) * len(everything),
            time_limit=limit,
            halt=halt,
        ):
            for result in results:
                known = found.setdefault((result.point, result.algorithm), result)
                _refuse_difference(work, known, result)
        if halt.soon:
            raise Interrupted(halt.signum)
    tried = []
    for label, item in first.items():
        where = "" if label is None else f" on {label}"
        for algorithm in everything:
            result = found[item.point, algorithm]
            name = f"{work.algorithms[algorithm].label}{where}"
            tried.append((name, result.outcome, result.seconds))
    return tried


def _of_plugins(work: Work) -> tuple[int, ...]:
    """Indices of the algorithms that do not come with the package."""
    return tuple(
        index
        for index, task in enumerate(work.algorithms)
        if not registry.find("algorithm", task.name).shipped
    )


def _refuse_difference(work: Work, one: Result, other: Result) -> None:
    """Refuse an algorithm that gave different rows on the same data."""
    timeout = Status.TIMEOUT in (one.outcome.status, other.outcome.status)
    if one.outcome != other.outcome and not timeout:
        raise breach(
            registry.find("algorithm", work.algorithms[one.algorithm].name),
            "gave different results on the same data",
            "If it draws at random, declare a keyword argument rng=None and draw from it.",
        )
