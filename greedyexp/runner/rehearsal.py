"""One small replicate of everything, before the long run."""

from __future__ import annotations

import time

from threadpoolctl import threadpool_limits

from greedyexp.protocols.outcome import Outcome
from greedyexp.runner.columns import columns_of
from greedyexp.runner.work import Bench, data_failure, describe


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
    params = experiment.points[0]
    with threadpool_limits(limits=1):
        bench = Bench(work)
        try:
            problem = bench.problem(params, 0)
        except Exception as error:
            failure = data_failure(error)
            return [(task.label, failure, 0.0) for task in work.algorithms]
        found = []
        for index, task in enumerate(work.algorithms):
            start = time.perf_counter()
            outcome = bench.outcome(problem, params, 0, index)
            found.append((task.label, outcome, time.perf_counter() - start))
        return found
