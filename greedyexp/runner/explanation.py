"""Explanations: which replicates a run would compute, why, and how long this would take."""

from __future__ import annotations

import importlib.util
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np

from greedyexp.config.patches import changes
from greedyexp.core import registry
from greedyexp.core.listing import listed
from greedyexp.core.plugins import load_plugins
from greedyexp.datasets.own import locate, relative_to
from greedyexp.experiment.model import Experiment
from greedyexp.losses import binding
from greedyexp.runner import code_version
from greedyexp.runner.fingerprint import RUNNER_MODULES, key_of
from greedyexp.runner.folder_status import checked_manifest, experiment_of, seconds_left
from greedyexp.runner.journal import Journal, Timing
from greedyexp.runner.manifest import changed_files, provenance, version_changes
from greedyexp.runner.plan import Plan
from greedyexp.runner.processes import usable_cores
from greedyexp.runner.seeds import canonical_json
from greedyexp.runner.state import JOURNAL, read_manifest, retry_if_replaced
from greedyexp.runner.work import DEFAULTS, RunOptions

# Pairs of earlier components that are tried for one algorithm at one point, the latest first.
_MOST_PAIRS = 50
_MOST_FILES = 4

_UNRECORDED = (
    "new, or changed since an earlier version of greedyexp, whose journal does not say what its"
    " replicates consist of"
)

Content = dict[str, Any]


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
        Without a journal: what differs from the run that wrote the manifest.
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
            plan.grow_fully(journal, retry_failed=options.retry_failed)
            return _Comparison(plan, journal).explanation(options)


def explain_folder(folder: Path, options: RunOptions = DEFAULTS) -> Explanation:
    """Explain what a run of the settings in a run folder would compute.

    Raises
    ------
    StorageError
        If a file of the folder is missing or unreadable, or the files are of different runs.
    ConfigError, DataError, PluginError
        If the experiment can no longer be loaded.
    """
    return retry_if_replaced(folder, lambda: _explain_folder(folder, options))


def _explain_folder(folder: Path, options: RunOptions) -> Explanation:
    checked_manifest(folder)
    if not (folder / JOURNAL).is_file():
        return explain(experiment_of(folder, None), folder, options)
    with Journal(folder, read_only=True) as journal:
        experiment = experiment_of(folder, journal.origin)
        return explain(experiment, folder, replace(options, shard=journal.shard))


