"""One small replicate of everything, before the long run."""

from __future__ import annotations

from threadpoolctl import threadpool_limits

from greedyexp.protocols.outcome import Outcome
from greedyexp.runner.columns import columns_of
from greedyexp.runner.engines.base import Item
from greedyexp.runner.engines.serial import run_item
from greedyexp.runner.work import Bench, describe


def rehearse(experiment) -> list[tuple[str, Outcome, float]]:
    """Run every algorithm once, in this process, on the first data set of each block of data.

    Nothing is written. The numbers are those of the real run.

    Returns
    -------
    list of (label, Outcome, seconds)
        Seconds include the compilation of kernels. Where the data are a list, the label names the
        block too.

    Raises
    ------
    ConfigError, PluginError
        When a part or a plugin cannot be used.
    """
    work = describe(experiment, columns_of(experiment).not_for_facts)
    everything = tuple(range(len(work.algorithms)))
    first: dict[str | None, Item] = {}
    for index, point in enumerate(experiment.points):
        first.setdefault(point.label, Item(index, point.generator, point.params, 0, everything))
    tried = []
    with threadpool_limits(limits=1):
        bench = Bench(work)
        for label, item in first.items():
            where = "" if label is None else f" on {label}"
            for result in run_item(bench, item):
                name = f"{work.algorithms[result.algorithm].label}{where}"
                tried.append((name, result.outcome, result.seconds))
    return tried
