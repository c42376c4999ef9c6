"""What the page of a run shows, and the files that are copied beside it."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import math
import platform
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from greedyexp import __version__
from greedyexp.claims.judging import claims_of
from greedyexp.claims.report import has_claims, looks_sentence
from greedyexp.core.errors import StorageError, UserError
from greedyexp.core.packages import version_of
from greedyexp.core.registry import lookup
from greedyexp.core.shipped import configs
from greedyexp.experiment.parameters import Parameters
from greedyexp.figures._plot.points import Points
from greedyexp.figures._plot.typeset import formulas, typeset
from greedyexp.report.compare import success_curves, threshold_table
from greedyexp.report.draw import Drawing, Listed, arrange, listed
from greedyexp.report.figure_notes import metadata, note_of, read_note
from greedyexp.report.look import Look
from greedyexp.report.site import forest, mathtext
from greedyexp.report.site.behind import Rows
from greedyexp.report.site.interactive import Interactive, NotConvertible, interactive
from greedyexp.report.source import Source, open_folder, source_of
from greedyexp.report.verify import verified_source
from greedyexp.report.where import as_text
from greedyexp.results.words import short_name
from greedyexp.runner.state import CLAIMS, CONFIG, MANIFEST, TIMINGS, find, retry_if_replaced

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

VERDICTS = ("supported", "refuted", "inconclusive")


@dataclass(frozen=True)
class RunPage:
    """The page of one run.

    Parameters
    ----------
    place : str
        Its folder in the report, such as ``foba_uci/paper``.
    content : dict
        What the template shows.
    files : dict of str to bytes
        Files beside the page, by their path from its folder.
    table : bytes
        The CSV of the run, compressed.
    """

    place: str
    content: dict[str, Any]
    files: dict[str, bytes]
    table: bytes


def run_page(folder: Path) -> RunPage:
    """Return the page of a run folder; nothing is written to the folder.

    A figure or a table that cannot be made is named on the page, with the reason.

    Raises
    ------
    StorageError
        If the run cannot be read.
    """
    source: Source = retry_if_replaced(folder, lambda: source_of(open_folder(folder)))
    return _Writer(source).page()


class _Writer:
    def __init__(self, source: Source):
        self.source = source
        self.files: dict[str, bytes] = {}

    def page(self) -> RunPage:
        source = self.source
        design = source.design
        claims = self._claims()
        content = {
            "name": design.name,
            "title": design.name.replace("_", " "),
            "profile": design.profile,
            "description": design.settings.get("description") or "",
            "paper": (design.settings.get("paper") or {}).get("key", ""),
            "shown": (design.settings.get("paper") or {}).get("figure", ""),
            "part": source.context.part,
            "counts": _counted(claims["claims"]),
            "claims": [_claim(one) for one in claims["claims"]],
            "looks": looks_sentence(claims),
            "readings": claims["readings"],
            "figures": list(self._figures()),
            "thresholds": self._thresholds(),
            "tables": list(self._tables()),
            "made": _made(source),
            "config": source.state.config_text,
            "command": _command(source),
            "replay": f"greedyexp replay {shlex.quote(str(source.folder))}",
            "rows": len(source.frame),
            "status": _statuses(source.frame),
            "algorithms": source.frame["algorithm"].nunique(),
        }
        table = gzip.compress(source.state.table_content, 6, mtime=0)
        self._copies(claims, table)
        content["downloads"] = [
            {"file": name, "bytes": len(data)} for name, data in self.files.items()
        ]
        place = source.folder.resolve()
        return RunPage(f"{place.parent.name}/{place.name}", content, self.files, table)

    def _claims(self) -> dict[str, Any]:
        """Return the contents of ``claims.json``: those of the folder if they belong to its rows.

        They must also be about the claims of the settings. A copy of a folder may lack the seconds,
        on which stored verdicts depend.
        """
        source = self.source
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            stored = json.loads((source.folder / CLAIMS).read_bytes())
            claims = claims_of(source.design, source.frame)
            if stored["digests"] == source.state.digests and has_claims(stored, claims):
                return dict(stored)
        return verified_source(source).contents

    def _figures(self) -> Iterator[dict[str, Any]]:
        if self.source.frame.empty:
            return
        drawing = Drawing(self.source, None, Look())
        for one in listed(self.source.design):
            if one.kind == "figure":
                yield self._figure(drawing, one)

    def _figure(self, drawing: Drawing, one: Listed) -> dict[str, Any]:
        known = lookup("figure", one.name)
        shown: dict[str, Any] = {
            "stem": one.name_of_file,
            "title": one.texts.get("title") or (known.title if known else one.name),
            "caption": one.texts.get("caption", ""),
            "note": "",
        }
        try:
            with drawing.picture(one) as picture:
                typeset(picture)
                arrange(picture)
                shown["static"] = self._static(one, picture)
                try:
                    found = interactive(picture)
                except NotConvertible as reason:
                    return shown | {"data": None, "reason": str(reason), **_size(picture)}
        except UserError as error:
            return shown | {"error": str(error)}
        return shown | {
            "title": found.title or shown["title"],
            "note": found.note,
            "width": found.width,
            "height": found.height,
            "legend": found.legend,
            "data": figure_data(found, Rows(self.source, _where(one))),
        }

    def _static(self, one: Listed, picture: Figure) -> str:
        """Add the figure for print and return its file: that of the run if it shows these rows."""
        stored = self.source.folder / f"{one.stem}.png"
        with contextlib.suppress(OSError, StorageError):
            if read_note(stored)["rows"] == self.source.state.digests["table"]:
                for file in (stored, stored.with_suffix(".pdf")):
                    self.files[f"figures/{file.name}"] = file.read_bytes()
                return f"{one.stem}.png"
        note = note_of(self.source, one.texts.get("caption", ""))
        stream = io.BytesIO()
        picture.savefig(stream, format="svg", metadata=metadata(note)["svg"])
        self.files[f"{one.stem}.svg"] = stream.getvalue()
        return f"{one.stem}.svg"

    def _tables(self) -> Iterator[dict[str, Any]]:
        from greedyexp.tables._output import as_csv

        if self.source.frame.empty:
            return
        drawing = Drawing(self.source, None, Look())
        for one in listed(self.source.design):
            if one.kind != "table":
                continue
            shown: dict[str, Any] = {"stem": one.name_of_file}
            try:
                table = drawing.table(one)
            except UserError as error:
                yield shown | {"error": str(error)}
                continue
            self.files[f"{one.stem}.csv"] = as_csv(table).encode()
            notes = " ".join(table.attrs.get("notes", []))
            yield shown | {"title": table.attrs["title"], "note": notes, **table_content(table)}

    def _thresholds(self) -> list[dict[str, Any]]:
        """Return the thresholds of the success curves in the figures and tables."""
        source, found = self.source, []
        if source.frame.empty:
            return []
        for of, success in success_curves(source):
            table = threshold_table(source, of, success)
            if table is None:
                # The figure itself says what is wrong with the column.
                continue
            names = ", ".join(dict.fromkeys(success.values()))
            found.append({"of": of, "success": names, **table_content(table)})
        return found

    def _copies(self, claims: Mapping[str, Any], table: bytes) -> None:
        state = self.source.state
        folder = self.source.folder
        name = state.table.name
        self.files[name] = table if name.endswith(".gz") else state.table_content
        if state.timings is not None:
            self.files[TIMINGS] = state.timings
        self.files[CONFIG] = state.config_text.encode()
        if state.manifest:
            self.files[MANIFEST] = find(folder, MANIFEST).read_bytes()
        text = json.dumps(claims, indent=2, ensure_ascii=False, allow_nan=False)
        self.files[CLAIMS] = text.encode()


def _size(picture: Figure) -> dict[str, float]:
    width, height = picture.get_size_inches() * 96
    return {"width": round(width), "height": round(height)}


def _where(one: Listed) -> Mapping[str, Any]:
    known = lookup("figure", one.name)
    return (Parameters(known).read_all(one.given).get("where") or {}) if known else {}


def figure_data(found: Interactive, rows: Rows | None) -> dict[str, Any]:
    """Return what the script of the page needs to draw a figure.

    Parameters
    ----------
    found : Interactive
    rows : Rows or None
        The rows of the run; None if the page does not show rows behind points.
    """
    points = {}
    for index, known in found.points.items():
        behind, places = _behind(rows, known) if rows else ([], [])
        points[str(index)] = {
            "keys": {
                mathtext.plain(formulas(short_name(name))): [_cell(value) for value in values]
                for name, values in known.keys.items()
            },
            "facts": _facts(known),
            "behind": behind,
            "places": places,
        }
    return {"data": found.data, "layout": found.layout, "legend": found.legend, "points": points}


def _facts(known: Points) -> dict[str, list[Any]]:
    return {
        mathtext.plain(formulas(name)): [
            [_cell(end) for end in value] if isinstance(value, list) else _cell(value)
            for value in values
        ]
        for name, values in known.facts.items()
    }


def _behind(rows: Rows, known: Points) -> tuple[list[dict[str, Any]], list[int]]:
    """Return the distinct sets of rows with their conditions, and the set of each point."""
    found, places = rows.behind(known)
    return [{"rows": runs, "where": _condition(rows, runs)} for runs in found], places


def _condition(rows: Rows, runs: list[list[int]]) -> str:
    """Return the condition of the first row, as ``--where`` takes it; empty without rows."""
    if not runs:
        return ""
    return shlex.quote(as_text(rows.condition(runs[0][0])))


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


def _counted(claims: list[Mapping[str, Any]]) -> dict[str, int]:
    return {name: sum(one["verdict"] == name for one in claims) for name in VERDICTS}


def _claim(one: Mapping[str, Any]) -> dict[str, Any]:
    return {**one, "rows": forest.rows(one["tests"])}


def _statuses(frame: pd.DataFrame) -> dict[str, int]:
    counts = frame["status"].value_counts()
    return {str(name): int(count) for name, count in counts.items()}


def _command(source: Source) -> str:
    """Return the command that computes the run again."""
    name, profile = source.design.name, source.design.profile
    # The rule of a run until decided is an option, and in its configuration.
    if name in configs() and "+" not in profile and source.design.looks is None:
        return f"greedyexp run {name} --profile {profile}"
    return f"greedyexp run {shlex.quote(str(source.folder / CONFIG))}"


def _made(source: Source) -> dict[str, Any]:
    """Return seed, commit, versions, machine and times of a run."""
    manifest, settings = source.state.manifest, source.design.settings
    if not manifest:
        return {"seed": settings.get("seed"), "versions": []}
    git = manifest.get("git") or {}
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
        "wall": manifest.get("wall_seconds"),
        "jobs": manifest.get("jobs"),
        "engine": manifest.get("engine"),
        "machine": manifest.get("machine") or {},
        "replicates": manifest.get("replicates") or {},
        "data_files": manifest.get("data_files") or {},
        "versions": [
            {"name": name, "ran": version or "", "here": here.get(name) or ""}
            for name, version in ran.items()
        ],
    }
