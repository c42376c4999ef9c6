"""How far the run of a folder has come, without touching it."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from greedyexp import config as experiments
from greedyexp.core.errors import StorageError, UserError
from greedyexp.datasets.own import relative_to
from greedyexp.runner import journal as journals
from greedyexp.runner.digests import parsed_settings
from greedyexp.runner.journal import Journal
from greedyexp.runner.plan import Plan, Slot
from greedyexp.runner.state import (
    CONFIG,
    MANIFEST,
    UNFINISHED,
    find,
    folders,
    moment_of,
    read_state,
    refuse_replaced,
    retried,
    table_of,
)


@dataclass(frozen=True)
class FolderStatus:
    """How far a run has come.

    Parameters
    ----------
    name, profile : str
    done : int
        Finished replicates, failures included; one replicate is one algorithm on one data set.
    failed : dict of str to int
        Failures by status, most frequent first.
    missing : int
    seconds_spent : float
        Time of the algorithms so far, summed over workers.
    seconds_left : float or None
        Estimate for what is missing, with as many workers as the last run had; None when there is
        nothing to estimate from.
    bytes_on_disk : int
        Size of all files of the folder.
    unfinished : bool
        Whether the counts are those of a run that is going on or was killed. The table, figures
        and verdicts of the folder are then still those of the run before.
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
    """Folders at or below a path that ``status`` accepts, sorted.

    They include those of runs that were interrupted before their first table.
    """
    return [
        folder
        for folder in folders(path)
        if (folder / journals.NAME).is_file() or find(folder, MANIFEST).is_file()
    ]


def status(folder: Path) -> FolderStatus:
    """How far the run of a folder has come.

    The journal knows; where there is none, as in a fresh clone with committed results, the
    manifest does.

    Raises
    ------
    StorageError
        When the folder holds no run or files of different runs, or its journal is damaged.
    ConfigError, PluginError
        When there is a journal but the experiment can no longer be loaded.
    """
    return retried(lambda: _status(Path(folder)))


def _status(folder: Path) -> FolderStatus:
    before = moment_of(folder)
    made_with = _manifest(folder)
    if table_of(folder) is not None:
        read_state(folder)
    if (folder / journals.NAME).is_file():
        try:
            return _from_journal(folder, made_with)
        except UserError as error:
            refuse_replaced(folder, before)
            # A copy may lack plugins or data; the manifest that the run wrote at its end is there.
            lost = isinstance(error, StorageError)
            if lost or made_with is None or (folder / UNFINISHED).exists():
                raise
    if made_with is None:
        raise StorageError(
            "there is no run here.", place=str(folder), remedy="`greedyexp run` makes one."
        )
    counts = made_with["replicates"]
    return FolderStatus(
        name=made_with["name"],
        profile=folder.resolve().name,
        done=counts["done"],
        failed=counts["failed"],
        missing=counts["missing"],
        seconds_spent=made_with["algorithm_seconds"],
        seconds_left=0.0 if not counts["missing"] else None,
        bytes_on_disk=_size(folder),
    )


def _from_journal(folder: Path, made_with: dict | None) -> FolderStatus:
    unfinished = (folder / UNFINISHED / CONFIG).is_file()
    with Journal(folder, read_only=True) as journal:
        home = folder / UNFINISHED if unfinished else find(folder, CONFIG).parent
        experiment = _experiment(folder, home, journal.origin)
        with relative_to(experiment.folder):
            plan = Plan(experiment)
            plan.settle(journal)
            tally = _Tally(plan.wanted)
            census = plan.census(journal, tally.add)
    jobs = made_with["jobs"] if made_with else 1
    return FolderStatus(
        name=experiment.name,
        profile=folder.resolve().name,
        done=census.done,
        failed=census.failed,
        missing=census.missing,
        seconds_spent=census.seconds,
        seconds_left=tally.seconds_left(jobs),
        bytes_on_disk=_size(folder),
        unfinished=unfinished,
    )


class _Tally:
    """Mean times by sweep point and algorithm, to tell how long the missing replicates take."""

    def __init__(self, wanted: np.ndarray):
        self._wanted = wanted
        self._counts = np.zeros(wanted.shape)
        self._seconds = np.zeros(wanted.shape)

    def add(self, slot: Slot, seconds: float) -> None:
        self._counts[slot.point, slot.algorithm] += 1
        self._seconds[slot.point, slot.algorithm] += seconds

    def seconds_left(self, jobs: int) -> float | None:
        """Estimate with that many workers; None when nothing is finished yet.

        A pair without a finished replicate is reckoned at its algorithm's mean, an algorithm
        without one at the mean of all.
        """
        missing = self._wanted - self._counts
        if not missing.any():
            return 0.0
        if not self._counts.any():
            return None
        overall = self._seconds.sum() / self._counts.sum()
        of_algorithm = _mean(self._seconds.sum(axis=0), self._counts.sum(axis=0), overall)
        each = _mean(self._seconds, self._counts, of_algorithm)
        return float((missing * each).sum() / jobs)


def _mean(total: np.ndarray, count: np.ndarray, otherwise) -> np.ndarray:
    return np.where(count > 0, total / np.maximum(count, 1), otherwise)


def _experiment(folder: Path, home: Path, origin: Path | None):
    """The experiment of the settings in ``home``, its data files looked for where the run did."""
    config = home / CONFIG
    try:
        settings = parsed_settings(config.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StorageError(
            f"the config of this run cannot be read: {error}.", place=str(config)
        ) from error
    if settings is None:
        raise StorageError("this is not the configuration of a run.", place=str(config))
    if isinstance(settings.get("plugins"), list):
        # While a state is moved in, its files are in two places.
        place = home if home.name == UNFINISHED else folder
        found = [find(place, str(name)).resolve() for name in settings["plugins"]]
        settings["plugins"] = [str(path) for path in found]
    beside = origin if origin is not None and origin.is_dir() else folder.resolve()
    # The profile has been applied to resolved settings already, so any name will do.
    return experiments.reload(settings, profile=experiments.PROFILES[0], beside=beside)


def _manifest(folder: Path) -> dict | None:
    path = find(folder, MANIFEST)
    if not path.is_file():
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StorageError(f"the manifest cannot be read: {error}.", place=str(path)) from error


def _size(folder: Path) -> int:
    total = 0
    for place, _, files in os.walk(folder):
        for name in files:
            # A run may be moving its files.
            with suppress(FileNotFoundError):
                total += os.stat(os.path.join(place, name)).st_size
    return total
