"""Coefficients over iterations, one line per coordinate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from greedyexp.core.errors import ConfigError
from greedyexp.core.registry import figure
from greedyexp.figures import _plot as plot

# Coordinates that a note names, in each panel.
_MAX_NAMED = 12
# Distance of the markers along a line, as a part of the diagonal of the panel.
_APART = 0.2
_GREY: plot.Style = {"color": "0.72", "linewidth": 0.7}


@figure(
    "coordinates",
    title="Coordinates",
    **plot.declared("record", "iteration", "coordinate", "coefficient"),
)
def coordinates(
    frame: plot.Frame,
    context: plot.Context,
    *,
    panel: plot.Panel = "algorithm",
    row: plot.Row = None,
    until: Annotated[int | None, Field(gt=0, description="last iteration shown")] = None,
    replicate: Annotated[
        int | None, Field(ge=0, description="replicate shown; the first by default")
    ] = None,
    scale: plot.IterationScale = "linear",
) -> plot.Figure:
    """The recorded coefficients of one replicate against the iteration, one line per coordinate.

    Lines have steps if every iteration is recorded. The coordinates that grow largest at any
    iteration have colours and markers, the same in all panels; the others are grey. Each panel
    shows the coordinates that its algorithm recorded.
    """
    frame, keys = plot.group_columns(frame, context, row, panel)
    rows = _rows(frame, keys, replicate)
    shown = rows if until is None else rows[rows["iteration"] <= until]
    looks = _looks(_largest(rows))

    def paths(axis: plot.Axes, values: Mapping[str, Any]) -> None:
        axis.axhline(0, color="0.6", linewidth=0.7, zorder=0.9)
        for coordinate, points in plot.inside(shown, values).groupby("coordinate", sort=True):
            points = points.sort_values("iteration")
            style = looks.get(coordinate, _GREY | {"zorder": 1.8})
            whole = points["iteration"].diff().max() <= 1
            style = style | {"drawstyle": "steps-post" if whole else "default", "gid": "path"}
            (path,) = axis.plot(points["iteration"], points["coefficient"], **style)
            behind = points[[*keys, "coordinate", "iteration", "replicate"]]
            plot.attach(path, behind, {"coefficient": points["coefficient"]})
        plot.iteration_axis(axis, shown["iteration"].max(), scale)

    handles = [
        plot.legend_entry(f"coordinate {coordinate:.0f}", **look)
        for coordinate, look in looks.items()
    ]
    if shown["coordinate"].nunique() > len(looks):
        handles.append(plot.legend_entry("other coordinates", **_GREY))
    number = rows["replicate"].iloc[0]
    origin, failures = plot.run_notes(frame, context, f"one replicate (number {number})")
    note = [origin, _counts_text(rows, keys), failures]
    panels = plot.Panels.by_columns(rows, context, row, panel)
    texts = plot.axis_label("iteration"), "coefficient"
    return plot.chart(panels, context, [paths], texts, [handles], note)


def _rows(frame: plot.Frame, keys: Sequence[str], replicate: int | None) -> plot.Frame:
    """Return the coefficients of one replicate, the first if None.

    Raises
    ------
    ConfigError
        If the replicate is not in the table, or a panel would mix several settings.
    """
    rows = plot.records(
        frame, "coordinate", keys, finite=["coordinate", "iteration", "coefficient"]
    )
    known = sorted(rows["replicate"].unique())
    chosen = known[0] if replicate is None else replicate
    if chosen not in known:
        raise ConfigError(
            f"the table has no coordinates of replicate {chosen}.",
            remedy=f"It has {', '.join(map(str, known[:8]))}{' ...' if len(known) > 8 else ''}.",
        )
    rows = rows[rows["replicate"] == chosen]
    if rows.duplicated([*keys, "coordinate", "iteration"]).any():
        raise ConfigError(
            "a panel would mix the coordinates of several settings.",
            remedy="Name the column that differs as row or panel, or run one setting.",
        )
    return rows


def _looks(coordinates: Sequence[Any]) -> dict[Any, plot.Style]:
    """Return the style of each coordinate; their markers are at different places along lines."""
    looks = plot.cycle(coordinates, list(zip(plot.COLOURS, plot.MARKERS, strict=True)))
    return {
        coordinate: {
            "color": colour,
            "marker": marker,
            "markersize": 3.5,
            "markevery": (_APART * rank / len(looks), _APART),
            "linewidth": 1.2,
            "zorder": 2.2,
        }
        for rank, (coordinate, (colour, marker)) in enumerate(looks.items())
    }


def _largest(rows: plot.Frame) -> list[Any]:
    """Return the coordinates to tell apart: those that grow largest in any panel."""
    sizes = rows["coefficient"].abs().groupby(rows["coordinate"]).max()
    # The lower of two tied coordinates comes first, whatever the order of the rows.
    order = sizes.sort_index().sort_values(ascending=False, kind="stable")
    return sorted(order.index[: len(plot.COLOURS)])


def _counts_text(rows: plot.Frame, keys: list[str]) -> str:
    """Return the numbers of coordinates shown and of all, and name those shown if they are few."""
    import pandas as pd

    by_panel = rows.groupby(keys)["coordinate"] if keys else rows["coordinate"]
    counts = pd.Series(by_panel.nunique())
    sizes = list(rows["p"].dropna().unique()) if "p" in rows.columns else []
    of_all = f" of {sizes[0]:.0f}" if len(sizes) == 1 else ""
    known = sorted(rows["coordinate"].unique())
    names = ", ".join(f"{coordinate:.0f}" for coordinate in known)
    among = "; over all panels" if len(known) > counts.max() else ""
    named = f"{among}: {names}" if len(known) <= _MAX_NAMED else ""
    count = f"{plot.count_text(counts)}{of_all} coordinates in each panel"
    return f"{count}, those that grow largest{named}"
