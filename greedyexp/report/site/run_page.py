"""What the page of a run shows, and the files that are copied beside it."""

from __future__ import annotations

import base64
import gzip
import math
import platform
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.backends.backend_svg import FigureCanvasSVG

from greedyexp import __version__
from greedyexp.claims.report import as_json, looks_sentence
from greedyexp.core.errors import UserError, message_of
from greedyexp.core.files import read_bytes
from greedyexp.core.packages import version_of
from greedyexp.core.registry import lookup
from greedyexp.core.run_files import CLAIMS, CONFIG, MANIFEST, TIMINGS
from greedyexp.core.shipped import configs
from greedyexp.experiment.parameters import Parameters
from greedyexp.figures._plot.typeset import plain, typeset
from greedyexp.report.compare import success_curves, threshold_table
from greedyexp.report.draw import Drawing, Listed, arrange, listed
from greedyexp.report.figure_notes import metadata, note_of
from greedyexp.report.look import Look
from greedyexp.report.site import forest
from greedyexp.report.site.behind import Rows
from greedyexp.report.site.kept_pages import KeptPage
from greedyexp.report.site.svg import Series, svg_of
from greedyexp.report.verify import verified_source
from greedyexp.report.where import as_text
from greedyexp.results.words import short_name, told_apart
from greedyexp.runner.run_contents import Run, lacking, read_run
from greedyexp.runner.run_folder import retried

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The script with the rows of a run.
ROWS = "rows.js"
# Rows of more bytes stay in the run folder: compressed, and in any form.
_MOST_ROWS, _MOST_FILE = 2_000_000, 20_000_000

VERDICTS = ("supported", "refuted", "inconclusive")


@dataclass(frozen=True)
class RunPage:
    """The page of one run.

    Parameters
    ----------
    content : dict
        What the template shows.
    files : dict of str to bytes
        Files beside the page, by their path from its folder.
    """

    content: dict[str, Any]
    files: dict[str, bytes]


def run_page(folder: Path) -> RunPage:
    """Return the page of a run folder; nothing is written to the folder.

    A page of which nothing has changed is read from the cache of the user.

    A figure or a table that cannot be made is named on the page, with the reason.

    Raises
    ------
    StorageError
        If the run cannot be read.
    """

    found = _kept_page_or_run(folder)
    if isinstance(found, RunPage):
        return found
    page = _Writer(found).page()
    # Another time there may be more memory.
    if not any("error" in shown for name in ("figures", "tables") for shown in page.content[name]):
        KeptPage(found).write(page.content, page.files)
    return page


@retried
def _kept_page_or_run(folder: Path) -> RunPage | Run:
    opened = read_run(folder)
    kept = KeptPage(opened).read()
    return RunPage(*kept) if kept else opened.loaded()


