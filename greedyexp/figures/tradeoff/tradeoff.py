"""Accuracy against sparsity: the risk above that of a reference, with the bounds of theorems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, Field

from greedyexp.core.registry import figure
from greedyexp.figures import _plot as plot
from greedyexp.figures.tradeoff._curves import bounds, curves, recorded_steps
from greedyexp.results.context import Context
from greedyexp.results.records import group_columns, identity, replicates, rows_where
from greedyexp.results.summaries import spread_facts, spread_text
from greedyexp.results.text import failures_text, origin_text, title_text
from greedyexp.results.theorems import (
    WhereTheorem,
    names_known,
    random_text,
    refusal,
    refuse_unknown,
    theorem_title,
    title_theorem,
    without_theorem,
)
from greedyexp.results.words import axis_label, level_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch


def _distinct(values: list[str]) -> list[str]:
    for value in values:
        if values.count(value) > 1:
            raise refusal(f"duplicate value {value} in `measured`.", "Keep one.")
    return values


Along = Annotated[
    Literal["features", "step"], Field(description="quantity along the horizontal axis")
]
Measured = Annotated[
    list[Literal["excess", "gap", "risk"]],
    Field(min_length=1, max_length=2, description="quantities drawn; the first has markers"),
    AfterValidator(_distinct),
]
Theorems = Annotated[
    list[str] | None,
    Field(description="theorems whose bounds are drawn; all by default"),
    names_known("theorems"),
]
Floor = Annotated[
    float, Field(gt=0, description="smallest value that the vertical axis distinguishes from zero")
]

_TITLES = {"excess": "excess risk", "gap": "duality gap", "risk": "risk"}
# Dashes of bounds; a second measurement has the last ones.
_BOUNDS = (plot.LINES[1], plot.LINES[3], plot.LINES[4], plot.LINES[2])
_SECOND = _BOUNDS[-1]
# Bands are shown below the least median by at most this factor.
_BELOW = 10.0
# Height of the strip in parts of the axis above it.
_STRIP = 0.05
_SHADE = "0.93"
# Of the band of all numbers of features of the reference.
_RANGE: plot.Style = {"color": "0.96", "linewidth": 0}


def _columns(*, measured: Sequence[str], **params: Any) -> list[str]:
    # Features and risk of a step are in rows without theorem and reference, which ``where`` always
    # keeps.
    columns = ["record", "theorem", "reference", "step", "excess", "excess_bound"]
    columns += [name for name in measured if name != "risk"]
    return plot.reads(*columns, apart=plot.separate_algorithms)(**params)


@figure(
    "tradeoff", title="Accuracy against sparsity", columns=_columns, apart=plot.separate_algorithms
)
def tradeoff(
    frame: pd.DataFrame,
    context: Context,
    *,
    x: Along = "features",
    measured: Measured = ["excess"],  # noqa: B006
    panel: plot.Panel = None,
    row: plot.Row = None,
    theorems: Theorems = None,
    floor: Floor = 1e-12,
    where: WhereTheorem = {},  # noqa: B006
) -> Figure:
    """Risk above that of a reference predictor, against the number of features or steps.

    Along ``features``, a line shows the least value among the recorded predictors with at most that
    many nonzero coefficients; along ``step``, the value after that many steps. Lines are medians
    over replicates with bands; a line with a single number of features is a marker. Dashed curves
    are medians of the theorems' bounds on the excess after that many steps, which give at most as
    many features; the bound of Theorem 1 is for the mean over runs. A line in the strip at the
    bottom is at zero or below, for example because the predictor is better than the reference. The
    vertical line is at the median number of features of the reference, in a band from the smallest
    to the largest. Replicates that failed are left out and counted below.
    """
    from matplotlib.patches import Patch

    known = identity(frame)
    # Other records do not have the results chosen by ``where``.
    settings = {name: value for name, value in where.items() if name in known}
    results = {name: value for name, value in where.items() if name not in known}
    frame = rows_where(frame, settings)
    frame, keys = group_columns(frame, context, row, panel, "algorithm", merge=True)
    excess = "excess" in measured
    rows = recorded_steps(rows_where(frame, results), frame, keys, mixed=not excess)
    refuse_unknown("theorems", theorems or [], rows)
    styles = plot.LineStyles(rows, ["algorithm"], context, dashed=False)
    lines = {y: curves(rows, frame, keys, x, y) for y in dict.fromkeys(measured)}
    table = bounds(rows, frame, keys, x, theorems if excess else [])
    bound_styles = _bound_styles(table, styles, _BOUNDS[:-1] if len(lines) == 2 else _BOUNDS)
    vertical = _ExcessAxis(list(lines.values()), table["median"], floor)
    panels = plot.Panels.by_columns(rows, context, row, panel)
    last = float(max(points["at"].max() for points in lines.values()))
    marked: set[str] = set()
    reference = False
    along = "number of features" if x == "features" else axis_label("step")
    for axis, values in panels:
        for place, points in enumerate(lines.values()):
            for name, own in plot.inside(points, values).groupby("algorithm", sort=True):
                _draw(axis, own, styles.of(name), vertical, keys, along, second=place > 0)
        for (label, theorem), line in plot.inside(table, values).groupby(["algorithm", "theorem"]):
            positive = line["median"].where(line["median"] > 0)
            look = plot.bound_style(bound_styles[str(theorem)][0])
            look["color"] = styles.of(label)["color"]
            if plot.draw_bound(axis, line["at"], positive, look, theorem_title(str(theorem))):
                marked.add(str(theorem))
        if x == "features":
            reference |= _draw_reference(axis, plot.inside(rows, values))
        plot.iteration_axis(axis, last, "log")
        vertical.apply(axis)
        panels.title(axis, title_theorem(values), context)
    panels.label(along, " and ".join(_TITLES[name] for name in lines))
    handles: list[Artist] = []
    if len(lines) == 2:
        first, second = (_TITLES[name] for name in lines)
        handles.append(plot.legend_entry(first))
        handles.append(plot.legend_entry(second, linestyle=_SECOND))
    handles += [
        plot.bound_handle(theorem_title(theorem), dash, colour, marked=theorem in marked)
        for theorem, (dash, colour) in sorted(bound_styles.items())
    ]
    if reference:
        handles.append(plot.legend_entry("features of the reference", **plot.REFERENCE_LINE))
        handles.append(Patch(**_RANGE, label="its range over all runs"))
    too = " Bounds are medians too." if bound_styles else ""
    names = dict.fromkeys(rows["reference"])
    references = " or ".join(level_text("reference", name) for name in names)
    note = [
        f"{origin_text(context)}: {spread_text(lines[measured[0]])}.{too}",
        f"Reference of the excess risk: {references}." if excess else "",
        random_text(bound_styles, "a bound of the mean over runs"),
        failures_text(replicates(frame), "left out"),
    ]
    return panels.finish(
        *styles.legends(),
        [*handles, *vertical.handles(excess)],
        title=title_text(without_theorem(where), context),
        note=note,
    )


def _draw(
    axis: Axes,
    points: pd.DataFrame,
    style: plot.Style,
    vertical: _ExcessAxis,
    keys: list[str],
    along: str,
    *,
    second: bool,
) -> None:
    low, median, high = (vertical.heights(points[name]) for name in ("low", "median", "high"))
    colour = style["color"]
    behind, facts = points[keys], {along: points["at"]} | spread_facts(points, "median")
    if points["at"].nunique() == 1:
        shape: plot.Style = {"fmt": style["marker"], "color": colour, "gid": "measured"}
        face = "white" if second else colour
        bar = [median - low, high - median]
        # Other lines pass through it.
        edge = colour if second else "white"
        shape |= {"markersize": 8, "markeredgecolor": edge, "zorder": 3}
        bars = axis.errorbar(points["at"], median, yerr=bar, markerfacecolor=face, **shape)
        plot.attach(bars.lines[0], behind, facts)
        return
    if second:
        style = {"color": colour, "linestyle": _SECOND}
    axis.fill_between(points["at"], low, high, color=colour, alpha=0.13, linewidth=0)
    every = None if second else 0.12
    (line,) = axis.plot(points["at"], median, **style, markevery=every, gid="measured")
    plot.attach(line, behind, facts)


def _bound_styles(
    table: pd.DataFrame, styles: plot.LineStyles, dashes: Sequence[Any]
) -> dict[str, tuple[Any, str]]:
    """Return dashes and legend colour of each theorem."""
    found = {}
    for theorem, dash in plot.cycle(sorted(table["theorem"].unique()), dashes).items():
        labels = table.loc[table["theorem"] == theorem, "algorithm"].unique()
        found[theorem] = (dash, styles.of(labels[0])["color"] if len(labels) == 1 else plot.GREY)
    return found


def _draw_reference(axis: Axes, rows: pd.DataFrame) -> bool:
    """Draw a line at the median number of features of the reference, and a band of all."""
    if "reference_features" not in rows.columns or rows["reference"].nunique() > 1:
        return False
    counts = rows["reference_features"].dropna()
    if counts.empty:
        return False
    axis.axvline(counts.median(), **plot.REFERENCE_LINE, gid="reference")
    axis.axvspan(counts.min(), counts.max(), **_RANGE, zorder=0.4)
    return True


class _ExcessAxis:
    """A logarithmic vertical axis of risks, and a strip below for those at zero or below.

    Parameters
    ----------
    lines : sequence of DataFrame
        Measurements, from ``spread``.
    bounds : array_like
        Other values, shown up to a factor above the measurements.
    floor : float > 0
        Values up to ``floor`` count as zero.
    """

    def __init__(self, lines: Sequence[pd.DataFrame], bounds: Any, floor: float):
        import pandas as pd

        seen = pd.concat(list(lines))[["low", "median", "high"]].astype(float)
        bounds = np.asarray(bounds, dtype=float)
        above = seen.where(seen > floor)
        high = np.nanmax(above.to_numpy(), initial=2.0 * floor)
        median = np.nanmin(above["median"].to_numpy(), initial=high)
        band = np.nanmin(above["low"].to_numpy(), initial=median)
        self.low = max(max(band, median / _BELOW) / 1.5, floor)
        shown = bounds[np.isfinite(bounds)].max(initial=high)
        self.high = max(min(shown, plot.MAX_ABOVE * high) * 1.5, 10.0 * self.low)
        self.has_zero = bool((seen["median"] <= floor).any())
        decades = np.log10(self.high / self.low)
        self.bottom = self.low / 10 ** (_STRIP * decades) if self.has_zero else self.low

    def heights(self, values: pd.Series) -> pd.Series:
        """Return the heights of values: in the middle of the strip if they are zero or below."""
        return values.clip(lower=float(np.sqrt(self.low * self.bottom)))

    def apply(self, axis: Axes) -> None:
        """Set scale, ticks and limits, and shade the strip."""
        axis.set_yscale("log")
        plot.set_ticks(axis.yaxis, plot.log_ticks(self.low, self.high))
        axis.set_ylim(self.bottom, self.high)
        if self.has_zero:
            axis.axhspan(self.bottom, self.low, color=_SHADE, zorder=0.5, linewidth=0, gid="zero")

    def handles(self, excess: bool) -> list[Patch]:
        """Return the legend entry of the strip.

        Parameters
        ----------
        excess : bool
            True if an excess is drawn, which may be negative.
        """
        from matplotlib.patches import Patch

        label = "at or below the reference" if excess else "zero"
        return [Patch(color=_SHADE, linewidth=0, label=label)] if self.has_zero else []
