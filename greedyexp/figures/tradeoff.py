"""Accuracy against sparsity: the risk above that of a reference, and what theorems promise."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator
from pydantic import Field

from greedyexp.figures.axes import iteration_axis, log_ticks, number_texts
from greedyexp.figures.looks import Looks
from greedyexp.figures.options import Panel, Row, apart
from greedyexp.figures.panels import Panels, inside, laid_out
from greedyexp.figures.style import DASHES, assign
from greedyexp.frames import notes
from greedyexp.frames.context import Context
from greedyexp.frames.labels import axis_label
from greedyexp.frames.records import replicates, told_apart
from greedyexp.frames.spread import spread_text
from greedyexp.frames.tradeoffs import bounds, curves, recorded
from greedyexp.frames.where import Where, rows_where, where_text
from greedyexp.registry import figure

# Bounds are shown above what is measured by at most this factor.
_ABOVE = 100.0
_WORDS = {
    "excess": "excess risk over the reference",
    "gap": "duality gap",
    "risk": "risk",
}


def _apart(*, panel, row, **_) -> list[str]:
    """The column along the horizontal axis is a result, which tells nothing apart."""
    return apart(panel=panel, row=row)


def _columns(*, panel, row, x, measured, **_) -> list[str]:
    told = ["theorem", "reference", "step", "features", "excess", "excess_bound"]
    return list(dict.fromkeys([*apart(panel=panel, row=row), "record", *told, *measured]))


@figure(
    "tradeoff",
    title="Accuracy against sparsity",
    columns=_columns,
    apart=_apart,
)
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
        float, Field(gt=0, description="value at and below which a line stays at the lower edge")
    ] = 1e-12,
    where: Where = {},  # noqa: B006
) -> Figure:
    """How far the risk is above that of a reference predictor, against what the predictor costs.

    Along ``features`` a line shows the least value among the recorded predictors with at most so
    many nonzero coefficients, along ``step`` that after so many steps. Lines are medians over
    replicates with bands. Dashed curves are what theorems promise after so many steps, which give
    at most as many features. The axis ends at ``floor``: a line on the lower edge is at or below
    the reference. The vertical line is at the number of features of the reference. Replicates that
    failed are left out and counted below.
    """
    frame = rows_where(frame, where)
    frame, keys = told_apart(frame, context, row, panel, "algorithm")
    rows = recorded(frame, keys)
    looks = Looks(rows, ["algorithm"])
    lines = {y: curves(rows, frame, keys, x, y) for y in measured}
    wanted = rows if theorems is None else rows[rows["theorem"].isin(theorems)]
    table = bounds(wanted, keys)
    dashes = assign(list(dict.fromkeys(wanted["theorem"])), DASHES[1:])
    low, high = _heights(lines, floor)
    panels = Panels(laid_out(rows, context, row=row, panel=panel), width=4.2, height=3.2)
    for axis, values in panels:
        for place, points in enumerate(lines.values()):
            for label in sorted(inside(points, values)["algorithm"].unique()):
                own = inside(points, values | {"algorithm": label})
                _draw(axis, own, looks.of(label), low, second=place > 0)
        for (label, theorem), line in inside(table, values).groupby(["algorithm", "theorem"]):
            _promise(axis, line, looks.of(label)["color"], dashes[theorem])
        _mark_reference(axis, inside(rows, values), x)
        last = max(inside(points, values)["at"].max() for points in lines.values())
        iteration_axis(axis, float(last), "log")
        axis.set_yscale("log")
        axis.set_ylim(low, high)
        ticks = log_ticks(low, high)
        axis.set_yticks(ticks, number_texts(ticks))
        axis.yaxis.set_minor_locator(NullLocator())
        panels.title(axis, values, context)
    panels.label("number of features" if x == "features" else axis_label("step"), _label(measured))
    panels.legend([*looks.handles(context), *_handles(measured, dashes, rows, x)])
    told = where_text(where)
    spread_of = spread_text(lines[measured[0]])
    panels.note(
        [
            *([f"{told}."] if told else []),
            f"{notes.origin(context)}: {spread_of}. Bounds are medians too.",
            notes.failures_text(replicates(frame), "left out"),
            f"A line at the lower edge is at or below {low:g}, which includes below the reference.",
            notes.pooled_text(rows, [*keys, "step", "theorem", "reference"]),
        ]
    )
    return panels.figure


def _draw(axis, points: pd.DataFrame, look: dict, low: float, *, second: bool) -> None:
    heights = points[["low", "median", "high"]].clip(lower=low)
    if second:
        look = {"color": look["color"], "linestyle": (0, (1, 1))}
    axis.fill_between(
        points["at"], heights["low"], heights["high"], color=look["color"], alpha=0.13, linewidth=0
    )
    every = 0.12 if not second else None
    axis.plot(points["at"], heights["median"], **look, markevery=every, gid="measured")


def _promise(axis, line: pd.DataFrame, colour, dash) -> None:
    axis.plot(
        line["at"],
        line["median"].where(line["median"] > 0),
        color=colour,
        linestyle=dash,
        linewidth=1.0,
        zorder=1.8,
        gid="promise",
    )


def _mark_reference(axis, rows: pd.DataFrame, x: str) -> None:
    """A line at the features of the reference, where all replicates agree on them."""
    if x != "features" or "reference_features" not in rows.columns:
        return
    counts = rows["reference_features"].dropna().unique()
    if len(counts) == 1:
        axis.axvline(counts[0], color="0.45", linewidth=1.0, linestyle=(0, (2, 2)), zorder=0.95)


def _heights(lines: dict[str, pd.DataFrame], floor: float) -> tuple[float, float]:
    values = np.concatenate([table["median"].to_numpy(dtype=float) for table in lines.values()])
    values = values[np.isfinite(values) & (values > floor)]
    low = float(values.min(initial=1.0)) / 2.0
    return max(low, floor), float(values.max(initial=low * 10.0)) * _ABOVE**0.5


def _label(measured: list[str]) -> str:
    return " and ".join(_WORDS[name] for name in measured)


def _handles(measured: list[str], dashes: dict, rows: pd.DataFrame, x: str) -> list[Line2D]:
    found = []
    if len(measured) == 2:
        found = [
            Line2D([], [], color="0.3", marker="o", label=_WORDS[measured[0]]),
            Line2D([], [], color="0.3", linestyle=(0, (1, 1)), label=_WORDS[measured[1]]),
        ]
    found += [
        Line2D([], [], color="0.3", linestyle=dash, linewidth=1.0, label=f"bound of {theorem}")
        for theorem, dash in dashes.items()
    ]
    if x == "features" and "reference_features" in rows.columns:
        look = {"color": "0.45", "linewidth": 1.0, "linestyle": (0, (2, 2))}
        found.append(Line2D([], [], label="features of the reference", **look))
    return found
