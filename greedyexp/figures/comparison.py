"""Means of metrics, their differences and ratios, next to the numbers that a paper published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.core.registry import figure
from greedyexp.figures import _plot as plot
from greedyexp.stats.level import INTERVAL

# Large rings, visible around a mean that equals them.
_PUBLISHED: plot.Style = {
    "linestyle": "none",
    "markerfacecolor": "none",
    "markersize": 7,
    "zorder": 3,
}
# Beyond this number, ticks are thinned out and markers are smaller.
_MAX_TICKS = 12
_COUNTS = {"failed": "failed", "published": "published"}
_OF = {"difference": "difference in", "ratio": "ratio of"}


# Parameters.
Bounds = Annotated[
    dict[str, str], Field(description="metric: the metric that bounds it, drawn dashed")
]
_BOUND = plot.LINES[1]


def _columns(*, metrics: plot.Metrics, bounds: Mapping[str, str], **params: Any) -> list[str]:
    return plot.metric_columns(metrics=[*metrics, *bounds.values()], **params)


@figure(
    "comparison",
    title="Comparison",
    columns=_columns,
    apart=plot.separate_algorithms,
    by_algorithm="published",
)
def comparison(
    frame: plot.Frame,
    context: plot.Context,
    *,
    row: Annotated[str, Field(description="column along the horizontal axes")],
    metrics: plot.Metrics,
    panel: plot.Panel = None,
    published: plot.Published = {},  # noqa: B006 - a default that pydantic copies
    against: plot.Against = {},  # noqa: B006
    by: plot.By = "difference",
    bounds: Bounds = {},  # noqa: B006
    where: plot.Where = {},  # noqa: B006
) -> plot.Figure:
    """One panel for each metric: its mean against ``row``, one line for each algorithm.

    With ``panel`` there is a row of panels for each value of that column, or a single row if there
    is one metric. Published numbers are shown in all of them.

    With ``against`` there is a line for each pair of algorithms: the difference or the ratio of
    their means on the same data sets, with its paired interval, and a dashed line where both are
    equal.

    Bars are t intervals; those of shares of successes are as in ``phase_transition``, and those
    of their differences are Newcombe's. Lines are shifted by a few points with their bars, so that
    bars do not overlap; hollow markers are the published numbers. A replicate that failed has no
    value; means are over the others, and the failures are counted below. With one replicate, for
    example because data are fixed, there are no bars.
    """
    shown = plot.metric_styles(metrics)
    _refuse_unknown_bounds(bounds, shown)
    frame = plot.merged_where(frame, context, where)
    known = {context.entry(label, list(where)): numbers for label, numbers in published.items()}
    settings: Any = {"row": row, "panel": panel}
    table = plot.compare(
        frame, context, metrics=shown, published=known, against=against, by=by, **settings
    )
    styled = {bound: shown[metric] for metric, bound in bounds.items()}
    promised = table.iloc[:0]
    if bounds:
        promised = plot.compare(frame, context, metrics=styled, published={}, **settings)
    drawn = _named(context, against, by) if against else context
    styles = plot.LineStyles(table, ["algorithm"], drawn, dashed=not bounds)
    # Even steps: values such as 10, 20, 40 would otherwise crowd at one end.
    places = {level: i for i, level in enumerate(sorted(table[row].unique()))}
    ticks = _thinned(list(places))
    table, promised = (one.assign(place=one[row].map(places)) for one in (table, promised))
    alone = len(shown) == 1
    rows = [{panel: level} if panel else {} for level in plot.panel_levels(frame, panel, context)]
    grid = [[{**values, "metric": name} for name in shown] for values in rows]
    panels = plot.Panels([[*chain(*grid)]] if alone else grid, sharey=alone)
    equal = plot.EQUAL[by] if against else None

    def scales(axis: plot.Axes, values: Mapping[str, Any]) -> None:
        metric, bound = values["metric"], bounds.get(values["metric"])
        heading = f"{_OF[by]} " * bool(against) + shown[metric].heading(metric)
        panels.label_panel(axis, plot.axis_label(row, context.counted), heading)
        axis.set_xticks([places[level] for level in ticks], list(map(plot.number_text, ticks)))
        axis.set_xlim(-0.4, len(places) - 0.6)
        there = plot.inside(promised, {**values, "metric": bound})
        # Panels of one metric have one scale.
        here, most = (table, promised) if alone else (plot.inside(table, values), there)
        _set_heights(axis, shown[metric], here, [*most["estimate"], *([equal] * bool(against))])
        if equal is not None:
            axis.axhline(equal, **plot.REFERENCE_LINE, gid="equal")
        for name, own in there.groupby("algorithm", sort=True):
            style = styles.of(name)
            look = (plot.bound_style(_BOUND, style), f"bound of {style['label']}")
            plot.draw_bound(axis, own["place"], own["estimate"], *look)

    def printed_marks(axis: plot.Axes, values: Mapping[str, Any]) -> None:
        points = plot.inside(table, values)
        for label, line in points.groupby("algorithm", sort=True):
            shift = styles.shift(label) if points["low"].notna().any() else 0.0
            moved = {"label": None, "transform": plot.shifted(axis, shift), "gid": "published"}
            axis.plot(line["place"], line["published"], **styles.of(label) | _PUBLISHED | moved)

    look = {"markersize": 4.0 if len(places) <= _MAX_TICKS else 3.0}
    keys, counts = ["algorithm", row, *([panel] if panel else [])], {**plot.REPLICATES, **_COUNTS}
    curves = []
    for metric, style in shown.items():
        about = plot.told_apart({"mean": style.heading(metric)}, [INTERVAL, *counts])["mean"]
        curve = (table[table["metric"] == metric], "place", keys, styles, about, INTERVAL, counts)
        curves.append(plot.Curves(*curve, bars=True, look=look))
    printed = [plot.legend_entry("published", marker="o", **_PUBLISHED)]
    legends = [
        *styles.legends(),
        printed if table["published"].notna().any() else [],
        [plot.bound_handle("bound", _BOUND)] if bounds else [],
    ]
    numbers = plot.contrast_text(table, by, frame, context) if against else ""
    return plot.chart(
        panels,
        context,
        [scales, *curves, printed_marks],
        None,
        legends,
        plot.comparison_notes(frame, context, table, numbers),
        where,
        titled=lambda values: {panel: values[panel]} if panel else None,
    )


def _refuse_unknown_bounds(
    bounds: Mapping[str, str], shown: Mapping[str, plot.MetricStyle]
) -> None:
    for metric in bounds:
        if metric not in shown:
            raise ConfigError(
                f"`bounds` names '{metric}', which is not shown.",
                remedy=did_you_mean(metric, sorted(shown)),
            )


def _named(context: plot.Context, against: Mapping[str, str], by: str) -> plot.Context:
    """Return the context in which the first algorithm of each pair has the title of the pair."""
    titles = {label: context.titles.get(label, label) for pair in against.items() for label in pair}
    sign = " − " if by == "difference" else " / "
    pairs = {label: f"{titles[label]}{sign}{titles[other]}" for label, other in against.items()}
    return replace(context, titles=context.titles | pairs)


def _set_heights(
    axis: plot.Axes, metric: plot.MetricStyle, points: plot.Frame, others: Sequence[float | None]
) -> None:
    """Set scale and limits of a vertical axis that shows points, their intervals and others.

    Raises
    ------
    ConfigError
        If the axis is logarithmic and an estimate is not positive.
    """
    inner, ends = (np.ravel(points[c]) for c in (["estimate", "published"], ["low", "high"]))
    inner = np.append(inner, np.asarray(others, dtype=float))
    # A logarithmic axis is not stretched for an interval that extends to 0.
    tested = None
    if metric.axis == "log":
        if (inner <= 0).any():
            raise ConfigError(
                "a logarithmic axis needs positive means.", remedy="Leave out `axis: log`."
            )
        tested = np.nanmin(inner) / 10, np.nanmax(inner) * 10
    plot.set_limits(axis, inner, ends, tested, metric.axis)


def _thinned(levels: list) -> list:
    """Return the values that get a tick: all if there are few, else round or evenly spaced ones."""
    if len(levels) <= _MAX_TICKS:
        return levels
    if not isinstance(levels[0], str):
        for step in (2, 5, 10, 20, 50, 100):
            named = [level for level in levels if level % step == 0]
            if 3 <= len(named) <= _MAX_TICKS:
                return named
    return levels[:: -(-len(levels) // _MAX_TICKS)]
