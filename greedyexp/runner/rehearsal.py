"""The first replicate of everything, before the long run."""

from __future__ import annotations

from greedyexp.errors import Interrupted
from greedyexp.protocols.outcome import Outcome
from greedyexp.runner.columns import columns_of
from greedyexp.runner.engines.base import Item
from greedyexp.runner.engines.processes import ProcessesEngine
from greedyexp.runner.engines.serial import SerialEngine
from greedyexp.runner.interrupt import Interruption
from greedyexp.runner.work import describe


def rehearse(experiment) -> list[tuple[str, Outcome, float]]:
    """Run every algorithm once, on the first data set of each block of data.

    Nothing is written. The numbers are those of the real run, and so is the time: nothing is made
    smaller. It all happens in this process, or under a time limit in another that can be ended.

    Returns
    -------
    list of (label, Outcome, seconds)
        Seconds include the compilation of kernels in this process. Where the data are a list, the
        label names the block too.

    Raises
    ------
    ConfigError, PluginError
        When a part or a plugin cannot be used.
    Interrupted
        After Ctrl-C, SIGTERM or SIGHUP.
    """
    work = describe(experiment, columns_of(experiment).not_for_facts)
    everything = tuple(range(len(work.algorithms)))
    first: dict[str | None, Item] = {}
    for index, point in enumerate(experiment.points):
        first.setdefault(point.label, Item(index, point.generator, point.params, 0, everything))
    batches = [[item] for item in first.values()]
    limit = experiment.time_limit
    engine = SerialEngine() if limit is None else ProcessesEngine(1)
    found = {}
    with Interruption() as halt:
        for results in engine.results(
            work,
            lambda: batches.pop(0) if batches else [],
            expected=len(batches) * len(everything),
            time_limit=limit,
            halt=halt,
        ):
            found |= {(result.point, result.algorithm): result for result in results}
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
