"""A run folder: the names of its files, its locks, and the state that its readers see.

A state in ``.next/`` is that of the folder once it has a manifest. A reader prefers its files, so
it sees either the old state or the new one whenever a run is killed (``next_state``).
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import wraps
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from greedyexp.core.errors import StorageError, UserError, placed_in
from greedyexp.core.files import folder_lock, read_bytes, reason, refuse_link
from greedyexp.core.run_files import (
    CLAIMS,
    CONFIG,
    FINISHED,
    JOURNAL,
    MANIFEST,
    NEXT,
    OUTPUTS,
    PLUGINS,
    SUFFIXES,
    SWITCH,
    TIMINGS,
    UNFINISHED,
)
from greedyexp.core.stored import RESTORE, load_json
from greedyexp.core.trust import plugin_files
from greedyexp.experiment.messages import SLUG
from greedyexp.experiment.parameters import refuse_other
from greedyexp.runner.digests import parsed_settings
from greedyexp.runner.manifest_content import ManifestContent
from greedyexp.runner.own_files import OwnFiles

if TYPE_CHECKING:
    from greedyexp.experiment.model import Experiment

RERUN_REMEDY = "Run the experiment again; finished replicates are not recomputed."

# A reader that finds files of two states retries for this many seconds, since a run may be
# replacing one state with the other.
_PATIENCE = 1.0
_PAUSE = 0.05
_ATTEMPTS = 5

# Files and folders of a run folder that are read by name.
_NEXT = (NEXT, UNFINISHED, FINISHED)
_READ = (CONFIG, MANIFEST, CLAIMS, TIMINGS, f"{TIMINGS}.gz", PLUGINS, JOURNAL, *_NEXT)


Given = ParamSpec("Given")
Result = TypeVar("Result")


class Replaced(StorageError):
    """A run has replaced the state of the folder while the old one was in use."""


class MixedRuns(StorageError):
    """The folder contains files of different runs."""


@dataclass(frozen=True)
class RunFolder:
    """A folder with the results of an experiment: its files, and the state that readers find.

    Parameters
    ----------
    path : Path
    """

    path: Path

    @property
    def committed(self) -> Path | None:
        """The folder with the state that is replacing the one of the run folder, if there is one.

        Its manifest is the first file that is there for all readers, and the last that is moved.
        """
        homes = (self.path / NEXT, self.path / FINISHED)
        return next((home for home in homes if (home / MANIFEST).is_file()), None)

    @property
    def unfinished(self) -> Path | None:
        """The folder with the settings of a run under way or killed; None if there is none."""
        homes = (self.path / NEXT, self.path / UNFINISHED)
        kept = (home for home in homes if (home / CONFIG).is_file() and home != self.committed)
        return next(kept, None)

    def find(self, name: str) -> Path:
        """Return the path of a file of the current state, whether it exists or not."""
        home = self.committed
        return home / name if home and (home / name).exists() else self.path / name

    @property
    def table(self) -> Path | None:
        """The table of the current state, compressed or not; None if there is none."""
        return self._found(table_in)

    @property
    def timings(self) -> Path | None:
        """The seconds of the current state, compressed or not; None if there are none."""
        return self._found(timings_in)

    def _found(self, look: Callable[[Path], Path | None]) -> Path | None:
        home = self.committed
        return (look(home) if home else None) or look(self.path)

    @property
    def has_journal(self) -> bool:
        return (self.path / JOURNAL).is_file()

    @property
    def has_manifest(self) -> bool:
        return self.find(MANIFEST).is_file()

    @property
    def has_settings(self) -> bool:
        return self.find(CONFIG).is_file()

    @property
    def code(self) -> Path:
        """The folder with ``plugins/`` of the current state."""
        return self.find(PLUGINS).parent

    def manifest(self) -> dict[str, Any]:
        """Return the manifest of a run folder; empty if there is none.

        Raises
        ------
        StorageError
            If the file cannot be read or is not the manifest of a run.
        """
        path = self.find(MANIFEST)
        try:
            content: dict[str, Any] = load_json(read_bytes(path, self.path))
            refuse_other(ManifestContent, content)
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (OSError, ValueError) as error:
            raise StorageError(
                f"the manifest cannot be read ({reason(error)}).",
                place=str(path),
                remedy=RERUN_REMEDY,
            ) from None
        return content

    def config(self, home: Path | None = None) -> str:
        """Return the text of ``config.yaml`` in a folder of a state, or else of the current one.

        Raises
        ------
        StorageError
            If the file is missing or cannot be read as text.
        """
        path = home / CONFIG if home else self.find(CONFIG)
        try:
            return read_bytes(path, self.path).decode("utf-8")
        except (OSError, ValueError) as error:
            raise StorageError(
                f"not a readable configuration ({reason(error)}).",
                place=str(path),
                remedy=RESTORE,
            ) from error

    def refuse_links(self) -> None:
        """Raise ``StorageError`` if something that is read in a run folder is a symbolic link."""
        nexts = [self.path / name for name in _NEXT]
        tables = [table_in(home) for home in (self.path, *nexts)]
        for path in (*(self.path / name for name in _READ), *filter(None, tables)):
            refuse_link(path, self.path)
        for home in (self.path / PLUGINS, *nexts):
            for place, *names in os.walk(home):
                for name in chain(*names):
                    refuse_link(Path(place, name), self.path)

    def snapshot(self) -> tuple[object, ...]:
        """Return values that change when a run replaces the state of a folder."""
        try:
            manifest = read_bytes(self.find(MANIFEST), self.path)
        except (OSError, ValueError, StorageError):
            manifest = None
        return manifest, *((self.path / name).exists() for name in _NEXT)

    def outputs(self, names: Iterable[str], copies: Iterable[str] = ()) -> OwnFiles:
        """Return the figures, tables, verdicts and copies of plugins.

        Parameters
        ----------
        names : iterable of str
            Outputs of the settings, such as ``figures/comparison`` or ``claims.json``.
        copies : iterable of str
            Copies of plugins, such as ``plugins/mine.py``.
        """
        suffixes = {name: SUFFIXES.get(name.partition("/")[0], ()) for name in names}
        adopted = {
            name: [f"{name}.{suffix}" for suffix in found] or [name]
            for name, found in suffixes.items()
        }
        adopted[PLUGINS] = list(copies)
        # A folder without a manifest has no outputs of a run.
        return OwnFiles(self.path, OUTPUTS, adopted if self.has_manifest else None)

    def last_settings(self) -> tuple[Path, dict[str, Any]]:
        """Return the configuration file of the last run, finished or not, and its content.

        Raises
        ------
        StorageError
            If there is none, or it cannot be read.
        """
        from greedyexp.experiment.design import read_design

        home = self.unfinished
        place = home / CONFIG if home else self.find(CONFIG)
        return place, dict(read_design(self.config(home), place, "").settings)

    def last_experiment(self, origin: Path | None) -> Experiment:
        """Return the experiment of the last run, without claims, figures and tables.

        Parameters
        ----------
        origin : Path or None
            Base folder of the paths of its data files, as in the journal.

        Raises
        ------
        StorageError
            If the settings cannot be read.
        ConfigError, PluginError
            If they can no longer be used.
        """
        place, settings = self.last_settings()
        return self.experiment(settings, origin, place, self.unfinished or self.code)

    def experiment(
        self, settings: Mapping[str, Any], origin: Path | None, place: Path, code: Path
    ) -> Experiment:
        """Return the experiment of settings in ``place``, with its plugins below ``code``."""
        from greedyexp import config as experiments

        settings = dict(settings)
        if settings.get("plugins"):
            settings["plugins"] = [*map(str, plugin_files(code, settings["plugins"], self.path))]
        start = origin if origin and origin.is_dir() else self.path
        # The profile has already been applied to resolved settings, so any name is correct.
        with placed_in(place):
            return experiments.reload(
                settings, profile=experiments.PROFILES[0], folder=start.resolve()
            )

    def state_lock(self) -> AbstractContextManager[None]:
        """Keep the state of the folder inside a ``with`` block, while it or its outputs change."""
        return folder_lock(self.path, name=SWITCH, wait=True)


def retried(
    read: Callable[Concatenate[Path, Given], Result],
) -> Callable[Concatenate[Path, Given], Result]:
    """Let a function of a run folder start again if a run replaces the state meanwhile.

    It raises the error of the last attempt, if the state has not changed or is replaced repeatedly.
    """

    @wraps(read)
    def repeated(folder: Path, *args: Given.args, **options: Given.kwargs) -> Result:
        home, attempts, deadline = RunFolder(Path(folder)), 0, time.monotonic() + _PATIENCE
        while True:
            attempts, before = attempts + 1, home.snapshot()
            try:
                return read(folder, *args, **options)
            except UserError as error:
                replaced = isinstance(error, (Replaced, MixedRuns)) or home.snapshot() != before
                transient = replaced or home.committed
                if not transient or (attempts >= _ATTEMPTS and time.monotonic() > deadline):
                    raise
            time.sleep(_PAUSE)

    return repeated


def folders(path: Path) -> list[Path]:
    """Return all run folders at or below a path, sorted; their runs may be unfinished."""
    # os.walk ignores folders that a run removes meanwhile.
    places = (Path(place) for place, _, files in os.walk(path) if CONFIG in files)
    return sorted({place.parent if place.name in _NEXT else place for place in places})


def table_in(folder: Path) -> Path | None:
    """Return the table directly in a folder, compressed or not; None if there is none.

    It is named after the experiment. Other CSV files are the user's.
    """
    tables = (_one_of(folder, f"{name}.csv") for name in _experiment_names(folder))
    return next(filter(None, tables), None)


def timings_in(folder: Path) -> Path | None:
    """Return the file of seconds directly in a folder, compressed or not; None if there is none."""
    return _one_of(folder, TIMINGS)


def _one_of(folder: Path, name: str) -> Path | None:
    paths = (folder / name, folder / f"{name}.gz")
    return next((path for path in paths if path.is_file()), None)


def _experiment_names(folder: Path) -> Iterator[str]:
    """Yield the name of the experiment in the manifest, then that in the settings."""
    for name, parsed in ((MANIFEST, load_json), (CONFIG, parsed_settings)):
        with suppress(OSError, ValueError, StorageError):
            content = parsed(read_bytes(folder / name, folder).decode("utf-8"))
            known = content.get("name") if isinstance(content, dict) else None
            if isinstance(known, str) and re.match(SLUG, known):
                yield known
