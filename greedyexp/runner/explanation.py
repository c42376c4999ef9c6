"""Explanations: which replicates a run would compute, why, and how long this would take."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice, product
from pathlib import Path

import numpy as np

from greedyexp.algorithms.peers.estimator import only_reading
from greedyexp.core.blas import usable_cores
from greedyexp.core.plugins import load_plugins
from greedyexp.core.run_files import JOURNAL
from greedyexp.datasets.own import relative_to
from greedyexp.experiment.model import Experiment
from greedyexp.runner.fingerprint import key_of
from greedyexp.runner.folder_status import checked_manifest, seconds_left
from greedyexp.runner.journal import Journal, Timing
from greedyexp.runner.manifest import changed_files, provenance, version_changes
from greedyexp.runner.plan import Plan
from greedyexp.runner.reasons import Content, Reasons, is_content
from greedyexp.runner.run_folder import RunFolder, retried
from greedyexp.runner.seeds import canonical_json
from greedyexp.runner.work import DEFAULTS, RunOptions

# Pairs of earlier components that are tried for one algorithm at one point, the latest first.
_MOST_PAIRS = 50

_UNRECORDED = (
    "new, or changed since an earlier version of greedyexp, whose journal does not record"
    " what determines its replicates"
)


@dataclass(frozen=True)
class Group:
    """Replicates that would be computed for the same reasons.

    Parameters
    ----------
    reasons : tuple of str
        Such as ``new trial`` or ``data.noise_std: 0.1 -> 0.5``.
    replicates : int
    """

    reasons: tuple[str, ...]
    replicates: int


@dataclass(frozen=True)
class Explanation:
    """What a run would compute.

    Parameters
    ----------
    total : int
        Replicates of the plan; with adaptive trials, those requested so far.
    groups : tuple of Group
        Replicates that would be computed, the largest group first.
    open_ended : bool
        True if results may request more replicates.
    seconds : float or None
        Estimated time of the algorithms, without the generation of data, which a journal does not
        time; None if no time is known.
    timed : int
        Number of replicates whose times the estimate uses.
    jobs : int
        Number of workers.
    since : tuple of str
        If no journal has the earlier replicates: what differs from the run that wrote the manifest.
    """

    total: int
    groups: tuple[Group, ...]
    open_ended: bool
    seconds: float | None
    timed: int
    jobs: int
    since: tuple[str, ...] = ()

    @property
    def missing(self) -> int:
        """Replicates that would be computed."""
        return sum(group.replicates for group in self.groups)


def explain(experiment: Experiment, folder: Path, options: RunOptions = DEFAULTS) -> Explanation:
    """Explain what a run would compute, from the journal of a folder; nothing is written.

    A replicate is compared with the latest one of the same algorithm, swept parameters and number
    that the journal has. Where it has none, the replicate is a new trial if there are others of its
    point and algorithm, and otherwise a new algorithm or a new point.

    Parameters
    ----------
    experiment : Experiment
    folder : Path
        The run folder, which need not exist.
    options : RunOptions
        ``force``, ``retry_failed`` and ``shard`` change what is computed, ``engine`` and ``jobs``
        the estimated time.

    Raises
    ------
    StorageError
        If the journal cannot be read.
    DataError, PluginError
        If data files or plugins cannot be read.
    """
    load_plugins(experiment.plugins)
    with relative_to(experiment.folder):
        plan = Plan(experiment, shard=options.shard)
        if not (folder / JOURNAL).is_file():
            return _without_journal(plan, folder, options)
        with Journal(folder, read_only=True) as journal:
            if journal.empty:
                return _without_journal(plan, folder, options)
            plan.grow_fully(journal, retry_failed=options.retry_failed)
            return _Comparison(plan, journal).explanation(options)


@retried
def explain_folder(folder: Path, options: RunOptions = DEFAULTS) -> Explanation:
    """Explain what a run of the settings in a run folder would compute.

    Raises
    ------
    StorageError
        If a file of the folder is missing or unreadable, or the files are of different runs.
    ConfigError, DataError, PluginError
        If the experiment can no longer be loaded.
    """
    home = RunFolder(folder)
    with only_reading():
        checked_manifest(home)
        if not home.has_journal:
            return explain(home.last_experiment(None), folder, options)
        with Journal(folder, read_only=True) as journal:
            experiment = home.last_experiment(journal.origin)
            return explain(experiment, folder, replace(options, shard=journal.shard))


def _without_journal(plan: Plan, folder: Path, options: RunOptions) -> Explanation:
    """Explain a run without earlier replicates; compare versions with the manifest, if any."""
    manifest = RunFolder(folder).manifest()
    done = int(manifest["replicates"]["done"]) if manifest else 0
    if not done:
        return _explanation(plan, Counter({("nothing is computed yet",): len(plan)}), options)
    # Reads the data files.
    plan.fingerprints.components()
    versions = version_changes(manifest, provenance(folder, plan.experiment))
    files = changed_files(manifest, plan.files.checksums())
    seconds = manifest["algorithm_seconds"] / done * len(plan) / _jobs(options)
    return _explanation(
        plan,
        Counter({("no journal has the replicates of the earlier run",): len(plan)}),
        options,
        seconds=seconds,
        timed=done,
        since=(*versions, *(f"data file {name}" for name in files)),
    )


def _explanation(
    plan: Plan,
    groups: Counter[tuple[str, ...]],
    options: RunOptions,
    *,
    seconds: float | None = None,
    timed: int = 0,
    since: tuple[str, ...] = (),
) -> Explanation:
    return Explanation(
        total=len(plan),
        groups=tuple(Group(*one) for one in groups.most_common() if one[1]),
        open_ended=plan.experiment.adaptive is not None,
        seconds=seconds,
        timed=timed,
        jobs=_jobs(options),
        since=since,
    )


def _jobs(options: RunOptions) -> int:
    """Return the number of workers; 1 for a cluster, whose size is not known before it runs."""
    if options.engine == "serial" or options.scheduler or options.cluster:
        return 1
    return options.jobs or usable_cores()


class _Comparison:
    """The replicates of a plan, beside those that the journal has of earlier settings and code."""

    def __init__(self, plan: Plan, journal: Journal):
        self._plan, self._journal = plan, journal
        stored = journal.components()
        self._stored = {key: content for key, content in stored.items() if is_content(content)}
        current = plan.fingerprints.components()
        # As they are read from a journal.
        self._current: dict[bytes, Content] = {
            component: json.loads(canonical_json(content)) for component, content in current.items()
        }
        self._reasons = Reasons(plan, {**self._stored, **self._current})
        self._points: defaultdict[str, list[bytes]] = defaultdict(list)
        self._algorithms: defaultdict[str, list[bytes]] = defaultdict(list)
        for component, content in reversed(self._stored.items()):
            if component in current:
                continue
            if content["kind"] == "point":
                self._points[self._place(content)].append(component)
            elif content["kind"] == "algorithm":
                self._algorithms[content["label"]].append(component)
        shape = plan.wanted.shape
        self._counts, self._seconds = np.zeros(shape, dtype=int), np.zeros(shape)

    def explanation(self, options: RunOptions) -> Explanation:
        """Compare all replicates that would be computed."""
        plan, journal = self._plan, self._journal
        for slot, timing in plan.finished(journal.timings):
            self._count(slot.point, slot.algorithm, timing)
        missing: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        how = {"force": options.force, "retry_failed": options.retry_failed}
        for item in plan.missing(journal, **how):
            for algorithm in item.algorithms:
                missing[item.point, algorithm].append(item.replicate)
        again = "--force" if options.force else "--retry-failed"
        groups: Counter[tuple[str, ...]] = Counter()
        unmatched: dict[tuple[int, int], int] = {}
        for (point, algorithm), replicates in missing.items():
            keys = {plan.key(point, replicate, algorithm): replicate for replicate in replicates}
            finished = journal.timings(list(keys))
            left = {replicate for key, replicate in keys.items() if key not in finished}
            groups[(f"computed again by {again}",)] += len(finished)
            for reasons, count in self._changed(point, algorithm, left):
                groups[reasons] += count
            unmatched[point, algorithm] = len(left)
        for (point, algorithm), count in unmatched.items():
            groups[(self._novelty(point, algorithm),)] += count
        wanted = np.zeros_like(self._counts)
        for place, replicates in missing.items():
            wanted[place] = len(replicates)
        seconds = seconds_left(wanted, self._counts, self._seconds, _jobs(options))
        timed = int(self._counts.sum())
        return _explanation(plan, groups, options, seconds=seconds, timed=timed)

    def _count(self, point: int, algorithm: int, timing: Timing) -> None:
        self._counts[point, algorithm] += 1
        self._seconds[point, algorithm] += timing.seconds

    def _changed(
        self, point: int, algorithm: int, left: set[int]
    ) -> Iterator[tuple[tuple[str, ...], int]]:
        """Yield reasons and numbers of replicates that earlier components had; empty ``left``."""
        everything, here = (
            self._plan.replicates(point, algorithm),
            self._components(point, algorithm),
        )
        for old in self._pairs(point, algorithm) if left else ():
            keys = {key_of(*old, replicate): replicate for replicate in everything}
            timings = self._journal.timings(list(keys))
            for timing in timings.values():
                self._count(point, algorithm, timing)
            found = {keys[key] for key in timings} & left
            if found:
                left -= found
                yield self._reasons.between(point, old, here), len(found)
            if not left:
                return

    def _pairs(self, point: int, algorithm: int) -> Iterator[tuple[bytes, bytes]]:
        """Yield earlier pairs of components, those with one change before those with two."""
        here = self._components(point, algorithm)
        new_point, new_algorithm = (self._current[component] for component in here)
        points = [here[0], *self._points[self._place(new_point)][:_MOST_PAIRS]]
        algorithms = [here[1], *self._algorithms[new_algorithm["label"]][:_MOST_PAIRS]]
        places = product(range(len(points)), range(len(algorithms)))
        order = sorted(places, key=lambda two: ((two[0] > 0) + (two[1] > 0), sum(two)))
        return ((points[i], algorithms[j]) for i, j in islice(order, 1, _MOST_PAIRS))

    def _components(self, point: int, algorithm: int) -> tuple[bytes, bytes]:
        fingerprints = self._plan.fingerprints
        return fingerprints.point(point), fingerprints.algorithm(point, algorithm)

    def _place(self, content: Content) -> str:
        """Return the generator and the swept parameters of a point."""
        params = content["params"]
        swept = {name: params[name] for name in self._plan.experiment.swept if name in params}
        return canonical_json([content["generator"], swept])

    def _novelty(self, point: int, algorithm: int) -> str:
        """Return why a replicate is computed that has no earlier one."""
        if self._counts[point, algorithm]:
            return "new trial"
        if not self._journal.fully_recorded:
            return _UNRECORDED
        if self._counts[point].any() and not self._counts[:, algorithm].any():
            return "new algorithm"
        return "new point"
