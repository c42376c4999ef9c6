"""The progress of the run in a folder, found without changing the folder."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from greedyexp.core.errors import StorageError, UserError
from greedyexp.core.run_files import CONFIG, FINISHED, JOURNAL, NEXT, PLUGINS, UNFINISHED
from greedyexp.runner.digests import LIBRARIES, file_digest, installation, rows_digest
from greedyexp.runner.run_contents import read_run
from greedyexp.runner.run_folder import RunFolder, folders, retried

if TYPE_CHECKING:
    import numpy as np


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
    found = [folder for folder in folders(path) or [path] if has_run(RunFolder(folder))]
    if not found:
        raise _no_run(path)
    return found


def _no_run(path: Path) -> StorageError:
    return StorageError(
        "there is no run here.", place=str(path), remedy="Create one with `greedyexp run`."
    )


def has_run(home: RunFolder) -> bool:
    """Return True for the folder of a run, finished or not."""
    return home.has_journal or home.has_manifest


@retried
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
    home = RunFolder(Path(folder))
    folder, manifest = home.path, checked_manifest(home)
    if home.has_journal and not _known_complete(folder, manifest):
        try:
            return _from_journal(home, manifest)
        except UserError as error:
            # A copy of a folder may lack plugins or data but have the manifest.
            damaged = isinstance(error, StorageError)
            if damaged or not manifest or home.unfinished:
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


def checked_manifest(home: RunFolder) -> dict[str, Any]:
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
    manifest = home.manifest()
    if manifest or home.table:
        read_run(home.path)
    return manifest


def _known_complete(folder: Path, manifest: dict[str, Any]) -> bool:
    """Return True if the journal would give the counts of the manifest: everything is finished.

    Data files and plugins may be anywhere, packages of algorithms may have another version, and a
    log beside the journal may have further rows.
    """
    log = folder / f"{JOURNAL}-wal"
    uncertain = [(folder / name).exists() for name in (NEXT, UNFINISHED, FINISHED, PLUGINS)]
    # Reading a journal leaves an empty log.
    uncertain += [log.exists() and log.stat().st_size > 0, bool(manifest.get("data_files"))]
    uncertain += [bool(manifest.get("packages", {}).keys() - set(LIBRARIES))]
    made_by = manifest.get("installation")
    if any(uncertain) or not made_by or manifest["replicates"]["missing"]:
        return False
    # An edited file may be one that can no longer be read.
    if manifest.get("config") != file_digest(folder / CONFIG) or made_by != installation():
        return False
    # No other file is needed beside the journal, and none is left there.
    address = f"{(folder / JOURNAL).resolve().as_uri()}?mode=ro&immutable=1"
    with suppress(sqlite3.Error), closing(sqlite3.connect(address, uri=True)) as journal:
        return rows_digest(journal) == manifest.get("journal")
    return False


def _from_journal(home: RunFolder, manifest: dict[str, Any]) -> FolderStatus:
    # Imported here: a folder without a journal is read without them.
    import numpy as np

    from greedyexp.algorithms.peers.estimator import only_reading
    from greedyexp.datasets.own import relative_to
    from greedyexp.runner.journal import Journal
    from greedyexp.runner.plan import Census, Plan

    folder = home.path
    with only_reading(), Journal(folder, read_only=True) as journal:
        experiment = home.last_experiment(journal.origin)
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
        unfinished=home.unfinished is not None,
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


def _size(folder: Path) -> int:
    total = 0
    for place, _, files in os.walk(folder):
        for name in files:
            # A run may move its files meanwhile.
            with suppress(FileNotFoundError):
                total += os.stat(os.path.join(place, name)).st_size
    return total
