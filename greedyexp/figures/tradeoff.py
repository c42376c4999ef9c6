"""Accuracy against sparsity: the risk above that of a reference, and what theorems promise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from pydantic import Field

from greedyexp.core.registry import figure
from greedyexp.figures.axes import iteration_axis
from greedyexp.figures.excess_axis import ExcessAxis
from greedyexp.figures.looks import Looks
from greedyexp.figures.options import Panel, Row, apart
from greedyexp.figures.panels import Panels, inside, laid_out
from greedyexp.figures.promises import draw_promise, promise_handle, random_text
from greedyexp.figures.style import DASHES, assign
from greedyexp.results import notes
from greedyexp.results.asked import once_each
from greedyexp.results.context import Context
from greedyexp.results.folding import folded
from greedyexp.results.labels import axis_label
from greedyexp.results.records import replicates
from greedyexp.results.spread import spread_text
from greedyexp.results.theorems import (
    WhereTheorem,
    chosen_text,
    in_words,
    known_before,
    refuse_unknown,
    split_where,
    words,
)
from greedyexp.results.tradeoffs import bounds, curves, recorded
from greedyexp.results.where import rows_where

Along = Annotated[
    Literal["features", "step"], Field(description="what is along the horizontal axis")
]
Measured = Annotated[
    list[Literal["excess", "gap", "risk"]],
    Field(min_length=1, max_length=2, description="what is drawn; the first with markers"),
    once_each("measured"),
]
Theorems = Annotated[
    list[str] | None,
    Field(description="theorems whose bounds are drawn; all by default"),
    known_before("theorems"),
]
Floor = Annotated[
    float, Field(gt=0, description="the least value told from zero on the vertical axis")
]

_WORDS = {"excess": "excess risk", "gap": "duality gap", "risk": "risk"}
_REFERENCE = {"color": "0.45", "linewidth": 1.0, "linestyle": (0, (2, 2)), "zorder": 0.95}
# Dashes of what is measured besides the first; bounds have the others.
_SECOND = DASHES[2]
_BOUNDS = (DASHES[1], DASHES[3], DASHES[4])


def _apart(*, panel, row, **_) -> list[str]:
    # What is along the horizontal axis is a result, and tells nothing apart.
    return apart(panel=panel, row=row, line=["algorithm"])


def _columns(*, panel, row, measured, where, **_) -> list[str]:
    # Features and risk of a step are in rows of their own, about no theorem and no reference, which
    # come along whatever is chosen among the others.
    told = ["record", "theorem", "reference", "step", "excess", "excess_bound"]
    told += [name for name in measured if name != "risk"]
    return list(dict.fromkeys([*_apart(panel=panel, row=row), *told, *where]))


@figure("tradeoff", title="Accuracy against sparsity", columns=_columns, apart=_apart)
def tradeoff(
    frame: pd.DataFrame,
    context: Context,
    *,
    x: Along = "features",
    measured: Measured = ["excess"],  # noqa: B006
    panel: Panel = None,
    row: Row = None,
    theorems: Theorems = None,
    floor: Floor = 1e-12,
    where: WhereTheorem = {},  # noqa: B006
) -> Figure:
    """How far the risk is above that of a reference predictor, against what the predictor costs.

    Along ``features`` a line shows the least value among the recorded predictors with at most so
    many nonzero coefficients, along ``step`` that after so many steps. Lines are medians over
    replicates with bands, a marker alone where the number of features does not vary. Dashed curves
    are medians of what theorems promise of the excess after so many steps, which give at most as
    many features; Theorem 1 is about the mean over runs. A line in the strip at the bottom is at
    zero or below, as when the predictor is better than the reference. The vertical line is at the
    median number of features of the reference. Replicates that failed are left out and counted
    below.
    """
    before, among = split_where(frame, where)
    frame, keys = folded(rows_where(frame, before), context, row, panel, "algorithm")
    excess = "excess" in measured
    rows = recorded(rows_where(frame, among), frame, keys, mixed=not excess)
    refuse_unknown("theorems", theorems or [], rows)
    looks = Looks(rows, ["algorithm"])
    lines = {y: curves(rows, frame, keys, x, y) for y in dict.fromkeys(measured)}
    table = bounds(rows, frame, keys, x, theorems if excess else [])
    looks_of = _bound_looks(table, looks)
    heights = ExcessAxis(list(lines.values()), table["median"], floor)
    panels = Panels(laid_out(rows, context, row=row, panel=panel), width=4.2, height=3.2)
    last = float(max(points["at"].max() for points in lines.values()))
    bare = set()
    for axis, values in panels:
        for place, points in enumerate(lines.values()):
            for label, own in inside(points, values).groupby("algorithm", sort=True):
                _draw(axis, own, looks.of(label), heights, second=place > 0)
        for (label, theorem), line in inside(table, values).groupby(["algorithm", "theorem"]):
            positive, colour = line["median"].where(line["median"] > 0), looks.of(label)["color"]
            if draw_promise(axis, line["at"], positive, colour, looks_of[theorem]["linestyle"]):
                bare.add(theorem)
        if x == "features":
            _mark_reference(axis, inside(rows, values))
        iteration_axis(axis, last, "log")
        heights.apply(axis)
        panels.title(axis, in_words(values), context)
    along = "number of features" if x == "features" else axis_label("step")
    panels.label(along, " and ".join(_WORDS[name] for name in lines))
    marked = any(line.get_gid() == "reference" for axis, _ in panels for line in axis.lines)
    drawn = _handles(list(lines), looks_of, bare, marked)
    panels.legend([*looks.handles(context), *drawn, *heights.handles(excess)])
    likewise = " Bounds are medians too." if looks_of else ""
    said = f"{notes.origin(context)}: {spread_text(lines[measured[0]])}.{likewise}"
    about = [_excess_text(rows, excess), random_text(looks_of, "a bound of the mean over runs")]
    failed = notes.failures_text(replicates(frame), "left out")
    panels.note([chosen_text(where), said, *about, failed])
    return panels.figure


def _draw(axis, points: pd.DataFrame, look: dict, heights: ExcessAxis, *, second: bool) -> None:
    low, median, high = (heights.heights(points[name]) for name in ("low", "median", "high"))
    colour = look["color"]
    if points["at"].nunique() == 1:
        shape = {"fmt": look["marker"], "color": colour, "gid": "measured"}
        face = "white" if second else colour
        bar = [median - low, high - median]
        axis.errorbar(points["at"], median, yerr=bar, markerfacecolor=face, **shape)
        return
    if second:
        look = {"color": colour, "linestyle": _SECOND}
    axis.fill_between(points["at"], low, high, color=colour, alpha=0.13, linewidth=0)
    axis.plot(points["at"], median, **look, markevery=None if second else 0.12, gid="measured")


def _bound_looks(table: pd.DataFrame, looks: Looks) -> dict[str, dict]:
    """Dashes of each theorem, which tell those of one algorithm apart, and the legend's colour."""
    found: dict[str, dict] = {}
    for _, own in table.groupby("algorithm", sort=True):
        theorems = list(dict.fromkeys(own["theorem"]))
        found |= assign([one for one in theorems if one not in found], _BOUNDS)
    for theorem, dash in found.items():
        labels = table.loc[table["theorem"] == theorem, "algorithm"].unique()
        colour = looks.of(labels[0])["color"] if len(labels) == 1 else "0.3"
        found[theorem] = {"linestyle": dash, "color": colour}
    return found


