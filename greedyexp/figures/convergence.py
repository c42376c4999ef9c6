"""Distance of the objective from its minimum along the iterations, beside what is proved of it."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from pydantic import Field

from greedyexp.core.registry import figure
from greedyexp.figures.axes import iteration_axis
from greedyexp.figures.options import Line, Panel, Row, apart, named_columns
from greedyexp.figures.panels import Panels, inside, laid_out
from greedyexp.figures.promises import ABOVE
from greedyexp.figures.strands import Strands
from greedyexp.results import notes
from greedyexp.results.context import Context
from greedyexp.results.labels import axis_label, number
from greedyexp.results.records import replicates, told_apart
from greedyexp.results.spread import spread_text
from greedyexp.results.trajectories import TWICE, curve, trajectories

# Dashes and words of what is drawn beside the measured gap.
_KINDS = {
    "guarantee": ((0, (5, 2)), "proved bound"),
    TWICE: ((0, (5, 1.5, 1, 1.5, 1, 1.5)), "exponent 2k, not a bound"),
    "prediction": ((0, (1, 1.5)), "asymptotic prediction, not a bound"),
    "local_guarantee": ((0, (6, 1.5, 1, 1.5)), "proved bound on the final support"),
}


@figure(
    "convergence",
    title="Convergence",
    columns=named_columns("record", "iteration", "gap"),
    apart=apart,
    by_algorithm="twice",
)
def convergence(
    frame: pd.DataFrame,
    context: Context,
    *,
    line: Line = ["algorithm"],  # noqa: B006 - a default that pydantic copies
    panel: Panel = None,
    row: Row = None,
    scale: Annotated[
        Literal["linear", "log"], Field(description="scale of the iterations")
    ] = "linear",
    until: Annotated[int | None, Field(gt=0, description="last iteration shown")] = None,
    guarantee: Annotated[bool, Field(description="draw proved bounds in the table")] = True,
    prediction: Annotated[bool, Field(description="draw predictions in the table")] = True,
    local: Annotated[bool, Field(description="draw bounds on the final support")] = True,
    twice: Annotated[
        list[str], Field(description="algorithms whose bound is drawn with exponent 2k as well")
    ] = [],  # noqa: B006
    floor: Annotated[
        float, Field(gt=0, description="gap at and below which nothing but rounding is seen")
    ] = 1e-15,
) -> Figure:
    """The objective above its minimum against the iteration, one line per algorithm or other key.

    Lines are medians over replicates with bands, as far as all replicates go. Dashed curves are
    bounds that are proved, dash-dotted ones those on the final support from where all iterates have
    it; dotted ones are asymptotic predictions, which are not bounds. All are medians too, a bound
    that a replicate does not have yet being infinite, and the axis is not stretched far for them.
    ``twice`` adds the curve of an algorithm's bound with twice its exponent, guarantee^2 / gap_0,
    which some plots show. It is no bound of coordinate descent: with two orthonormal columns of
    equal weight the first step from zero breaks it. A line ends before its gap first reaches
    ``floor``. Replicates that failed are left out and counted below.
    """
    frame, keys = told_apart(frame, context, row, panel, *line)
    rows = trajectories(frame, keys, until=until)
    wanted = {"guarantee": guarantee, "prediction": prediction, "local_guarantee": local}
    curves = {kind: curve(rows, keys, kind) for kind, draw in wanted.items() if draw}
    curves[TWICE] = curve(_of_algorithms(rows, twice, context), keys, TWICE)
    curves = {kind: curves[kind] for kind in _KINDS if len(curves.get(kind, ()))}
    measured = curve(rows, keys, "gap")
    strands = Strands(rows, line)
    panels = Panels(laid_out(rows, context, row=row, panel=panel), narrowest=2.1)
    for axis, values in panels:
        for key in strands.keys(inside(rows, values)):
            one = values | dict(zip(line, key, strict=True))
            _draw_gap(axis, inside(measured, one), strands, key, floor)
            for kind, table in curves.items():
                bound = inside(table, one)
                if len(bound):
                    _draw_bound(axis, bound, kind, strands.of(key)["color"])
        _apply_scales(axis, measured, curves, scale, floor)
        panels.title(axis, values, context)
    panels.label(axis_label("iteration"), axis_label("gap"))
    kinds = [_handle(kind) for kind in curves]
    panels.legend([*strands.handles(context), *kinds])
    cut = measured["low"].le(floor).any()
    said = _note(frame, measured, context)
    likewise = "Bounds and predictions are medians too." if curves else ""
    panels.note([*said, likewise, _floor_text(floor, cut)])
    return panels.figure


def _of_algorithms(rows: pd.DataFrame, named: list[str], context: Context) -> pd.DataFrame:
    names = rows["algorithm"].map(lambda label: context.algorithms.get(label, label))
    return rows[rows["algorithm"].isin(named) | names.isin(named)]


def _draw_gap(axis, points: pd.DataFrame, strands: Strands, key: tuple, floor: float) -> None:
    look = strands.of(key)
    # What comes after the first gap at the floor is rounding too.
    points = points[~points["median"].le(floor).cummax()]
    heights = points[["low", "median", "high"]].clip(lower=floor)
    at = points["iteration"]
    axis.fill_between(
        at, heights["low"], heights["high"], color=look["color"], alpha=0.15, linewidth=0
    )
    every = strands.stagger(key, 0.16)
    axis.plot(at, heights["median"], **look, markevery=every, gid="gap")


def _draw_bound(axis, points: pd.DataFrame, kind: str, colour) -> None:
    heights = points["median"].where(points["median"] > 0)
    dash, _ = _KINDS[kind]
    axis.plot(
        points["iteration"],
        heights,
        color=colour,
        linestyle=dash,
        linewidth=1.0,
        gid=kind,
        zorder=1.8,
    )


def _apply_scales(axis, measured: pd.DataFrame, curves: dict, scale: str, floor: float) -> None:
    iteration_axis(axis, measured["iteration"].max(), scale)
    axis.set_yscale("log")
    axis.set_ylim(*_heights(measured, curves, floor))


def _heights(measured: pd.DataFrame, curves: dict, floor: float) -> tuple[float, float]:
    """All that is measured, and as much of the bounds as does not squeeze it."""
    seen = measured[["median", "high"]].clip(lower=floor)
    low, high = float(seen["median"].min()), float(seen.to_numpy().max())
    ends = [high]
    for table in curves.values():
        final = table.loc[table["iteration"] == table["iteration"].max(), "median"]
        ends += [end for end in final if np.isfinite(end)]
    top = min(max(ends), ABOVE * high)
    margin = (top / low) ** 0.04 if top > low else 2.0
    return low / margin, top * margin


def _handle(kind: str) -> Line2D:
    dash, label = _KINDS[kind]
    return Line2D([], [], color="0.3", linewidth=1.0, linestyle=dash, label=label)


def _note(frame: pd.DataFrame, measured: pd.DataFrame, context: Context) -> list[str]:
    return [
        f"{notes.origin(context)}: {spread_text(measured)}",
        notes.failures_text(replicates(frame), "left out"),
    ]


def _floor_text(floor: float, cut: bool) -> str:
    if not cut:
        return ""
    return f"Lines end before the gap first is at most {number(floor)}; bands are cut off there."
