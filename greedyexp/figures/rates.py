"""How much of the gap an iteration takes away, measured and predicted, against the shape."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from pydantic import Field

from greedyexp.core.errors import ConfigError
from greedyexp.core.registry import figure
from greedyexp.figures.axes import LogAxis
from greedyexp.figures.marks import Mark, draw_mark, mark_handle
from greedyexp.figures.options import Line, Panel, Row, apart, named_columns
from greedyexp.figures.panels import Panels, inside, laid_out
from greedyexp.figures.strands import Strands
from greedyexp.results import notes
from greedyexp.results.context import Context
from greedyexp.results.counts import require_columns, require_numbers, require_numeric
from greedyexp.results.labels import axis_label
from greedyexp.results.records import records, replicates, told_apart
from greedyexp.results.spread import spread, spread_text

_DOTS = {"linewidth": 1.1, "linestyle": (0, (1, 1.5)), "zorder": 1.8}


@figure(
    "rates",
    title="Rates of convergence",
    columns=named_columns("record", "rate", "predicted_rate"),
    apart=apart,
)
def rates(
    frame: pd.DataFrame,
    context: Context,
    *,
    x: Annotated[str, Field(description="column along the horizontal axis")] = "aspect_ratio",
    panel: Panel = None,
    row: Row = None,
    line: Line = ["algorithm", "n_samples"],  # noqa: B006 - a default that pydantic copies
    scale: Annotated[
        Literal["linear", "log"], Field(description="scale of the horizontal axis")
    ] = "log",
    mark: Mark = 1.0,
) -> Figure:
    """The part of the gap that one iteration takes away, 1 - rate, against ``x``.

    Rates near 1 differ in their distance from 1, so that is what the logarithmic axis shows: a
    tenth of the height takes ten times the iterations. Lines are medians over replicates with
    bands; dotted curves are predictions for large random designs, which are not bounds and are
    drawn where they are below 1. Replicates that failed are left out and counted below, as are
    those without a rate.
    """
    frame, keys = told_apart(frame, context, row, panel, *line, x)
    rows = _rows(frame, keys, x)
    table = spread(rows.dropna(subset=["kept"]), keys, "kept")
    along = LogAxis(x, rows[x]) if scale == "log" else None
    strands = Strands(rows, line)
    panels = Panels(laid_out(rows, context, row=row, panel=panel), width=4.2, height=3.2)
    for axis, values in panels:
        axis.set_yscale("log")
        for key in strands.keys(inside(rows, values)):
            one = values | dict(zip(line, key, strict=True))
            _draw_rate(axis, inside(table, one), x, along, strands.of(key))
            _draw_prediction(axis, inside(rows, one), x, along, strands.of(key)["color"])
        axis.set_ylim(*_heights(table))
        if along:
            along.apply(axis)
        draw_mark(axis, inside(rows, values), mark)
        panels.title(axis, values, context)
    panels.label(axis_label(x), "part of the gap taken away per iteration, 1 − rate")
    dots = Line2D([], [], color="0.3", label="asymptotic prediction, not a bound", **_DOTS)
    predicted = [dots] if rows["predicted"].notna().any() else []
    panels.legend([*strands.handles(context), *predicted, *mark_handle(mark, x)])
    panels.note(_note(frame, rows, table, context))
    return panels.figure


def _rows(frame: pd.DataFrame, keys: list[str], x: str) -> pd.DataFrame:
    """Measured and predicted 1 - rate, nan where it is not positive or not known."""
    rows = records(frame, "rate", keys)
    require_numbers(rows, x)
    require_columns(rows, ["rate", "predicted_rate"])
    for name in ("rate", "predicted_rate"):
        require_numeric(rows, name)
    if not (rows["rate"] < 1).any():
        raise ConfigError(
            "no replicate has a rate below 1.", remedy="Let the protocol make more iterations."
        )
    kept, predicted = 1 - rows["rate"].astype(float), 1 - rows["predicted_rate"].astype(float)
    return rows.assign(kept=kept.where(kept > 0), predicted=predicted.where(predicted > 0))


def _draw_rate(axis, points: pd.DataFrame, x: str, along: LogAxis | None, look: dict) -> None:
    at = along.places(points[x]) if along else points[x]
    axis.fill_between(
        at, points["low"], points["high"], color=look["color"], alpha=0.15, linewidth=0
    )
    axis.plot(at, points["median"], **look, gid="rate")


def _draw_prediction(axis, rows: pd.DataFrame, x: str, along: LogAxis | None, colour) -> None:
    # Replicates at one x have one prediction unless their sizes differ; a curve has one height.
    heights = rows.groupby(x, sort=True)["predicted"].median()
    at = along.places(pd.Series(heights.index)) if along else heights.index
    if heights.notna().any():
        axis.plot(np.asarray(at), heights.to_numpy(), color=colour, gid="prediction", **_DOTS)


def _heights(table: pd.DataFrame) -> tuple[float, float]:
    """Limits for what is measured; a prediction may go to 0, where the axis does not follow."""
    if table.empty:
        return 0.1, 1.0
    low, high = table["low"].min(), table["high"].max()
    margin = max((high / low) ** 0.05, 1.15)
    return low / margin, high * margin


def _note(
    frame: pd.DataFrame, rows: pd.DataFrame, table: pd.DataFrame, context: Context
) -> list[str]:
    unknown, still = int(rows["rate"].isna().sum()), int((rows["rate"] >= 1).sum())
    lines = [
        f"{notes.origin(context)}: {spread_text(table)}",
        notes.failures_text(replicates(frame), "left out"),
    ]
    if unknown:
        lines.append(f"Replicates whose rate could not be measured, left out: {unknown}.")
    if still:
        lines.append(f"Replicates whose gap did not shrink, left out: {still}.")
    return lines
