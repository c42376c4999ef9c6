"""Coefficients along the iterations: which coordinates a method moves, and when."""

from __future__ import annotations

from typing import Annotated, Literal

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from pydantic import Field

from greedyexp.core.registry import figure
from greedyexp.figures.axes import iteration_axis
from greedyexp.figures.options import Panel, Row, apart, named_columns
from greedyexp.figures.panels import Panels, inside, laid_out
from greedyexp.figures.style import COLOURS, assign
from greedyexp.results import notes
from greedyexp.results.context import Context
from greedyexp.results.labels import axis_label
from greedyexp.results.records import replicates, told_apart
from greedyexp.results.trajectories import coordinates as coordinate_rows

# Coordinates that a note names one by one, in each panel.
_NAMED = 12


@figure(
    "coordinates",
    title="Coordinates",
    columns=named_columns("record", "iteration", "coordinate", "coefficient"),
    apart=apart,
)
def coordinates(
    frame: pd.DataFrame,
    context: Context,
    *,
    panel: Panel = "algorithm",
    row: Row = None,
    until: Annotated[int | None, Field(gt=0, description="last iteration shown")] = None,
    replicate: Annotated[
        int | None, Field(ge=0, description="replicate shown; the first when not given")
    ] = None,
    scale: Annotated[
        Literal["linear", "log"], Field(description="scale of the iterations")
    ] = "linear",
) -> Figure:
    """The recorded coefficients of one replicate against the iteration, one line per coordinate.

    The coordinates that grow largest at any iteration have colours, the same in all panels; the
    others are grey.
    Each panel shows the coordinates that its algorithm recorded.
    """
    frame, keys = told_apart(frame, context, row, panel)
    rows = coordinate_rows(frame, keys, replicate)
    shown = rows if until is None else rows[rows["iteration"] <= until]
    colours = assign(_largest(rows), COLOURS)
    panels = Panels(laid_out(rows, context, row=row, panel=panel))
    for axis, values in panels:
        axis.axhline(0, color="0.6", linewidth=0.7, zorder=0.9)
        for coordinate, points in inside(shown, values).groupby("coordinate", sort=True):
            points = points.sort_values("iteration")
            axis.plot(
                points["iteration"], points["coefficient"], **_look(coordinate, colours), gid="path"
            )
        iteration_axis(axis, shown["iteration"].max(), scale)
        panels.title(axis, values, context)
    panels.label(axis_label("iteration"), "coefficient")
    panels.legend(_handles(colours, shown))
    chosen = rows["replicate"].iloc[0]
    panels.note(
        [
            f"{notes.origin(context)}: replicate {chosen}",
            _shown_text(rows, keys),
            notes.failures_text(replicates(frame), "left out"),
        ]
    )
    return panels.figure


def _largest(rows: pd.DataFrame) -> list[int]:
    """The coordinates that get colours, those that grow largest in any panel."""
    sizes = rows["coefficient"].abs().groupby(rows["coordinate"]).max()
    # The lower of equal ones, so that the choice does not depend on the order of the rows.
    order = sizes.sort_index().sort_values(ascending=False, kind="stable")
    return sorted(order.index[: len(COLOURS)])


def _look(coordinate: int, colours: dict) -> dict:
    if coordinate in colours:
        return {"color": colours[coordinate], "linewidth": 1.2, "zorder": 2.2}
    return {"color": "0.72", "linewidth": 0.7, "zorder": 1.8}


def _handles(colours: dict, rows: pd.DataFrame) -> list[Line2D]:
    handles = [
        Line2D([], [], color=colour, label=f"coordinate {coordinate:.0f}")
        for coordinate, colour in colours.items()
    ]
    if rows["coordinate"].nunique() > len(colours):
        handles.append(Line2D([], [], color="0.72", linewidth=0.7, label="other coordinates"))
    return handles


def _shown_text(rows: pd.DataFrame, keys: list[str]) -> str:
    """How many coordinates are shown, of how many, and which while they are few."""
    by_panel = rows.groupby(keys)["coordinate"] if keys else rows["coordinate"]
    counts = by_panel.nunique() if keys else pd.Series([by_panel.nunique()])
    count = notes.count_text(counts.min(), counts.max())
    sizes = rows["p"].dropna().unique() if "p" in rows.columns else []
    of_all = f" of {sizes[0]:.0f}" if len(sizes) == 1 else ""
    known = sorted(rows["coordinate"].unique())
    which = ", ".join(f"{coordinate:.0f}" for coordinate in known)
    named = f": {which}" if len(known) <= _NAMED else ""
    return f"{count}{of_all} coordinates in each panel, those that grow largest{named}"
