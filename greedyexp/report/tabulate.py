"""Writing a table three times: numbers as CSV, readable cells as Markdown and as LaTeX."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import pandas as pd

from greedyexp.core.errors import StorageError
from greedyexp.tables.cells import Cell

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # A cell that begins with a bracket would become an argument of the row break before it.
    "[": "{[}",
    "]": "{]}",
    "±": r"$\pm$",
    "∞": r"$\infty$",
    "κ": r"$\kappa$",
    "λ": r"$\lambda$",
    "μ": r"$\mu$",
    "θ": r"$\theta$",
    "σ": r"$\sigma$",
    "ε": r"$\varepsilon$",
}
_MARKDOWN = {mark: f"\\{mark}" for mark in "\\`*_|<>[]#$~"}


def write_table(cells: pd.DataFrame, title: str, stem: Path) -> list[Path]:
    """Write one table.

    Parameters
    ----------
    cells : DataFrame
        As a registered table returns it: every cell a ``Cell`` or plain. ``attrs["notes"]``, a
        list of sentences, follow the title; ``attrs["group"]`` is a column whose repeated values
        are left out and whose groups are set apart.
    title : str
    stem : Path
        Without suffix.

    Returns
    -------
    list of Path
        CSV, Markdown and LaTeX.

    Raises
    ------
    StorageError
        When the folder cannot be written.
    """
    caption = [f"{title}.", *cells.attrs.get("notes", [])]
    texts = {
        ".csv": _csv(cells),
        ".md": _markdown(cells, caption),
        ".tex": _latex(cells, caption),
    }
    try:
        stem.parent.mkdir(parents=True, exist_ok=True)
        for suffix, text in texts.items():
            stem.with_suffix(suffix).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise StorageError(
            f"the table cannot be written ({error.strerror or error}).", place=str(stem.parent)
        ) from None
    return [stem.with_suffix(suffix) for suffix in texts]


def _csv(cells: pd.DataFrame) -> str:
    """Full precision; a column of ``Cell`` becomes value, low, high and, if any, published."""
    columns: dict[str, list] = {}
    for name in cells.columns:
        columns |= _numbers(name, cells[name])
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return out.getvalue()


def _numbers(name: str, column: pd.Series) -> dict[str, list]:
    if not all(isinstance(cell, Cell) for cell in column):
        return {name: [_exact(cell) for cell in column]}
    parts = {
        name: [_exact(cell.value) for cell in column],
        f"{name} low": [_exact(cell.low) for cell in column],
        f"{name} high": [_exact(cell.high) for cell in column],
    }
    if not all(math.isnan(cell.published) for cell in column):
        parts[f"{name} published"] = [_exact(cell.published) for cell in column]
    return parts


def _exact(value) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(float(value))
    return str(value)


def _markdown(cells: pd.DataFrame, caption: list[str]) -> str:
    header, rows = _readable(cells, _MARKDOWN)
    lines = [header, ["---"] * len(header), *rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{table}\n\n{_escape(' '.join(caption), _MARKDOWN)}\n"


def _latex(cells: pd.DataFrame, caption: list[str]) -> str:
    header, rows = _readable(cells, _LATEX)
    group = _group(cells)
    lines = []
    for index, row in enumerate(rows):
        if index and group is not None and row[group]:
            lines.append(r"\midrule")
        lines.append(f"{' & '.join(row)} \\\\")
    body = "\n".join(lines)
    return (
        "% Needs \\usepackage{booktabs}.\n"
        "\\begin{table}\n\\centering\\small\n"
        f"\\caption{{{_escape(' '.join(caption), _LATEX)}}}\n"
        f"\\begin{{tabular}}{{{'l' * len(header)}}}\n\\toprule\n"
        f"{' & '.join(header)} \\\\\n\\midrule\n{body}\n\\bottomrule\n"
        "\\end{tabular}\n\\end{table}\n"
    )


def _readable(cells: pd.DataFrame, marks: dict[str, str]) -> tuple[list[str], list[list[str]]]:
    """Header and rows as escaped text, repeated values of the grouping column left out."""
    rows = [[str(cell) for cell in row] for row in cells.itertuples(index=False, name=None)]
    group = _group(cells)
    if group is not None:
        values = [row[group] for row in rows]
        for row, value, before in zip(rows[1:], values[1:], values, strict=False):
            row[group] = "" if value == before else value
    escaped = [[_escape(text, marks) for text in row] for row in rows]
    return [_escape(str(name), marks) for name in cells.columns], escaped


def _group(cells: pd.DataFrame) -> int | None:
    name = cells.attrs.get("group")
    return None if name is None else list(cells.columns).index(name)


def _escape(text: str, marks: dict[str, str]) -> str:
    """The text on one line, its special characters written so that they stand for themselves."""
    return " ".join(text.split()).translate(str.maketrans(marks))