class _Writer:
    def __init__(self, source: Run):
        self.source = source
        self.files: dict[str, bytes] = {}

    def page(self) -> RunPage:
        source = self.source
        design = source.design
        # Verdicts in a folder may be edited, or those of other code.
        claims = verified_source(source).contents
        paper = design.settings.get("paper") or {}
        statuses = source.frame["status"].value_counts()
        content = {
            "name": design.name,
            "folder": str(source.folder),
            "title": design.name.replace("_", " "),
            "profile": design.profile,
            "description": design.settings.get("description") or "",
            "paper": str(paper.get("key", "")),
            "shown": str(paper.get("figure", "")),
            "part": source.context.part,
            "counts": {
                name: sum(one["verdict"] == name for one in claims["claims"]) for name in VERDICTS
            },
            "claims": [{**one, "rows": forest.rows(one["tests"])} for one in claims["claims"]],
            "looks": looks_sentence(claims),
            "readings": claims["readings"],
            "figures": list(self._drawn("figure", self._figure)),
            "thresholds": self._thresholds(),
            "tables": list(self._drawn("table", self._table)),
            "made": _made(source),
            "config": source.config_text,
            "command": _command(source),
            "replay": f"greedyexp replay {shlex.quote(str(source.folder))}",
            "rows": len(source.frame),
            "kept": self._kept(),
            "status": {str(name): int(count) for name, count in statuses.items()},
            "algorithms": source.frame["algorithm"].nunique(),
        }
        self.files[CONFIG] = source.config_text.encode()
        if source.manifest:
            self.files[MANIFEST] = read_bytes(source.home.find(MANIFEST), source.folder)
        self.files[CLAIMS] = as_json(claims).encode()
        content["rows_here"] = self._rows()
        content["downloads"] = [
            {"file": name, "bytes": len(data)} for name, data in self.files.items() if name != ROWS
        ]
        return RunPage(content, self.files)

    def _drawn(
        self, kind: str, draw: Callable[[Drawing, Listed], dict[str, Any]]
    ) -> Iterator[dict[str, Any]]:
        if self.source.frame.empty:
            return
        drawing = Drawing(self.source, None, Look())
        for one in listed(self.source.design):
            if one.kind != kind:
                continue
            known = lookup("figure", one.name)
            shown = {
                "stem": one.name_of_file,
                "title": one.texts.get("title") or (known.title if known else one.name),
                "caption": one.texts.get("caption", ""),
            }
            try:
                yield shown | draw(drawing, one)
            except Exception as error:  # It costs this figure or table alone.
                said = str(error) if isinstance(error, UserError) else ""
                said = said or f"{type(error).__name__}: {message_of(error)}"
                yield shown | {"error": " ".join(said.split())}

    def _figure(self, drawing: Drawing, one: Listed) -> dict[str, Any]:
        known = lookup("figure", one.name)
        where = (Parameters(known).read_all(one.given).get("where") or {}) if known else {}
        note = note_of(self.source, one.texts.get("caption", ""))
        with drawing.picture(one) as picture:
            rows = Rows(self.source, where)
            about = metadata(note)["svg"]["Description"]
            return figure_content(picture, one.name_of_file, rows, about)

    def _table(self, drawing: Drawing, one: Listed) -> dict[str, Any]:
        from greedyexp.tables._output import as_csv

        table = drawing.table(one)
        self.files[f"{one.stem}.csv"] = as_csv(table).encode()
        notes = " ".join(table.attrs.get("notes", []))
        return {"title": table.attrs["title"], "note": notes, **table_content(table)}

    def _thresholds(self) -> list[dict[str, Any]]:
        """Return the thresholds of the success curves in the figures and tables."""
        source, found = self.source, []
        if source.frame.empty:
            return []
        for of, success, direction in success_curves(source):
            table = threshold_table(source, of, success, direction)
            if table is None:
                # The figure itself says what is wrong with the column.
                continue
            names = ", ".join(dict.fromkeys(success.values()))
            found.append({"of": of, "success": names, **table_content(table)})
        return found

    def _rows(self) -> bool:
        """Add the CSV as a script unless it is large; return True if it is not."""
        state = self.source
        if state.table.stat().st_size > _MOST_FILE:
            return False
        packed = gzip.compress(state.table_content, 6, mtime=0)
        if len(packed) > _MOST_ROWS:
            return False
        # Pages without a server cannot read files, but they can load scripts.
        text = base64.b64encode(packed).decode("ascii")
        self.files[ROWS] = f'greedyexp.table("{text}");\n'.encode()
        return True

    def _kept(self) -> list[dict[str, Any]]:
        """Return the files with rows that stay in the run folder."""
        folder = self.source.folder
        files = [self.source.table, *folder.glob(f"{TIMINGS}*")]
        return [{"file": file.name, "bytes": file.stat().st_size} for file in files]


def figure_content(
    picture: Figure, stem: str, rows: Rows | None = None, about: str | None = None
) -> dict[str, Any]:
    """Return the SVG of a figure, and what the script of the page needs to know of its points.

    Parameters
    ----------
    picture : Figure
    stem : str
        Name of its file.
    rows : Rows, optional
        The rows of the run; None if the page does not show rows behind points.
    about : str, optional
        Metadata of the SVG.
    """
    texts = filter(None, (picture.get_suptitle(), picture.get_supxlabel()))
    label = plain(" ".join(" ".join(texts).split()))
    typeset(picture)
    # SVG is written with this canvas at this resolution. Another one would measure texts again.
    FigureCanvasSVG(picture)
    with rc_context({"savefig.dpi": 72}):
        arrange(picture)
    svg, series = svg_of(picture, stem, about or "", label)
    # A line may have no point, such as one whose estimates are all infinite.
    return {"svg": svg, "series": [_series(one, rows) for one in series if len(one.places)]}


