"""A run folder in Python and in notebooks: its rows, pictures, verdicts and settings."""

from __future__ import annotations

import base64
import html
import warnings
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from greedyexp.claims.report import COUNTS, NUMBERS, group_words
from greedyexp.core.errors import ConfigError, StorageError, UserError
from greedyexp.core.files import read_bytes
from greedyexp.core.trust import consent
from greedyexp.experiment.design import Design, by_stem
from greedyexp.report.draw import draw
from greedyexp.report.source import open_run
from greedyexp.report.verify import Verified, verified_source
from greedyexp.results.described import described_columns
from greedyexp.runner.run_contents import Run
from greedyexp.runner.tables import read_frame


def open(folder: str | PathLike[str], *, trust: bool = False) -> Results:
    """Open the results of a run; nothing is computed again.

    Parameters
    ----------
    folder : path
        A run folder, such as ``results/phase_transition/paper``.
    trust : bool
        Run the plugins in the folder, like ``--trust`` on the command line. Those that you have run
        yourself or agreed to with ``greedyexp trust`` run anyway. Without the others, their figures
        and tables are left out, with a warning.

    Returns
    -------
    Results

    Raises
    ------
    ConfigError
        If the folder is not given by its path.
    StorageError
        If the folder does not exist or is not a run folder, if its run has no table yet, or if its
        files are unreadable, damaged or of different runs.
    PluginError
        If a plugin in the folder cannot be imported.
    """
    if not isinstance(folder, (str, PathLike)):
        raise ConfigError(
            f"the folder of a run must be given by its path, but is a {type(folder).__name__}."
        )
    with consent(trust):
        return Results(open_run(Path(folder)), trust=trust)


