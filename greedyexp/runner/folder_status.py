"""The progress of the run in a folder, found without changing the folder."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from greedyexp.core.errors import StorageError, UserError, placed_in
from greedyexp.runner.files import (
    LIBRARIES,
    NUMERICAL_LIBRARIES,
    content_digest,
    package_digest,
    write_text,
)
from greedyexp.runner.state import (
    CONFIG,
    FINISHED,
    JOURNAL,
    MANIFEST,
    PLUGINS,
    UNFINISHED,
    find,
    folders,
    read_config,
    read_manifest,
    read_state,
    retry_if_replaced,
    table_of,
)

if TYPE_CHECKING:
    import numpy as np

    from greedyexp.experiment.model import Experiment

# A file of the folder with a digest: everything was finished when these were the journal and code.
_COMPLETE = ".complete"


@dataclass(frozen=True)
class FolderStatus:
    """The progress of a run.

    Parameters
    ----------
    name, profile : str
    done : int
        Finished replicates, including failures; one replicate is one algorithm on one data set.
    failed : dict of str to int
        Failures by status, most frequent first.
    missing : int
    seconds_spent : float
        Time of the algorithms so far, summed over workers.
    seconds_left : float or None
        Estimated time of missing replicates with as many workers as the last run; None if no
        replicate is finished.
    bytes_on_disk : int
        Size of all files of the folder.
    unfinished : bool
        True if a run is in progress or was killed. The table, figures and verdicts of the folder
        are then those of the previous run.
    """

    name: str
    profile: str
    done: int
    failed: dict[str, int]
    missing: int
    seconds_spent: float
    seconds_left: float | None
    bytes_on_disk: int
    unfinished: bool = False


def folders_below(path: Path) -> list[Path]:
    """Return the folders at or below a path that ``status`` accepts, sorted.

    The folders include runs that were killed before they wrote their first table. The path itself
    is returned even if its settings are missing, since ``status`` then says so.

    Raises
    ------
    StorageError
        If there is none.
    """
    found = [folder for folder in folders(path) or [path] if _has_run(folder)]
    if not found:
        raise _no_run(path)
    return found


def _no_run(path: Path) -> StorageError:
    return StorageError(
        "there is no run here.", place=str(path), remedy="Create one with `greedyexp run`."
    )


def _has_run(folder: Path) -> bool:
    return (folder / JOURNAL).is_file() or find(folder, MANIFEST).is_file()


def status(folder: Path) -> FolderStatus:
    """Return the progress of the run in a folder.

    The progress is read from the journal, or from the manifest if there is no journal, as in a
    clone of a repository with results.

    Raises
    ------
    StorageError
        If the folder does not contain a run, has files of different runs, or has a damaged journal.
    ConfigError, PluginError
        If there is a journal but the experiment can no longer be loaded.
    """
    folder = Path(folder)
    return retry_if_replaced(folder, lambda: _status(folder))


def _status(folder: Path) -> FolderStatus:
    manifest = checked_manifest(folder)
    if (folder / JOURNAL).is_file() and not _known_complete(folder, manifest):
        try:
            return _from_journal(folder, manifest)
        except UserError as error:
            # A copy of a folder may lack plugins or data but have the manifest.
            damaged = isinstance(error, StorageError)
            if damaged or not manifest or (folder / UNFINISHED).exists():
                raise
    if not manifest:
        raise _no_run(folder)
    counts = manifest["replicates"]
    return FolderStatus(
        name=manifest["name"],
        profile=folder.resolve().name,
        done=counts["done"],
        failed=counts["failed"],
        missing=counts["missing"],
        seconds_spent=manifest["algorithm_seconds"],
        seconds_left=0.0 if not counts["missing"] else None,
        bytes_on_disk=_size(folder),
    )


def checked_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a run folder after checking that all files belong to one run.

    Returns
    -------
    dict
        Empty if no run has finished there.

    Raises
    ------
    StorageError
        If a file is missing or unreadable, or the files are of different runs.
    """
    manifest = read_manifest(folder)
    if manifest or table_of(folder):
        read_state(folder)
    return manifest


def installation() -> str:
    """Return a digest of the code, the numerical libraries and the version of Python."""
    from importlib.metadata import version

    versions = [f"{name} {version(name)}" for name in NUMERICAL_LIBRARIES]
    code = package_digest()
    return content_digest("\n".join([code, platform.python_version(), *versions]).encode())


def remember_complete(folder: Path, before: str) -> None:
    """Store that the journal and the manifest of a folder agree, so that ``status`` reads one file.

    Call it at the end of a run, while the folder is locked and the journal is closed.

    Parameters
    ----------
    folder : Path
    before : str
        ``installation()`` from before the run read any code, which may be edited meanwhile.
    """
    from importlib.metadata import entry_points

    (folder / _COMPLETE).unlink(missing_ok=True)
    # Installed plugins may have any code.
    digest = None if entry_points(group="greedyexp.plugins") else _complete_digest(folder, before)
    if digest:
        # Without the file, the journal is read.
        with suppress(StorageError):
            write_text(folder / _COMPLETE, digest)


def _known_complete(folder: Path, manifest: dict[str, Any]) -> bool:
    """Return True if the counts of the manifest are those that the journal would give."""
    try:
        known = (folder / _COMPLETE).read_text(encoding="utf-8")
        return not manifest["replicates"]["missing"] and known == _complete_digest(
            folder, installation()
        )
    except (OSError, ValueError, KeyError, TypeError, ImportError):
        return False