def _without_journal(plan: Plan, folder: Path, options: RunOptions) -> Explanation:
    """Explain a run that computes everything; compare versions with the manifest, if any."""
    manifest = read_manifest(folder)
    if not manifest:
        return _explanation(plan, Counter({("nothing is computed yet",): len(plan)}), options)
    # Reads the data files.
    plan.fingerprints.components()
    versions = version_changes(manifest, provenance(folder, plan.experiment))
    files = changed_files(manifest, plan.files.checksums())
    done = int(manifest["replicates"]["done"])
    seconds = None
    if done:
        seconds = manifest["algorithm_seconds"] / done * len(plan) / _jobs(options)
    return _explanation(
        plan,
        Counter({("there is no journal of the earlier run",): len(plan)}),
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
        self._stored = journal.components()
        current = plan.fingerprints.components()
        # As they are read from a journal.
        self._current: dict[bytes, Content] = {
            component: json.loads(canonical_json(content)) for component, content in current.items()
        }
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
        everything = self._plan.replicates(point, algorithm)
        for old in self._pairs(point, algorithm) if left else ():
            keys = {key_of(*old, replicate): replicate for replicate in everything}
            timings = self._journal.timings(list(keys))
            for timing in timings.values():
                self._count(point, algorithm, timing)
            found = {keys[key] for key in timings} & left
            if found:
                left -= found
                yield self._reasons(point, algorithm, old), len(found)
            if not left:
                return

    def _pairs(self, point: int, algorithm: int) -> Iterator[tuple[bytes, bytes]]:
        """Yield earlier pairs of components, those with one change before those with two."""
        here = self._components(point, algorithm)
        new_point, new_algorithm = (self._current[component] for component in here)
        points = [here[0], *self._points[self._place(new_point)]]
        algorithms = [here[1], *self._algorithms[new_algorithm["label"]]]
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

    def _reasons(self, point: int, algorithm: int, old: tuple[bytes, bytes]) -> tuple[str, ...]:
        """Return what changed since earlier components."""
        before = [self._stored.get(one) or self._current[one] for one in old]
        now = [self._current[component] for component in self._components(point, algorithm)]
        files = self._files(point, before[0]["files"], now[0]["files"])
        return (
            *changes(before[0], now[0], ("seed",)),
            *changes(before[0]["params"], now[0]["params"], _names(before[0], now[0]), "data."),
            *files,
            *_settings_changed(before[1], now[1]),
            *_versions_changed(before[1], now[1]),
            *self._code_changed(point, before[1], now[1]),
        )

    def _files(self, point: int, before: list[str], now: list[str]) -> list[str]:
        """Return which data files of a point changed."""
        source = self._plan.experiment.points[point]
        reads = registry.find("generator", source.generator).reads
        names = list(reads(**source.params)) if reads else []
        known = self._plan.files.names
        changed = [
            known[locate(name)]
            for index, name in enumerate(names)
            if index >= len(before) or before[index] != now[index]
        ]
        return [f"data file changed: {', '.join(changed)}"] if changed else []

    def _code_changed(self, point: int, before: Content, now: Content) -> list[str]:
        """Return which parts have other code, grouped by the files that changed."""
        generator = self._plan.experiment.points[point].generator
        old_files, new_files = (self._sources(content) for content in (before, now))
        edited = {name for name, code in new_files.items() if old_files.get(name) != code}
        parts: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
        for part, changed, known in self._parts(generator, before, now):
            if changed:
                parts[tuple(sorted(edited & known))].append(part)
        found = []
        for files, names in parts.items():
            which = f": {listed(files, _MOST_FILES)}" if files else ""
            found.append(f"code of {', '.join(names)}{which}")
        return found

    def _sources(self, content: Content) -> dict[str, str]:
        stored = bytes.fromhex(content["sources"])
        one = self._current.get(stored) or self._stored.get(stored) or {"files": {}}
        return dict(one["files"])

    def _parts(
        self, generator: str, before: Content, now: Content
    ) -> Iterator[tuple[str, bool, set[str]]]:
        """Yield each part with whether its code changed, and the names of its files."""
        named = [("generator", generator, "generator_code")]
        if before["algorithm"] == now["algorithm"]:
            named.append(("algorithm", now["algorithm"], "code"))
        if before["protocol"][0] == now["protocol"][0]:
            named.append(("protocol", now["protocol"][0], "protocol_code"))
        for kind, name, key in named:
            yield f"{kind} {name}", before[key] != now[key], self._files_of(kind, name)
        old_metrics = dict(before["metrics"])
        for name, code in now["metrics"]:
            if name in old_metrics:
                yield f"metric {name}", code != old_metrics[name], self._files_of("metric", name)
        losses = self._files_of_modules(binding.MODULES.values())
        yield "losses", before["loss_code"] != now["loss_code"], losses
        runner = self._files_of_modules(RUNNER_MODULES)
        yield "the runner", before["runner_code"] != now["runner_code"], runner

    def _files_of(self, kind: str, name: str) -> set[str]:
        path = code_version.source_of(registry.find(kind, name).function)
        return self._names_of([path] if path else [])

    def _files_of_modules(self, names: Iterable[str]) -> set[str]:
        specs = [importlib.util.find_spec(name) for name in names]
        return self._names_of(Path(spec.origin).resolve() for spec in specs if spec and spec.origin)

    def _names_of(self, paths: Iterable[Path]) -> set[str]:
        """Return the names of files and of all that they import."""
        known = self._plan.files.code
        return {
            source.name for path in paths for source in code_version.sources(path, known).values()
        }


def _names(before: Content, now: Content) -> list[str]:
    return list(dict.fromkeys([*before["params"], *now["params"]]))


def _settings_changed(before: Content, now: Content) -> list[str]:
    """Return the changed settings of an algorithm, the protocol and the metrics."""
    place = f"algorithms.{now['label']}"
    found = []
    if before["algorithm"] != now["algorithm"]:
        found.append(f"{place}: {before['algorithm']} -> {now['algorithm']}")
    else:
        found += changes(before["params"], now["params"], _names(before, now), f"{place}.")
        found += changes(before, now, ("tuning", "folds"), f"{place}.")
    (old, old_params), (new, new_params) = before["protocol"], now["protocol"]
    if old != new:
        found.append(f"protocol: {old} -> {new}")
    else:
        names = list(dict.fromkeys([*old_params, *new_params]))
        found += changes(old_params, new_params, names, "protocol.")
    old_metrics, new_metrics = (
        {"metrics": [name for name, _ in one["metrics"]]} for one in (before, now)
    )
    return [*found, *changes(old_metrics, new_metrics, ("metrics",))]


def _versions_changed(before: Content, now: Content) -> list[str]:
    """Return the changed versions of packages and of Python."""
    old, new = (
        {**one["libraries"], **one.get("packages", {}), "Python": one["python"]}
        for one in (before, now)
    )
    return [
        f"version of {name}: {old.get(name, 'none')} -> {new.get(name, 'none')}"
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name)
    ]
