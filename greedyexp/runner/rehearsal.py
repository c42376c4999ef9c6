"""One small replicate of everything, before the long run."""

from __future__ import annotations

from threadpoolctl import threadpool_limits

from greedyexp.protocols.outcome import Outcome
from greedyexp.runner.columns import columns_of
from greedyexp.runner.engines.base import Item
from greedyexp.runner.engines.serial import run_item
from greedyexp.runner.work import Bench, describe


def rehearse(experiment) -> list[tuple[str, Outcome, float]]:
    """Run every algorithm once on the first point's first data set, in this process.

    Nothing is written. The numbers are those of the real run.

    Returns
    -------
    list of (label, Outcome, seconds)
        Seconds include the compilation of kernels.

    Raises
    ------
    ConfigError, PluginError
        When a part or a plugin cannot be used.
    """
    work = describe(experiment, columns_of(experiment).not_for_facts)
    item = Item(0, experiment.points[0], 0, tuple(range(len(work.algorithms))))
    with threadpool_limits(limits=1):
        return [
            (work.algorithms[result.algorithm].label, result.outcome, result.seconds)
            for result in run_item(Bench(work), item)
        ]