def _complete_digest(folder: Path, installed: str) -> str | None:
    """Return a digest of all that decides which replicates are finished; None if not known.

    Data files and plugins may be anywhere, packages of algorithms may have another version, and a
    log beside the journal may have further rows.
    """
    log = folder / f"{JOURNAL}-wal"
    uncertain = [(folder / name).exists() for name in (UNFINISHED, FINISHED, PLUGINS)]
    # Reading a journal leaves an empty log.
    uncertain += [log.exists() and log.stat().st_size > 0]
    manifest = read_manifest(folder)
    if any(uncertain) or manifest["data_files"] or manifest["packages"].keys() - set(LIBRARIES):
        return None
    total = hashlib.sha256(installed.encode())
    for name in (MANIFEST, CONFIG, JOURNAL):
        total.update(f"\n{(folder / name).stat().st_size}\n".encode())
        with (folder / name).open("rb") as stream:
            while block := stream.read(1 << 20):
                total.update(block)
    return total.hexdigest()


def _from_journal(folder: Path, manifest: dict[str, Any]) -> FolderStatus:
    # Imported here: a folder without a journal is read without them.
    import numpy as np

    from greedyexp.datasets.own import relative_to
    from greedyexp.runner.journal import Journal
    from greedyexp.runner.plan import Census, Plan

    unfinished = (folder / UNFINISHED / CONFIG).is_file()
    with Journal(folder, read_only=True) as journal:
        experiment = experiment_of(folder, journal.origin)
        with relative_to(experiment.folder):
            plan = Plan(experiment, shard=journal.shard)
            plan.grow_fully(journal)
            census = Census(len(plan))
            counts, seconds = np.zeros((2, *plan.wanted.shape))
            for slot, timing in plan.finished(journal.timings):
                census.count(timing)
                counts[slot.point, slot.algorithm] += 1
                seconds[slot.point, slot.algorithm] += timing.seconds
    jobs = manifest.get("jobs", 1)
    return FolderStatus(
        name=experiment.name,
        profile=folder.resolve().name,
        done=census.done,
        failed=census.failed,
        missing=census.missing,
        seconds_spent=census.seconds,
        seconds_left=seconds_left(plan.counts - counts, counts, seconds, jobs),
        bytes_on_disk=_size(folder),
        unfinished=unfinished,
    )


def seconds_left(
    missing: np.ndarray, counts: np.ndarray, seconds: np.ndarray, jobs: int
) -> float | None:
    """Estimate the time of the missing replicates; None if no replicate is finished.

    A point without finished replicates gets the mean time of its algorithm, and an algorithm
    without finished replicates gets the overall mean.

    Parameters
    ----------
    missing, counts : array (points, algorithms)
        Numbers of missing and of finished replicates.
    seconds : array (points, algorithms)
        Total time of the finished replicates.
    jobs : int
        Number of workers.
    """
    if not missing.any():
        return 0.0
    if not counts.any():
        return None
    overall = seconds.sum() / counts.sum()
    of_algorithm = _mean(seconds.sum(axis=0), counts.sum(axis=0), overall)
    each = _mean(seconds, counts, of_algorithm)
    return float((missing * each).sum() / jobs)


def _mean(total: np.ndarray, count: np.ndarray, otherwise: float | np.ndarray) -> np.ndarray:
    import numpy as np

    return np.where(count > 0, total / np.maximum(count, 1), otherwise)


def settings_of(folder: Path) -> tuple[Path, dict[str, Any]]:
    """Return the configuration file of the last run in a folder, finished or not, and its content.

    Raises
    ------
    StorageError
        If there is none, or it cannot be read.
    """
    from greedyexp.experiment.design import read_design

    unfinished = folder / UNFINISHED / CONFIG
    config = unfinished if unfinished.is_file() else find(folder, CONFIG)
    text = read_config(config)
    return config, dict(read_design(text, config, "").settings)


def experiment_of(folder: Path, origin: Path | None) -> Experiment:
    """Return the experiment of the last run in a folder, without claims, figures and tables.

    Parameters
    ----------
    folder : Path
    origin : Path or None
        Base folder of the paths of its data files, as in the journal.

    Raises
    ------
    StorageError
        If the settings cannot be read.
    ConfigError, PluginError
        If they can no longer be used.
    """
    config, settings = settings_of(folder)
    # While a state is replaced, its files are in two places.
    place = config.parent if config.parent.name == UNFINISHED else folder
    return _reloaded(settings, place, origin or folder)


def finished_experiment(folder: Path, settings: Mapping[str, Any]) -> Experiment:
    """Return the experiment of the settings in a run folder with a table; see ``experiment_of``.

    Relative paths of its data start from the folder of the experiment file if the run was made on
    this machine, and otherwise from the run folder, also if the journal cannot be read.
    """
    from greedyexp.runner.journal import Journal

    origin = None
    if (folder / JOURNAL).is_file():
        with suppress(StorageError), Journal(folder, read_only=True) as journal:
            origin = journal.origin
    return _reloaded(dict(settings), folder, origin or folder)


def _reloaded(settings: dict[str, Any], place: Path, origin: Path) -> Experiment:
    """Return the experiment of settings, with plugins in ``place`` and data in ``origin``."""
    from greedyexp import config as experiments

    if isinstance(settings.get("plugins"), list):
        found = [find(place, str(name)).resolve() for name in settings["plugins"]]
        settings["plugins"] = [str(path) for path in found]
    folder = place.parent if place.name == UNFINISHED else place
    start = origin if origin.is_dir() else folder.resolve()
    # The profile has already been applied to resolved settings, so any name is correct.
    with placed_in(find(place, CONFIG)):
        return experiments.reload(settings, profile=experiments.PROFILES[0], folder=start.resolve())


def _size(folder: Path) -> int:
    total = 0
    for place, _, files in os.walk(folder):
        for name in files:
            # A run may move its files meanwhile.
            with suppress(FileNotFoundError):
                total += os.stat(os.path.join(place, name)).st_size
    return total
