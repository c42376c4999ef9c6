"""One state of a run folder: its settings, its manifest and its table.

The manifest contains digests of the settings and the tables, which reveal files of different runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from greedyexp.core.errors import StorageError
from greedyexp.core.files import read_bytes, reason
from greedyexp.core.run_files import CONFIG, MANIFEST, TIMINGS
from greedyexp.core.stored import unzipped
from greedyexp.core.trust import CodeNotRun, plugin_files
from greedyexp.runner.digests import content_digest, file_digest, settings_digest
from greedyexp.runner.run_folder import RERUN_REMEDY, MixedRuns, Replaced, RunFolder

if TYPE_CHECKING:
    import pandas as pd

    from greedyexp.experiment.design import Design
    from greedyexp.experiment.model import Experiment
    from greedyexp.results.context import Context


@dataclass(frozen=True)
class Run:
    """One state of a run folder.

    Parameters
    ----------
    folder : Path
    config_text : str
        ``config.yaml``.
    table : Path
        Path of the table, for error messages.
    table_content : bytes
        The table, decompressed.
    timings : bytes or None
        ``timings.csv``, decompressed; None if there is none.
    manifest : dict
        ``manifest.json``, which differs for every state; empty if there is none.
    """

    folder: Path
    config_text: str
    table: Path
    table_content: bytes
    timings: bytes | None
    manifest: dict[str, Any]

    @property
    def home(self) -> RunFolder:
        """The run folder, which may have another state by now."""
        return RunFolder(self.folder)

    @cached_property
    def design(self) -> Design:
        """The settings of the run. The folder of merged runs may have any name."""
        from greedyexp.experiment.design import read_design

        # The name of a folder has the settings that were changed, too.
        name, known = self.folder.resolve().name, self.manifest.get("profile")
        profile = name if known is None or name.startswith(f"{known}+") else str(known)
        return read_design(self.config_text, self.folder / CONFIG, profile)

    @cached_property
    def _rows(self) -> tuple[pd.DataFrame, Context]:
        from greedyexp.runner.tables import rows_of

        self.load_plugins()
        # The plugins must belong to the same state.
        self.require_current()
        finished = int(self.manifest["replicates"]["done"]) if self.manifest else 0
        return rows_of(self.table, self.table_content, self.timings, self.design, finished)

    @property
    def frame(self) -> pd.DataFrame:
        """The tidy table, with the seconds of fits if the folder has them."""
        return self._rows[0]

    @property
    def context(self) -> Context:
        """Facts about the run for figures and tables."""
        return self._rows[1]

    def loaded(self) -> Run:
        """Return the run itself, after its table is parsed; see ``tables.rows_of``."""
        _ = self._rows
        return self

    def altered(self, frame: pd.DataFrame, context: Context | None = None) -> Run:
        """Return the run with other rows, and with another context if there is one."""
        other = copy(self)
        vars(other)["_rows"] = frame, context or self.context
        return other

    def load_plugins(self) -> None:
        """Load the plugins in the folder, which replace parts of the same names.

        Stand-ins take the places of their parts if the user has not agreed to run them.
        """
        from greedyexp.core.plugins import load_plugins
        from greedyexp.experiment.stored_parts import stand_ins

        try:
            files = plugin_files(self.home.code, self.design.plugins, self.folder)
        except CodeNotRun as why:
            place, parts = str(self.home.find(MANIFEST)), self.manifest.get("parts")
            load_plugins((), stand_ins=stand_ins(self.design, parts, why, place))
        else:
            load_plugins(files)

    def experiment(self) -> Experiment:
        """Return the experiment of the run.

        Relative paths of its data start from the folder of the experiment file if the run was made
        on this machine, and otherwise from the run folder, also if the journal cannot be read.
        """
        from greedyexp.runner.journal import Journal

        home, origin = self.home, None
        if home.has_journal:
            with suppress(StorageError), Journal(self.folder, read_only=True) as journal:
                origin = journal.origin
        return home.experiment(self.design.settings, origin, home.find(CONFIG), home.code)

    def require_current(self) -> None:
        """Raise ``Replaced`` if a run has replaced the state since it was read."""
        if self.home.manifest() != self.manifest:
            raise Replaced(
                "another run has replaced these results in the meantime.",
                place=str(self.folder),
                remedy="Run the command again.",
            )

    @cached_property
    def digests(self) -> dict[str, str]:
        """Digests of the settings and the table."""
        return {
            "settings": settings_digest(self.config_text),
            "table": content_digest(self.table_content),
        }

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Keep the state of the folder unchanged while a file derived from it is written there.

        Raises
        ------
        Replaced
            If a run has replaced the state since it was read.
        """
        with self.home.state_lock():
            self.require_current()
            yield


def read_run(folder: Path) -> Run:
    """Read files of a run folder that belong together. The caller is ``retried``.

    Raises
    ------
    StorageError
        If a file is missing or unreadable, or does not belong to the run that the manifest
        describes.
    """
    home = RunFolder(folder)
    home.refuse_links()
    manifest = home.manifest()
    config_text = home.config()
    table = home.table
    if table is None:
        raise StorageError("there is no table to read.", place=str(folder), remedy=RERUN_REMEDY)
    timings = home.timings
    seconds = _readable(timings, folder) if timings else None
    run = Run(folder, config_text, table, _readable(table, folder), seconds, manifest)
    run.require_current()
    _refuse_mixed_runs(run)
    return run


def digests_of(folder: Path) -> dict[str, str]:
    """Return digests of the settings and tables in a folder, for its manifest."""
    digests = {"settings": settings_digest((folder / CONFIG).read_text(encoding="utf-8"))}
    for path in folder.glob("*.csv*"):
        key = "timings" if path.name.startswith(TIMINGS) else "table"
        digests[key] = file_digest(path)
    return digests


def lacking(manifest: dict[str, Any]) -> str:
    """Return what is missing to check whether the files of a folder come from one run, or ''."""
    if not manifest:
        return MANIFEST
    return "" if isinstance(manifest.get("digests"), dict) else f"digests in its {MANIFEST}"


def unchecked(folder: Path, manifest: dict[str, Any]) -> str:
    """Return why it cannot be checked whether the files of a folder come from one run, or ''."""
    missing = lacking(manifest)
    why = "so it cannot be checked whether its files come from one run"
    return f"{folder} has no {missing}, {why}" if missing else ""


def _refuse_mixed_runs(run: Run) -> None:
    """Raise ``MixedRuns`` if the digests in the manifest, if any, do not match the files."""
    if lacking(run.manifest):
        return
    expected = run.manifest["digests"]
    files = {
        CONFIG: ("settings", run.digests["settings"]),
        run.table.name: ("table", run.digests["table"]),
    }
    if run.timings is not None:
        files[TIMINGS] = ("timings", content_digest(run.timings))
    # An unparsable configuration has no digest; the code that uses it reports the reason.
    foreign = [
        name for name, (key, digest) in files.items() if digest and expected.get(key) != digest
    ]
    if foreign:
        raise MixedRuns(
            "files of another run, or changed by an editor, do not belong to the run that"
            f" {MANIFEST} describes: {', '.join(foreign)}.",
            place=str(run.folder),
            remedy="Restore the files of one run, or run the experiment again.",
        )


def _readable(path: Path, folder: Path) -> bytes:
    try:
        content = read_bytes(path, folder)
        return unzipped(content) if path.suffix == ".gz" else content
    except (OSError, ValueError) as error:
        raise StorageError(
            f"the table cannot be read ({reason(error)}).", place=str(path), remedy=RERUN_REMEDY
        ) from error
