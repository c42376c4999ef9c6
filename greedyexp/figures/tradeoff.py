"""Accuracy against sparsity: the risk above that of a reference, and what theorems promise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from pydantic import Field

from greedyexp.figures.axes import iteration_axis
from greedyexp.figures.excess_axis import ExcessAxis
from greedyexp.figures.looks import Looks
from greedyexp.figures.options import Panel, Row, apart
from greedyexp.figures.panels import Panels, inside, laid_out
from greedyexp.figures.style import DASHES, assign
from greedyexp.frames import notes
from greedyexp.frames.context import Context
from greedyexp.frames.folding import folded
from greedyexp.frames.labels import axis_label
from greedyexp.frames.records import replicates
from greedyexp.frames.spread import spread_text
from greedyexp.frames.theorems import (
    at_random,
    chosen_text,
    in_words,
    refuse_unknown,
    split_where,
    words,
)
from greedyexp.frames.tradeoffs import bounds, curves, recorded
from greedyexp.frames.where import Where, rows_where
from greedyexp.registry import figure

_WORDS = {"excess": "excess risk", "gap": "duality gap", "risk": "risk"}
_REFERENCE = {"color": "0.45", "linewidth": 1.0, "linestyle": (0, (2, 2)), "zorder": 0.95}
# Dashes of what is measured besides the first; bounds have the others.
_SECOND = DASHES[2]
_BOUNDS = (DASHES[1], DASHES[3], DASHES[4])


def _apart(*, panel, row, **_) -> list[str]:
    # What is along the horizontal axis is a result, and tells nothing apart.
    return apart(panel=panel, row=row)


def _columns(*, panel, row, measured, where, **_) -> list[str]:
    told = ["record", "theorem", "reference", "step", "features", "excess", "excess_bound"]
    return list(dict.fromkeys([*apart(panel=panel, row=row), *told, *measured, *where]))


@figure("tradeoff", title="Accuracy against sparsity", columns=_columns, apart=_apart)
def tradeoff(
    frame: pd.DataFrame,
    context: Context,
    *,
    x: Annotated[
        Literal["features", "step"], Field(description="what is along the horizontal axis")
    ] = "features",
    measured: Annotated[
        list[Literal["excess", "gap", "risk"]],
        Field(min_length=1, max_length=2, description="what is drawn; the first with markers"),
    ] = ["excess"],  # noqa: B006
    panel: Panel = None,
    row: Row = None,
    theorems: Annotated[
        list[str] | None, Field(description="theorems whose bounds are drawn; all by default")
    ] = None,
    floor: Annotated[
        float, Field(gt=0, description="the least value told from zero on the vertical axis")
    ] = 1e-12,
    where: Where = {},  # noqa: B006
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
    rows = recorded(rows_where(frame, among), frame, keys)
    refuse_unknown("theorems", theorems or [], rows)
    looks = Looks(rows, ["algorithm"])
    lines = {y: curves(rows, frame, keys, x, y) for y in dict.fromkeys(measured)}
    excess = "excess" in lines
    table = bounds(rows, frame, keys, x, theorems if excess else [])
    looks_of = _bound_looks(table, looks)
    heights = ExcessAxis(list(lines.values()), table["median"], floor)
    panels = Panels(laid_out(rows, context, row=row, panel=panel), width=4.2, height=3.2)
    last = float(max(points["at"].max() for points in lines.values()))
    for axis, values in panels:
        for place, points in enumerate(lines.values()):
            for label in sorted(inside(points, values)["algorithm"].unique()):
                own = inside(points, values | {"algorithm": label})
                _draw(axis, own, looks.of(label), heights, second=place > 0)
        for (label, theorem), line in inside(table, values).groupby(["algorithm", "theorem"]):
            dash = looks_of[theorem]["linestyle"]
            _promise(axis, line, looks.of(label)["color"], dash)
        if x == "features":
            _mark_reference(axis, inside(rows, values))
        iteration_axis(axis, last, "log")
        heights.apply(axis)
        panels.title(axis, in_words(values), context)
    panels.label(
        "number of features" if x == "features" else axis_label("step"),
        " and ".join(_WORDS[name] for name in lines),
    )
    marked = x == "features" and "reference_features" in rows.columns
    panels.legend(
        [
            *looks.handles(context),
            *_handles(list(lines), looks_of, marked),
            *heights.handles(excess),
        ]
    )
    panels.note(
        [
            chosen_text(where),
            f"{notes.origin(context)}: {spread_text(lines[measured[0]])}."
            f"{' Bounds are medians too.' if looks_of else ''}",
            _excess_text(rows, excess),
            _random_text(looks_of),
            notes.failures_text(replicates(frame), "left out"),
            notes.pooled_text(rows, [*keys, "step", "theorem", "reference"]),
        ]
    )
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


def _promise(axis, line: pd.DataFrame, colour, dash) -> None:
    heights = line["median"].where(line["median"] > 0)
    look = {"color": colour, "linestyle": dash, "linewidth": 1.0, "zorder": 1.8}
    axis.plot(line["at"], heights, **look, gid="promise")


def _mark_reference(axis, rows: pd.DataFrame) -> None:
    """A line at the median number of features of the reference, and a band of all."""
    if "reference_features" not in rows.columns:
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


def _random_text(theorems: Sequence[str]) -> str:
    named = [words(name) for name in theorems if at_random(name)]
    return f"{', '.join(named)}: a bound of the mean over runs." if named else ""


def _handles(measured: list[str], bounds: dict, marked: bool) -> list:
    found: list = []
    if len(measured) == 2:
        first, second = (_WORDS[name] for name in measured)
        found = [
            Line2D([], [], color="0.3", marker="o", label=first),
            Line2D([], [], color="0.3", linestyle=_SECOND, label=second),
        ]
    found += [
        Line2D([], [], **look, linewidth=1.0, label=words(theorem))
        for theorem, look in bounds.items()
    ]
    if marked:
        found.append(Line2D([], [], label="features of the reference", **_REFERENCE))
    return found
