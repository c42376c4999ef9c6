"""Steps or features that each accuracy takes, beside what theorems promise."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator
from pydantic import Field

from greedyexp.figures.axes import LogAxis, log_ticks, number_texts
from greedyexp.figures.looks import Looks
from greedyexp.figures.options import Panel, Row, apart, named_columns
from greedyexp.figures.panels import Panels, inside, laid_out
from greedyexp.figures.style import DASHES, assign
from greedyexp.frames import notes
from greedyexp.frames.accuracies import Growth, accuracies, growth, measured, promised
from greedyexp.frames.context import Context
from greedyexp.frames.labels import axis_label
from greedyexp.frames.records import replicates, told_apart
from greedyexp.frames.spread import spread_text
from greedyexp.frames.where import Where, rows_where, where_text
from greedyexp.registry import figure

Law = Annotated[
    Literal["power", "log"],
    Field(description="slope printed: the power of 1/epsilon, or steps for each factor of ten"),
]


@figure(
    "accuracy_curve",
    title="Steps to reach an accuracy",
    columns=lambda **given: [*named_columns("record", "epsilon")(**given), "theorem"],
    apart=apart,
)
def accuracy_curve(
    frame: pd.DataFrame,
    context: Context,
    *,
    panel: Panel = "theorem",
    row: Row = None,
    count: Annotated[
        Literal["steps", "features_needed"], Field(description="what is counted")
    ] = "steps",
    law: Annotated[dict[str, Law], Field(description="by theorem; power for the others")] = {},  # noqa: B006
    where: Where = {},  # noqa: B006
) -> Figure:
    """Steps k(epsilon) until the excess risk is at most epsilon, against epsilon, both logarithmic.

    Lines are medians over replicates with bands, one for each algorithm; dashed lines in its colour
    are what a theorem promises, so that a solid line above its dashed one refutes it. An accuracy
    that some replicate did not reach has a triangle at the top, open where none did. In each panel
    stands the growth that was measured: the mean over replicates of the slope of the least-squares
    line through all accuracies that it reached, with its 95% t interval. Replicates that failed are
    left out and counted below.
    """
    frame = rows_where(frame, where)
    frame, keys = told_apart(frame, context, row, panel, "algorithm")
    rows = accuracies(frame, keys, count)
    looks = Looks(rows, ["algorithm"])
    table, bounds = (
        measured(rows, frame, keys),
        promised(rows, [*dict.fromkeys([*keys, "theorem"])]),
    )
    theorems = list(dict.fromkeys(rows["theorem"]))
    dashes = (
        assign(theorems, DASHES[1:]) if panel != "theorem" else dict.fromkeys(theorems, DASHES[1])
    )
    along = LogAxis("epsilon", rows["epsilon"])
    limits = _limits(table, bounds)
    panels = Panels(laid_out(rows, context, row=row, panel=panel), width=3.6, height=2.9)
    for axis, values in panels:
        shown = inside(rows, values)
        said = []
        for label in sorted(shown["algorithm"].unique()):
            one = values | {"algorithm": label}
            _draw(axis, inside(table, one), looks.of(label), limits[1])
            for theorem, line in inside(bounds, one).groupby("theorem", sort=False):
                _promise(axis, line, looks.of(label)["color"], dashes[theorem])
            said += _grown(inside(rows, one), frame, law, looks.of(label)["color"])
        _scales(axis, along, limits)
        _write(axis, said)
        panels.title(axis, values, context)
    panels.label(axis_label("epsilon"), axis_label(count))
    panels.legend([*looks.handles(context), *_handles(dashes, panel, table)])
    told = where_text(where)
    panels.note([*([f"{told}."] if told else []), *_note(frame, rows, table, context, keys)])
    return panels.figure


def _draw(axis, points: pd.DataFrame, look: dict, top: float) -> None:
    ends = points[["low", "median", "high"]].clip(lower=1.0)
    known = np.isfinite(ends["median"])
    axis.fill_between(
        points["epsilon"][known],
        ends["low"][known],
        ends["high"][known].clip(upper=top),
        color=look["color"],
        alpha=0.15,
        linewidth=0,
    )
    axis.plot(points["epsilon"][known], ends["median"][known], **look, gid="measured")
    lost = points[points["reached"] < points["replicates"]]
    for none, cells in lost.groupby(lost["reached"] == 0):
        face = "white" if none else look["color"]
        axis.plot(
            cells["epsilon"],
            np.full(len(cells), top / 1.25),
            linestyle="none",
            marker="^",
            markersize=4,
            color=look["color"],
            markerfacecolor=face,
            gid="unreached",
        )


def _promise(axis, line: pd.DataFrame, colour, dash) -> None:
    known = line[np.isfinite(line["median"])]
    axis.plot(
        known["epsilon"],
        known["median"].clip(lower=1.0),
        color=colour,
        linestyle=dash,
        linewidth=1.1,
        zorder=1.8,
        gid="promise",
    )


def _grown(rows: pd.DataFrame, frame: pd.DataFrame, law: dict, colour) -> list[tuple]:
    """What is said of the growth of one line, once for each law that its theorems have."""
    laws = dict.fromkeys(law.get(theorem, "power") for theorem in rows["theorem"].unique())
    found = [(kind, growth(rows, frame, kind)) for kind in laws]
    return [(_words(kind, one), colour) for kind, one in found if one.known]


def _words(law: str, one: Growth) -> str:
    span = "" if np.isinf(one.low) else f" [{one.low:.3g}, {one.high:.3g}]"
    if law == "power":
        return rf"$\propto \varepsilon^{{-p}}$: p = {one.value:.3g}{span}"
    return f"per factor of ten: {one.value:.3g}{span}"


def _write(axis, said: list[tuple]) -> None:
    for place, (text, colour) in enumerate(said):
        axis.annotate(
            text,
            (0.03, 0.97),
            (0, -10 * place),
            xycoords="axes fraction",
            textcoords="offset points",
            va="top",
            fontsize=7,
            color=colour,
        )


def _limits(table: pd.DataFrame, bounds: pd.DataFrame) -> tuple[float, float]:
    ends = np.concatenate([table["high"], table["median"], bounds["median"]])
    ends = ends[np.isfinite(ends)]
    # Room above for what is said, in parts of the height.
    most = max(float(ends.max(initial=10.0)), 10.0)
    return 0.8, most ** (1 / 0.85) if most > 1 else 10.0


def _scales(axis, along: LogAxis, limits: tuple[float, float]) -> None:
    along.apply(axis)
    # Accuracies get finer to the right.
    axis.set_xlim(*reversed(axis.get_xlim()))
    axis.set_yscale("log")
    ticks = log_ticks(1.0, limits[1])
    axis.set_yticks(ticks, number_texts(ticks))
    axis.yaxis.set_minor_locator(NullLocator())
    axis.set_ylim(*limits)


def _handles(dashes: dict, panel: str | None, table: pd.DataFrame) -> list[Line2D]:
    if panel == "theorem":
        dashes = {"what the theorem promises": DASHES[1]}
    found = [
        Line2D([], [], color="0.3", linestyle=dash, linewidth=1.1, label=str(words))
        for words, dash in dashes.items()
    ]
    lost = table[table["reached"] < table["replicates"]]
    words = {True: "reached by no replicate", False: "not reached by some"}
    return found + [
        Line2D(
            [],
            [],
            linestyle="none",
            marker="^",
            color="0.3",
            markerfacecolor="white" if none else "0.3",
            label=words[none],
        )
        for none in sorted(set(lost["reached"] == 0))
    ]


def _note(frame, rows, table, context: Context, keys: list[str]) -> list[str]:
    lost = 1 - table["reached"].sum() / table["replicates"].sum()
    return [
        f"{notes.origin(context)}: {spread_text(table)}. Bounds are medians too.",
        f"{notes.failures_text(replicates(frame), 'left out')},"
        f" accuracy not reached: {lost:.2%} of all pairs of replicate and accuracy.",
        "Growth: mean over replicates of least-squares slopes, 95% t interval.",
        notes.pooled_text(rows, [*keys, "epsilon", "theorem", "reference"]),
    ]
