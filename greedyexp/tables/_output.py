"""Cells of a table, and its three files: numbers as CSV, readable cells as Markdown and LaTeX."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from greedyexp.results.text import sentences, where_text

if TYPE_CHECKING:
    import pandas as pd

# A parameter of tables.
Title = Annotated[str, Field(description="caption; by default the name of the table and its rows")]

_LATEX: dict[str, str | int | None] = {
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
    # At the start of a cell, a bracket would be an argument of the preceding row break.
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
_MARKDOWN: dict[str, str | int | None] = {mark: f"\\{mark}" for mark in "\\`*_|<>[]#$~"}


@dataclass(frozen=True)
class Cell:
    """One measured number.

    Parameters
    ----------
    value, low, high : float
        Estimate and interval, in the unit of the table. Ends are infinite if the interval is
        unbounded, and nan if there is none.
    published : float
        The printed number; nan if there is none.
    digits : int
        Decimals shown.
    significant : bool
        True if ``digits`` are significant digits, for columns with numbers of different sizes.
    ends : bool
        True to show both ends of the interval instead of half its width.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    published: float = math.nan
    digits: int = 3
    significant: bool = False
    ends: bool = False

    def __str__(self) -> str:
        if math.isnan(self.value):
            text = "none"
        elif math.isnan(self.high - self.low):
            text = self._text(self.value)
        elif self.ends:
            text = f"{self._text(self.value)} [{self._text(self.low)}, {self._text(self.high)}]"
        elif math.isinf(self.high - self.low):
            text = f"{self._text(self.value)} ± ∞"
        else:
            half = (self.high - self.low) / 2
            text = f"{self._text(self.value)} ± {self._text(half)}"
        # Printed numbers are not rounded.
        return text if math.isnan(self.published) else f"{text} ({self.published:g})"

    def _text(self, number: float) -> str:
        if math.isinf(number):
            return "∞" if number > 0 else "-∞"
        return f"{number:#.{self.digits}g}" if self.significant else f"{number:.{self.digits}f}"


def make_table(
    rows: Sequence[Mapping[str, Any]],
    notes: Sequence[str],
    default_title: str,
    title: str,
    where: Mapping[str, Any],
    group: str | None = None,
) -> pd.DataFrame:
    """Return a table that ``table_files`` can write.

    Parameters
    ----------
    rows : sequence of mapping of column to ``Cell`` or plain value
    notes : sequence of str
        Sentences after the caption; empty ones are dropped, and full stops are added.
    default_title : str
        Caption if ``title`` is empty; the choice of rows is appended.
    title : str
        Caption given by the user; may be empty.
    where : mapping of column to value or list of values
    group : str, optional
        A column whose repeated values are left out and whose groups are separated by rules.
    """
    import pandas as pd

    table = pd.DataFrame(rows)
    choice = where_text(where)
    caption = title or (f"{default_title}, {choice}" if choice else default_title)
    table.attrs |= {"notes": sentences(notes), "title": caption, "group": group}
    return table


def table_files(cells: pd.DataFrame, title: str) -> dict[str, bytes]:
    """Return the files of one table by their formats: CSV, Markdown and LaTeX.

    Parameters
    ----------
    cells : DataFrame
        The result of a registered table; each cell is a ``Cell`` or a plain value. The sentences in
        ``attrs["notes"]`` follow the title. ``attrs["group"]`` is a column whose repeated values
        are left out and whose groups are separated by rules.
    title : str
    """
    caption = " ".join([f"{title}.", *cells.attrs.get("notes", [])])
    name = cells.attrs.get("group")
    group = None if name is None else list(cells.columns).index(name)
    texts = {
        "csv": as_csv(cells),
        "md": _markdown(cells, caption, group),
        "tex": _latex(cells, caption, group),
    }
    return {suffix: text.encode("utf-8") for suffix, text in texts.items()}


def as_csv(cells: pd.DataFrame) -> str:
    """Write full precision; a column of ``Cell`` becomes value, low, high and published, if any."""
    import pandas as pd

    columns: dict[str, list] = {}
    for name in cells.columns:
        column = list(cells[name])
        if not all(isinstance(cell, Cell) for cell in column):
            columns[name] = column
            continue
        columns[name] = [cell.value for cell in column]
        columns[f"{name} low"] = [cell.low for cell in column]
        columns[f"{name} high"] = [cell.high for cell in column]
        if not all(math.isnan(cell.published) for cell in column):
            columns[f"{name} published"] = [cell.published for cell in column]
    return pd.DataFrame(columns).to_csv(index=False, lineterminator="\n")


def _markdown(cells: pd.DataFrame, caption: str, group: int | None) -> str:
    header, rows = _readable(cells, _MARKDOWN, group)
    lines = [header, ["---"] * len(header), *rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{table}\n\n{_escape(caption, _MARKDOWN)}\n"


def _latex(cells: pd.DataFrame, caption: str, group: int | None) -> str:
    header, rows = _readable(cells, _LATEX, group)
    lines = []
    for index, row in enumerate(rows):
        if index and group is not None and row[group]:
            lines.append(r"\midrule")
        lines.append(f"{' & '.join(row)} \\\\")
    body = "\n".join(lines)
    return (
        "% Needs \\usepackage{booktabs}.\n"
        "\\begin{table}\n\\centering\\small\n"
        f"\\caption{{{_escape(caption, _LATEX)}}}\n"
        f"\\begin{{tabular}}{{{'l' * len(header)}}}\n\\toprule\n"
        f"{' & '.join(header)} \\\\\n\\midrule\n{body}\n\\bottomrule\n"
        "\\end{tabular}\n\\end{table}\n"
    )


def _readable(
    cells: pd.DataFrame, marks: dict[str, str | int | None], group: int | None
) -> tuple[list[str], list[list[str]]]:
    """Return header and rows as escaped text, without repeated values of the grouping column."""
    rows = [[str(cell) for cell in row] for row in cells.itertuples(index=False, name=None)]
    if group is not None:
        values = [row[group] for row in rows]
        for row, value, before in zip(rows[1:], values[1:], values, strict=False):
            row[group] = "" if value == before else value
    escaped = [[_escape(text, marks) for text in row] for row in rows]
    return [_escape(str(name), marks) for name in cells.columns], escaped


def _escape(text: str, marks: dict[str, str | int | None]) -> str:
    """Return the text on one line, with special characters escaped."""
    return " ".join(text.split()).translate(str.maketrans(marks))
