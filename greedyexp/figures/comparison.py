"""Means of metrics, their differences and ratios, next to the numbers that a paper published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.core.registry import figure
from greedyexp.figures import _plot as plot
from greedyexp.results.context import Context
from greedyexp.results.pairs import EQUAL, Against, By, compare_pairs, contrast_text
from greedyexp.results.records import Where, merged_where
from greedyexp.results.summaries import (
    Metrics,
    MetricStyle,
    Published,
    compare_means,
    comparison_notes,
    metric_columns,
    metric_styles,
)
from greedyexp.results.text import title_text
from greedyexp.results.words import axis_label, number_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Large rings, visible around a mean that equals them.
_PUBLISHED: plot.Style = {
    "linestyle": "none",
    "markerfacecolor": "none",
    "markersize": 7,
    "zorder": 3,
}
# Beyond this number, ticks are thinned out and markers are smaller.
_MAX_TICKS = 12
_OF = {"difference": "difference in", "ratio": "ratio of"}


# Parameters.
Bounds = Annotated[
    dict[str, str], Field(description="metric: the metric that bounds it, drawn dashed")
]
_BOUND = plot.LINES[1]


def _columns(*, metrics: Metrics, bounds: Mapping[str, str], **params: Any) -> list[str]:
    return metric_columns(metrics=[*metrics, *bounds.values()], **params)


@figure(
    "comparison",
    title="Comparison",
    columns=_columns,
    apart=plot.separate_algorithms,
    by_algorithm="published",
)
def comparison(
    frame: pd.DataFrame,
    context: Context,
    *,
    row: Annotated[str, Field(description="column along the horizontal axes")],
    metrics: Metrics,
    panel: plot.Panel = None,
    published: Published = {},  # noqa: B006 - a default that pydantic copies
    against: Against = {},  # noqa: B006
    by: By = "difference",
    bounds: Bounds = {},  # noqa: B006
    where: Where = {},  # noqa: B006
) -> Figure:
    """One panel for each metric: its mean against ``row``, one line for each algorithm.

    With ``panel`` there is a row of panels for each value of that column, or a single row if there
    is one metric. Published numbers are shown in all of them.

    With ``against`` there is a line for each pair of algorithms: the difference or the ratio of
    their means on the same data sets, with its paired interval, and a dashed line where both are
    equal.

    Bars are 95% t intervals. Lines are shifted by a few points with their bars, so that bars do not
    overlap; hollow markers are the published numbers. A replicate that failed has no value; means
    are over the others, and the failures are counted below. With one replicate, for example because
    data are fixed, there are no bars.
    """
    import pandas as pd

    shown = metric_styles(metrics)
    _refuse_unknown_bounds(bounds, shown)
    frame = merged_where(frame, context, where)
    published = {context.entry(label, list(where)): known for label, known in published.items()}
    tables, promises = [], []
    for level in plot.panel_levels(frame, panel, context):
        own = {} if panel is None else {panel: level}
        part = plot.inside(frame, own)
        settings: Any = {"row": row, "metrics": shown, "published": published}
        if against:
            found = compare_pairs(part, context, against=against, by=by, **settings)
        else:
            found = compare_means(part, context, **settings)
        tables.append(found.assign(**own))
        styled = {bound: shown[metric] for metric, bound in bounds.items()}
        if bounds:
            promise = compare_means(part, context, row=row, metrics=styled, published={})
            promises.append(promise.assign(**own))
    table = pd.concat(tables, ignore_index=True)
    promised = pd.concat(promises, ignore_index=True) if promises else table.iloc[:0]
    drawn = _named(context, against, by) if against else context
    styles = plot.LineStyles(table, ["algorithm"], drawn, dashed=not bounds)
    # Even steps: values such as 10, 20, 40 would otherwise crowd at one end.
    places = {level: i for i, level in enumerate(sorted(table[row].unique()))}
    ticks = _thinned(list(places))
    levels = plot.panel_levels(frame, panel, context)
    grid = [[({panel: level} if panel else {}, name) for name in shown] for level in levels]
    if len(shown) == 1:
        grid = [[cell for cells in grid for cell in cells]]
    panels = plot.Panels(grid, sharey=len(shown) == 1)
    for axis, (values, metric) in panels:
        here, there = (plot.inside(one, values) for one in (table, promised))
        points = here[here["metric"] == metric].assign(place=here[row].map(places))
        bound = there[there["metric"] == bounds.get(metric)].assign(place=there[row].map(places))
        heading = shown[metric].heading(metric)
        label = f"{_OF[by]} {heading}" if against else heading
        panels.label_panel(axis, axis_label(row, context.counted), label)
        axis.set_xticks([places[level] for level in ticks], list(map(number_text, ticks)))
        axis.set_xlim(-0.4, len(places) - 0.6)
        equal = EQUAL[by] if against else None
        # Panels of one metric have one scale.
        seen, most = (table, promised) if len(shown) == 1 else (points, bound)
        _set_heights(axis, shown[metric], seen, [*most["value"], *([equal] if against else [])])
        _draw(axis, points, styles, shown[metric], _Beside(equal, bound, [row, *values]))
        if values:
            panels.title(axis, values, context)
    printed = [plot.legend_entry("published", marker="o", **_PUBLISHED)]
    numbers = contrast_text(table, by, context) if against else ""
    return panels.finish(
        *styles.legends(),
        printed if table["published"].notna().any() else [],
        [plot.bound_handle("bound", _BOUND)] if bounds else [],
        title=title_text(where, context),
        note=comparison_notes(frame, context, table, numbers),
    )


@dataclass(frozen=True)
class _Beside:
    """What is drawn beside the means of a panel.

    Parameters
    ----------
    equal : float, optional
        Height of a horizontal line, where two algorithms are equal.
    bounds : DataFrame
        Bounds on the means, with the columns of ``compare_means`` and ``place``; may be empty.
    keys : list of str
        Columns that, with ``algorithm``, tell the points of the panel apart.
    """

    equal: float | None
    bounds: pd.DataFrame
    keys: list[str]


def _refuse_unknown_bounds(bounds: Mapping[str, str], shown: Mapping[str, MetricStyle]) -> None:
    for metric in bounds:
        if metric not in shown:
            raise ConfigError(
                f"`bounds` names '{metric}', which is not shown.",
                remedy=did_you_mean(metric, sorted(shown)),
            )


def _named(context: Context, against: Mapping[str, str], by: str) -> Context:
    """Return the context in which the first algorithm of each pair has the title of the pair."""
    titles = {label: context.titles.get(label, label) for pair in against.items() for label in pair}
    sign = " − " if by == "difference" else " / "
    pairs = {label: f"{titles[label]}{sign}{titles[other]}" for label, other in against.items()}
    return replace(context, titles=context.titles | pairs)


def _set_heights(
    axis: Axes, metric: MetricStyle, points: pd.DataFrame, others: Sequence[float | None]
) -> None:
    """Set scale and limits of a vertical axis that shows points, their intervals and others."""
    inner, ends = (np.ravel(points[c]) for c in (["value", "published"], ["low", "high"]))
    inner = np.append(inner, np.asarray(others, dtype=float))
    if metric.axis == "log":
        axis.set_yscale("log")
        axis.set_ylim(*_log_limits(inner, ends))
        plot.set_ticks(axis.yaxis, plot.log_ticks(*axis.get_ylim()))
    else:
        axis.set_ylim(*plot.linear_limits(inner, ends))


def _draw(
    axis: Axes,
    points: pd.DataFrame,
    styles: plot.LineStyles,
    metric: MetricStyle,
    beside: _Beside,
) -> None:
    """Draw the lines of one panel, and what is shown beside them."""
    if beside.equal is not None:
        axis.axhline(beside.equal, **plot.REFERENCE_LINE, gid="equal")
    for label, bound in beside.bounds.groupby("algorithm", sort=True):
        style = styles.of(label)
        look = (plot.bound_style(_BOUND, style), f"bound of {style['label']}")
        plot.draw_bound(axis, bound["place"], bound["value"], *look)
    intervals = points["low"].notna().any()
    size = 4.0 if points["place"].nunique() <= _MAX_TICKS else 3.0
    for label, line in points.groupby("algorithm", sort=True):
        style = styles.of(label)
        at, known = line["place"], line["value"].notna() & line["low"].notna()
        # Without intervals, points are at their places.
        shift = styles.shift(label) if intervals else 0.0
        moved = plot.shifted(axis, shift)
        (means,) = axis.plot(at, line["value"], markersize=size, transform=moved, **style)
        facts = {
            metric.heading(line["metric"].iloc[0]): line["value"],
            "95% interval": (line["low"], line["high"]),
            "replicates": line["replicates"],
            "failed": line["failed"],
            "published": line["published"],
        }
        plot.attach(means, line[["algorithm", *beside.keys]], facts)
        plot.draw_intervals(axis, at[known], line[known], style["color"], shift)
        printed = style | _PUBLISHED | {"label": None, "transform": moved}
        axis.plot(at, line["published"], **printed, gid="published")


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


def _log_limits(inner: np.ndarray, ends: np.ndarray) -> tuple[float, float]:
    """Return limits of a logarithmic axis.

    Raises
    ------
    ConfigError
        If an estimate is not positive.
    """
    if (inner <= 0).any():
        raise ConfigError(
            "a logarithmic axis needs positive means.", remedy="Leave out `axis: log`."
        )
    # The axis is not stretched for an interval that extends to 0.
    tested = np.log10(np.nanmin(inner) / 10), np.log10(np.nanmax(inner) * 10)
    inner, ends = (np.log10(values[values > 0]) for values in (inner, ends))
    low, high = plot.linear_limits(inner, ends, tested)
    return 10**low, 10**high