def _series(series: Series, rows: Rows | None) -> dict[str, Any]:
    """Return the points of a series by columns; a column with one value for all has it once."""
    known = series.points
    behind: list[dict[str, Any]] = []
    places: list[int] = []
    if rows:
        found, places = rows.behind(known)
        # The condition of the first row, as ``--where`` takes it.
        first = [shlex.quote(as_text(rows.condition(runs[0][0]))) if runs else "" for runs in found]
        behind = [{"rows": runs, "where": one} for runs, one in zip(found, first, strict=True)]
    names = told_apart({name: short_name(name) for name in known.keys})
    keys = {names[name]: _column(values) for name, values in known.keys.items()}
    facts = {plain(name): _column(values) for name, values in known.facts.items()}
    x, y = ([None if math.isnan(at) else round(at, 1) for at in line] for line in series.places.T)
    width, height = (_column(line.round(1).tolist()) for line in series.sizes.T)
    return {
        "x": x,
        "y": y,
        "width": width,
        "height": height,
        "entries": series.entries,
        "keys": keys,
        "facts": facts,
        "behind": behind,
        "places": places,
    }


def _column(values: list[Any]) -> list[Any]:
    cells = [list(map(_cell, one)) if isinstance(one, list) else _cell(one) for one in values]
    return cells[:1] if all(cell == cells[0] for cell in cells) else cells


def _cell(value: Any) -> Any:
    """Return a value for JSON: numbers with ten digits, None for nan."""
    if isinstance(value, (float, np.floating)):
        if math.isnan(value):
            return None
        return float(f"{value:.10g}") if math.isfinite(value) else str(value)
    return value.item() if isinstance(value, np.generic) else value


def table_content(table: pd.DataFrame) -> dict[str, Any]:
    """Return header and cells; each cell has its text, and a number to sort by if it is one."""
    columns = [str(name) for name in table.columns]
    rows = [[_sorted(cell) for cell in row] for row in table.itertuples(index=False, name=None)]
    return {"columns": columns, "cells": rows}


def _sorted(cell: Any) -> dict[str, Any]:
    value = getattr(cell, "value", cell)
    if isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
        number = None if math.isnan(value) else float(value)
        text = str(cell) if value is not cell else ("" if number is None else f"{value:.6g}")
        return {"text": text, "sort": str(number) if number is not None else ""}
    return {"text": "" if value is None else str(cell), "sort": None}


def _command(source: Run) -> str:
    """Return the command that computes the run again."""
    name, profile = source.design.name, source.design.profile
    # The rule of a run until decided is an option, and in its configuration.
    if name in configs() and "+" not in profile and source.design.looks is None:
        return shlex.join(["greedyexp", "run", name, "--profile", profile])
    return f"greedyexp run {shlex.quote(str(source.folder / CONFIG))}"


def _made(source: Run) -> dict[str, Any]:
    """Return seed, commit, versions, machine and times of a run."""
    manifest, settings = source.manifest, source.design.settings
    if not manifest:
        return {"seed": settings.get("seed"), "versions": [], "lacking": lacking(manifest)}
    git, machine = manifest.get("git") or {}, manifest.get("machine") or {}
    ran = {"greedyexp": manifest.get("greedyexp"), "python": manifest.get("python")}
    ran |= manifest.get("packages") or {}
    here = {name: version_of(name) for name in ran}
    here |= {"greedyexp": __version__, "python": platform.python_version()}
    return {
        "seed": settings.get("seed"),
        "trials": settings.get("trials"),
        "commit": git.get("commit") or "",
        "dirty": bool(git.get("dirty")),
        "finished": str(manifest.get("finished") or "")[:10],
        "started": str(manifest.get("started") or ""),
        "seconds": manifest.get("algorithm_seconds"),
        "wall": manifest.get("wall_seconds", 0.0),
        "jobs": manifest.get("jobs"),
        "engine": manifest.get("engine"),
        "machine": {**machine, "cores": machine.get("cores")},
        "replicates": manifest.get("replicates") or {},
        "data_files": manifest.get("data_files") or {},
        "lacking": lacking(manifest),
        "versions": [
            {"name": name, "ran": version or "", "here": here.get(name) or ""}
            for name, version in ran.items()
        ],
    }