class Results:
    """The results of one run, as they were when they were opened.

    Its representation is a summary; in notebooks it has the verdicts, too.

    Parameters
    ----------
    source : Run
        The contents of the run folder.
    trust : bool
        Run its plugins; see ``open``.
    """

    def __init__(self, source: Run, *, trust: bool = False):
        self._source, self._trust = source, trust

    @property
    def folder(self) -> Path:
        """The run folder."""
        return self._source.folder

    @cached_property
    def rows(self) -> pd.DataFrame:
        """The rows of the CSV, with ``fit_seconds`` if the protocol times fits.

        ``rows.attrs["columns"]`` describes the columns, see ``columns``.
        """
        source = self._source
        with consent(self._trust):
            source.load_plugins()
        return with_notes(source.frame.copy(), source.design, self.folder)

    @cached_property
    def columns(self) -> pd.DataFrame:
        """What the columns of ``rows`` mean, one row for each.

        ``kind`` is ``parameter`` of the data or of an algorithm, ``fact`` of the data, ``key``
        (tells rows apart), ``number``, ``success`` (0 or 1), ``text`` or ``seconds``. ``range`` is
        that of a parameter. ``rows`` says which rows have the column; empty for all. ``of`` is the
        part that it belongs to, which ``greedyexp show`` describes further.
        """
        notes = self.rows.attrs["columns"]
        return pd.DataFrame.from_dict(notes, orient="index").rename_axis("column")

    @property
    def figures(self) -> Pictures:
        """The figures by name; those that are missing are drawn first."""
        stems = {name: self.folder / "figures" / name for name in self._drawn("figure")}
        self._make([f"{stem}.png" for stem in stems.values()])
        return Pictures({n: stem for n, stem in stems.items() if Path(f"{stem}.png").is_file()})

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables by name; they are made first if they are missing."""
        files = {name: self.folder / "tables" / f"{name}.csv" for name in self._drawn("table")}
        self._make(files.values())
        return {name: read_frame(file) for name, file in files.items() if file.is_file()}

    @cached_property
    def claims(self) -> pd.DataFrame:
        """The verdicts, one row for each claim: those of ``greedyexp verify``.

        ``verdict`` is ``supported``, ``refuted`` or ``inconclusive``; ``reason`` says why. ``test``
        is what the experiment states, ``trials`` the fewest replicates of a point that it used.
        ``quote`` and ``place`` are those of the paper.
        """
        names = ("id", "verdict", "reason", "test", "trials", "quote", "place")
        rows = [[one[name] for name in names] for one in self._verified.contents["claims"]]
        frame = pd.DataFrame(rows, columns=list(names)).set_index("id")
        frame["test"] = ["; ".join(tests) for tests in frame["test"]]
        return frame.astype({"trials": "Int64"})

    @cached_property
    def comparisons(self) -> pd.DataFrame:
        """The comparisons behind the verdicts, one row for each: several for each claim.

        ``at`` names the setting. ``estimate`` is the quantity that the test compares with
        ``boundary``; of ``always`` it is the share of replicates that violate it. ``low`` and
        ``high`` are the ends of its interval at the level ``confidence``, corrected for the number
        of comparisons; so is the p-value ``p_adjusted``, but not ``p``. ``failed`` and
        ``unconverged`` count replicates, and ``needed_trials`` would decide an open comparison.
        Numbers are missing where there is nothing to compare.
        """
        rows = [
            [judged.claim.id, group_words(test.group), test.text, test.verdict.value]
            + [getattr(test, name) for name in (*NUMBERS, *COUNTS)]
            for judged in self._verified.judged
            for test in judged.tests
        ]
        names = ["id", "at", "test", "verdict", *NUMBERS, *COUNTS]
        types = dict.fromkeys(NUMBERS, "float") | dict.fromkeys(COUNTS, "Int64")
        return pd.DataFrame(rows, columns=names).astype(types).set_index("id")

    @property
    def config(self) -> dict[str, Any]:
        """The settings of the run, with the defaults filled in: ``config.yaml``."""
        return deepcopy(dict(self._source.design.settings))

    @property
    def manifest(self) -> dict[str, Any]:
        """Versions, machine, times and counts: ``manifest.json``; empty if there is none."""
        return deepcopy(self._source.manifest)

    def __repr__(self) -> str:
        return "\n".join(self._summary())

    def _repr_html_(self) -> str:
        head, *lines = self._summary()
        said = "<br>".join(html.escape(line.strip()) for line in lines)
        return f"<p><b>{html.escape(head)}</b><br>{said}</p>{self._verdicts_html()}"

    def _verdicts_html(self) -> str:
        if not self._claims:
            return ""
        try:
            rows = [["claim", "verdict", "reason"]]
            rows += self.claims[["verdict", "reason"]].reset_index().to_numpy().tolist()
        except UserError as error:
            return f"<p>{html.escape(str(error))}</p>"
        cells = "</tr><tr>".join(
            "".join(f'<td style="text-align: left">{html.escape(cell)}</td>' for cell in row)
            for row in rows
        )
        return f"<table><tr>{cells}</tr></table>"

    def _summary(self) -> list[str]:
        source, context = self._source, self._source.context
        # Numbers by status.
        failed = sum(self.manifest["replicates"]["failed"].values()) if self.manifest else 0
        facts = [
            f"{len(source.frame)} rows",
            f"{source.frame['algorithm'].nunique()} algorithms",
            *([f"{failed} replicates failed"] if failed else []),
            *([f"only {context.part}"] if context.part else []),
        ]
        named = {
            "folder": str(self.folder),
            "from": context.source,
            "figures": ", ".join(self._drawn("figure")),
            "tables": ", ".join(self._drawn("table")),
            "claims": ", ".join(self._claims),
        }
        lines = [f"  {name:8} {words}" for name, words in named.items() if words]
        return [f"{context.name} ({context.profile}): {', '.join(facts)}", *lines]

    def _drawn(self, kind: str) -> list[str]:
        """The names of the files of figures or tables; none for a run without rows."""
        return [] if self._source.frame.empty else list(by_stem(self._source.design.drawn(kind)))

    @property
    def _claims(self) -> list[str]:
        """The ids of the claims, which may have been edited since the run."""
        entries = self._source.design.settings.get("claims") or []
        return [str(one.get("id", "")) for one in entries if isinstance(one, dict)]

    @cached_property
    def _verified(self) -> Verified:
        with consent(self._trust):
            self._source.load_plugins()
        return verified_source(self._source)

    def _make(self, files: Iterable[str | Path]) -> None:
        """Draw figures and tables if a file is missing; warn of those whose code may not run.

        Raises
        ------
        StorageError
            If another run has replaced the results since they were opened.
        """
        try:
            self._source.require_current()
        except StorageError as error:
            error.remedy = "Open the folder again."
            raise
        if not all(Path(file).is_file() for file in files):
            told: list[str] = []
            with consent(self._trust):
                draw(self.folder, keep=True, tell=told.append)
            for text in told:
                warnings.warn(text, UserWarning, stacklevel=3)


def with_notes(frame: pd.DataFrame, design: Design, folder: Path) -> pd.DataFrame:
    """Add ``attrs`` to a table: ``columns``, see ``Results.columns``, and its ``folder``."""
    columns = described_columns(design, list(frame.columns))
    texts = {name: column.texts() for name, column in columns.items()}
    frame.attrs |= {"columns": texts, "folder": str(folder)}
    return frame


@dataclass(frozen=True)
class Picture:
    """One figure of a run, which notebooks show.

    Parameters
    ----------
    stem : Path
        Its files, without the suffix.
    """

    stem: Path

    @property
    def png(self) -> Path:
        return self.stem.with_name(f"{self.stem.name}.png")

    @property
    def pdf(self) -> Path:
        return self.stem.with_name(f"{self.stem.name}.pdf")

    def __fspath__(self) -> str:
        return str(self.png)

    def _repr_png_(self) -> bytes:
        return read_bytes(self.png, self.stem.parent.parent)


class Pictures(Mapping[str, Picture]):
    """The figures of a run by name, which notebooks show one below the other.

    Parameters
    ----------
    stems : mapping of str to Path
        Files of each figure, without the suffix.
    """

    def __init__(self, stems: Mapping[str, Path]):
        self._pictures = {name: Picture(stem) for name, stem in stems.items()}

    def __getitem__(self, name: str) -> Picture:
        return self._pictures[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._pictures)

    def __len__(self) -> int:
        return len(self._pictures)

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {one.png}" for name, one in self.items()) or "no figures"

    def _repr_html_(self) -> str:
        pictures = [
            f'<p>{html.escape(name)}</p><img style="max-width: 100%" alt="{html.escape(name)}"'
            f' src="data:image/png;base64,{base64.b64encode(one._repr_png_()).decode("ascii")}">'
            for name, one in self.items()
        ]
        return "".join(pictures) or "<p>no figures</p>"
