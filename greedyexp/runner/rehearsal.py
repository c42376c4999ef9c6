"""A few replicates without a run folder; a trial run before a long one."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from greedyexp.core.plugins import load_plugins
from greedyexp.core.signals import Interrupted
from greedyexp.experiment.model import Experiment
from greedyexp.protocols.base import Outcome
from greedyexp.runner.code_version import require_importable
from greedyexp.runner.engine import Engine, Interruption, SerialEngine, results_of
from greedyexp.runner.fingerprint import Fingerprints, InputFiles
from greedyexp.runner.processes import ProcessesEngine
from greedyexp.runner.rows import columns_of
from greedyexp.runner.session import warn_of_time_limit
from greedyexp.runner.work import DEFAULTS, Batch, Item, Result, RunOptions, Work, work_of


def rehearse(
    experiment: Experiment, options: RunOptions = DEFAULTS
) -> list[tuple[str, Outcome, float]]:
    """Run every algorithm once, on the first data set of each block of data.

    Nothing is written. Sizes are not reduced, so numbers and times are those of the full run.
    Everything runs in this process or, with a time limit, in a worker process that can be stopped.
    Plugins run twice, however long they take, to detect random numbers that do not depend on the
    seed.

    Parameters
    ----------
    experiment : Experiment
    options : RunOptions
        ``tracebacks`` adds tracebacks to the outcomes of exceptions. With ``pdb``, the time limit
        is not enforced. The other options are not used.

    Returns
    -------
    list of (label, Outcome, seconds)
        If the data are a list, the label also names the block.

    Raises
    ------
    ConfigError, PluginError
        If an option does not fit the experiment, a part or a plugin cannot be used, or an algorithm
        gives different rows the second time.
    Interrupted
        After Ctrl-C, SIGTERM or SIGHUP.
    """
    options.require_decisions(experiment)
    load_plugins(experiment.plugins)
    require_importable(experiment.plugins)
    files = InputFiles()
    Fingerprints(experiment, files)
    work = work_of(experiment, options, columns_of(experiment).not_for_facts, files)
    everything = tuple(range(len(work.algorithms)))
    first: dict[str | None, Item] = {}
    for index, point in enumerate(experiment.points):
        first.setdefault(point.label, Item(index, point.generator, point.params, 0, everything))
    results = computed(replace(work, cheap=math.inf), [[item] for item in first.values()])
    found = {(result.point, result.algorithm): result for result in results}
    tried = []
    for label, item in first.items():
        where = "" if label is None else f" on {label}"
        for algorithm in everything:
            result = found[item.point, algorithm]
            name = f"{work.algorithms[algorithm].label}{where}"
            tried.append((name, result.outcome, result.seconds))
    return tried


def computed(work: Work, batches: Iterable[Batch]) -> list[Result]:
    """Return the results of batches; nothing is written.

    They are computed in this process or, with a time limit, in a worker process that can be
    stopped. With ``pdb``, the time limit is not enforced.

    Raises
    ------
    ConfigError, PluginError
        If a part or a plugin cannot be used.
    Interrupted
        After Ctrl-C, SIGTERM or SIGHUP.
    """
    left = list(batches)
    found: list[Result] = []
    serial = work.time_limit is None or work.pdb
    engine: Engine = SerialEngine() if serial else ProcessesEngine(1)
    warn_of_time_limit(engine, work.time_limit)
    with Interruption() as interruption:
        for results in results_of(
            engine,
            work,
            lambda: left.pop(0) if left else [],
            expected=sum(len(item.algorithms) for batch in left for item in batch),
            interruption=interruption,
        ):
            found += results
        if interruption.signum is not None:
            raise Interrupted(interruption.signum)
    return found