def _mark_reference(axis, rows: pd.DataFrame) -> None:
    """A line at the median number of features of the reference, and a band of all."""
    if "reference_features" not in rows.columns or rows["reference"].nunique() > 1:
        return
    counts = rows["reference_features"].dropna()
    if len(counts):
        axis.axvline(counts.median(), **_REFERENCE, gid="reference")
        axis.axvspan(counts.min(), counts.max(), color="0.96", linewidth=0, zorder=0.4)


def _excess_text(rows: pd.DataFrame, excess: bool) -> str:
    if not excess:
        return ""
    names = [name.replace("_", " ") for name in dict.fromkeys(rows["reference"])]
    return f"Excess risk over that of the reference {' or '.join(names)}."


def _handles(measured: list[str], bounds: Mapping, bare: set, marked: bool) -> list:
    found: list = []
    if len(measured) == 2:
        first, second = (_WORDS[name] for name in measured)
        found = [
            Line2D([], [], color="0.3", marker="o", label=first),
            Line2D([], [], color="0.3", linestyle=_SECOND, label=second),
        ]
    found += [
        promise_handle(words(theorem), look["linestyle"], look["color"], marked=theorem in bare)
        for theorem, look in bounds.items()
    ]
    if marked:
        found.append(Line2D([], [], label="features of the reference", **_REFERENCE))
    return found
