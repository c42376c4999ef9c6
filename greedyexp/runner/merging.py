"""Merging: the journals of several run folders become one, and its tables those of one run."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from greedyexp.config.run_names import changes
from greedyexp.core.errors import StorageError
from greedyexp.core.files import folder_lock, make_folder
from greedyexp.core.run_files import JOURNAL
from greedyexp.core.stored import RESTORE
from greedyexp.datasets.own import relative_to
from greedyexp.experiment.messages import show
from greedyexp.protocols.base import Status
from greedyexp.runner.code_version import plugin_sources
from greedyexp.runner.digests import ROW_SETTINGS, installation, settings_digest
from greedyexp.runner.engine import SerialEngine
from greedyexp.runner.journal import Journal, JournalEntry
from greedyexp.runner.manifest import Manifest, merged_runs, provenance, version_changes
from greedyexp.runner.next_state import next_state, refuse_other_files
from greedyexp.runner.plan import Plan
from greedyexp.runner.run_folder import RunFolder
from greedyexp.runner.shards import Shard

# These depend on the machine: on its speed, its memory and its disk.
_WITHOUT_RESULT = (Status.ERROR, Status.TIMEOUT)


@dataclass(frozen=True)
class Merged:
    """The result of merging.

    Parameters
    ----------
    name, profile : str
    folders : int
        Number of folders that were read.
    total, done, failed : int
        Replicates of the experiment, finished ones with any status, and failures.
    added : int
        Replicates that the journal did not have before.
    incomplete : tuple of Shard
        The shards that lack replicates, if the folders are shards of one number.
    claims : bool
        True if the experiment makes claims.
    wall_seconds : float
    csv : Path
        The tidy table.
    """

    name: str
    profile: str
    folders: int
    total: int
    done: int
    failed: int
    added: int
    incomplete: tuple[Shard, ...]
    claims: bool
    wall_seconds: float
    csv: Path

    @property
    def missing(self) -> int:
        return self.total - self.done


class _NothingComputed(SerialEngine):
    """The engine that the manifest names, since merging computes nothing."""

    name = "merge"


@dataclass(frozen=True)
class _Source:
    """A run folder with a journal."""

    folder: Path
    config: Path
    settings: dict[str, Any]
    manifest: dict[str, Any]
    profile: str | None
    shard: Shard

    @classmethod
    def read(cls, folder: Path) -> _Source:
        home = RunFolder(folder)
        if not home.has_journal:
            raise StorageError(
                "there is no journal here, so its replicates cannot be merged.",
                place=str(folder),
                remedy=f"Give run folders with their {JOURNAL}.",
            )
        config, settings = home.last_settings()
        # Until a run is finished, the manifest is that of the run before.
        manifest = {} if config.parent == home.unfinished else home.manifest()
        known = manifest.get("digests", {}).get("settings")
        if known and known != settings_digest(config.read_text(encoding="utf-8")):
            raise StorageError(
                "these are not the settings of the run: the file has been changed since.",
                place=str(config),
                remedy=RESTORE,
            )
        with Journal(folder, read_only=True) as journal:
            profile = journal.profile or manifest.get("profile")
            return cls(folder, config, settings, manifest, profile, journal.shard)


def merge(folders: Sequence[Path], into: Path) -> Merged:
    """Unite the journals of run folders, then write the tables that one run would have written.

    All replicates of the journals are copied, or none after an error. Two results of one replicate
    must be equal except for their times; the first times are kept. A replicate that ended with an
    error or at a time limit has no result: one with a result replaces it, and of two without, the
    first stays. Settings that change no row, such as figures, are those of the first folder.

    Parameters
    ----------
    folders : sequence of Path
        Run folders of one experiment and profile, such as those of its shards. Nothing is written
        there.
    into : Path
        The run folder to write; created if it does not exist. It may have replicates of this
        experiment, also of fewer trials.

    Raises
    ------
    StorageError
        If folders are of different experiments, profiles or versions of the code, have two
        different results of one replicate, or cannot be read or written; or if ``into`` is inside
        one of them, has files of the user in the places of those of a run, or is a run folder
        without its journal.
    ConfigError, DataError, PluginError
        If the experiment can no longer be loaded.
    """
    start, installed = time.monotonic(), installation()
    into = Path(into)
    distinct = {folder.resolve(): folder for folder in map(Path, folders)}
    for resolved, folder in distinct.items():
        if resolved in into.resolve().parents:
            raise StorageError(
                f"this folder would be inside the run folder {folder}.",
                place=str(into),
                remedy="Merge into a folder of its own.",
            )
    _refuse_without_journal(into)
    sources = [_Source.read(folder) for folder in distinct.values()]
    _refuse_other_experiments(sources, into)
    first = sources[0]
    with Journal(first.folder, read_only=True) as journal:
        experiment = RunFolder(first.folder).last_experiment(journal.origin)
    profile = next((one.profile for one in sources if one.profile), into.resolve().name)
    experiment = replace(experiment, profile=profile)
    config_text = first.config.read_text(encoding="utf-8")
    plugins = plugin_sources(experiment.plugins)
    with relative_to(experiment.folder):
        plan = Plan(experiment)
        for source in sources:
            _refuse_other_code(source, plan)
        runs = _runs([*distinct.values()], into)
        make_folder(into)
        plugins.remember(into)
        with folder_lock(into):
            refuse_other_files(into, experiment.name)
            with Journal(into) as journal:
                added = _unite(sources, journal, plan)
                with next_state(into, config_text, plugins.files) as home:
                    manifest = Manifest(plan, journal, _NothingComputed(), installed, merged=runs)
                    plan.grow_fully(journal)
                    census = plan.census(journal)
                    table = manifest.finish(home, census)
                incomplete = _incomplete(sources, plan, journal) if census.missing else ()
    return Merged(
        name=experiment.name,
        profile=profile,
        folders=len(sources),
        total=census.total,
        done=census.done,
        failed=sum(census.failed.values()),
        added=added,
        incomplete=incomplete,
        claims=bool(first.settings.get("claims")),
        wall_seconds=time.monotonic() - start,
        csv=into / table.name,
    )


def _refuse_without_journal(into: Path) -> None:
    """Raise ``StorageError`` if a merge would replace the replicates of a run and not keep them."""
    home = RunFolder(into)
    if home.has_manifest and not home.has_journal:
        raise StorageError(
            f"this run folder has no {JOURNAL}, so its replicates would be lost.",
            place=str(into),
            remedy="Merge into a new folder.",
        )


def _refuse_other_experiments(sources: Sequence[_Source], into: Path) -> None:
    """Raise ``StorageError`` unless all folders, with the target, are of one experiment."""
    first = sources[0]
    others = list(sources[1:])
    home = RunFolder(into)
    if home.has_journal and home.has_settings:
        others.append(_Source.read(into))
    for other in others:
        differing = changes(first.settings, other.settings, ("name", *ROW_SETTINGS))
        if other.folder == into and _fewer_trials(other.settings, first.settings):
            differing = [one for one in differing if not one.startswith("trials: ")]
        if first.profile and other.profile and first.profile != other.profile:
            differing.append(f"profile: {first.profile} -> {other.profile}")
        if differing:
            raise StorageError(
                f"this run has other settings than {first.folder} ({'; '.join(differing)}).",
                place=str(other.folder),
                remedy="Merge runs of one experiment and profile only.",
            )


def _fewer_trials(old: dict[str, Any], new: dict[str, Any]) -> bool:
    before, now = old.get("trials"), new.get("trials")
    return isinstance(before, int) and isinstance(now, int) and before < now


def _refuse_other_code(source: _Source, plan: Plan) -> None:
    """Raise ``StorageError`` if the code here would give replicates of a folder other keys."""
    own = Plan(plan.experiment, plan.files, source.shard)
    with Journal(source.folder, read_only=True) as journal:
        own.grow_fully(journal)
        found = own.census(journal).done
    known = source.manifest.get("replicates", {}).get("done", 0)
    if found >= known:
        return
    differing = version_changes(source.manifest, provenance(source.folder, plan.experiment))
    unknown = "the code of a part, a plugin, a data file or an environment variable"
    what = "; ".join(differing) or unknown
    raise StorageError(
        f"{known - found} of its {known} replicates were computed by other code or from other data"
        f" than are here ({what}).",
        place=str(source.folder),
        remedy="Merge where the same versions are installed, or run it again.",
    )


def _runs(folders: Iterable[Path], into: Path) -> list[dict[str, Any]]:
    """Return what the manifests say of the runs behind these folders, without repetition."""
    known: list[dict[str, Any]] = []
    for folder in (into, *folders):
        known += [run for run in merged_runs(folder) if run not in known]
    return known


def _unite(sources: Sequence[_Source], journal: Journal, plan: Plan) -> int:
    """Copy all replicates of the sources, or none after an error; return the number added."""
    added = 0
    with journal.transaction():
        for source in sources:
            if source.folder.resolve() == journal.path.parent.resolve():
                continue
            with Journal(source.folder, read_only=True) as theirs:
                journal.remember_components(theirs.components())
                if not theirs.fully_recorded:
                    journal.mark_unrecorded()
                for entries in theirs.everything():
                    mine = journal.entries([entry.key for entry in entries])
                    for entry in entries:
                        if entry.key in mine and _differ(entry, mine[entry.key]):
                            raise _difference(mine[entry.key], entry, source, plan)
                    journal.add(one for one in entries if _wins(one, mine.get(one.key)))
                    added += len(entries) - len(mine)
    return added


def _wins(entry: JournalEntry, known: JournalEntry | None) -> bool:
    """Return True if an entry is new, or has the result that the known one lacks."""
    return known is None or (_has_result(entry) and not _has_result(known))


def _differ(entry: JournalEntry, known: JournalEntry) -> bool:
    """Return True for two different results; times are no results."""
    return _has_result(entry) and _has_result(known) and _content(entry) != _content(known)


def _has_result(entry: JournalEntry) -> bool:
    return entry.outcome.status not in _WITHOUT_RESULT


def _content(entry: JournalEntry) -> str:
    # As text, so that two values that are not numbers are equal.
    outcome = entry.outcome
    return json.dumps([outcome.status.value, outcome.message, entry.facts, outcome.rows])


def _difference(known: JournalEntry, entry: JournalEntry, source: _Source, plan: Plan) -> Exception:
    """Return the error for two different results of one replicate, with both."""
    where = "a replicate of earlier settings"
    for slot, _ in plan.finished(lambda keys: {entry.key: True} if entry.key in keys else {}):
        point = plan.experiment.points[slot.point].cells
        values = ", ".join(f"{name} = {show(value)}" for name, value in point.items())
        label = plan.experiment.algorithms[slot.algorithm].label
        where = f"algorithm {label}, replicate {slot.replicate}, {values}"
    one, other = _shown(known, entry)
    return StorageError(
        f"two results of one replicate differ ({where}): {one} in folders merged before, {other} in"
        " this one.",
        place=str(source.folder),
        remedy="Nothing was merged. Compute one of them again with --force, or leave a folder out.",
    )


def _shown(known: JournalEntry, entry: JournalEntry) -> list[str]:
    """Return two texts with the cells of the first different row that differ."""
    nothing: dict[str, Any] = {}
    rows = (one.outcome.rows or [nothing] for one in (known, entry))
    pairs = (
        [
            {"status": one.outcome.status.value, "message": one.outcome.message, **one.facts, **row}
            for one, row in zip((known, entry), pair, strict=True)
        ]
        for pair in zip_longest(*rows, fillvalue=nothing)
    )
    pair = next(two for two in pairs if json.dumps(two[0]) != json.dumps(two[1]))
    names = dict.fromkeys(name for cells in pair for name in cells)
    apart = [name for name in names if len({json.dumps(cells.get(name)) for cells in pair}) > 1]
    return [", ".join(f"{name} = {show(cells.get(name))}" for name in apart) for cells in pair]


def _incomplete(sources: Sequence[_Source], plan: Plan, journal: Journal) -> tuple[Shard, ...]:
    """Return the shards that lack replicates, if all sources are shards of one number."""
    numbers = {source.shard.of for source in sources}
    if numbers == {1} or len(numbers) > 1:
        return ()
    (of,) = numbers
    points = plan.experiment.points
    firsts = [Shard(1, of).first(plan.experiment.seed, point) for point in points]
    # The first replicate of the next shard follows that of the first shard.
    missing = {(item.replicate - firsts[item.point]) % of + 1 for item in plan.missing(journal)}
    return tuple(Shard(number, of) for number in sorted(missing))
