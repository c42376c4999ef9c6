"""Means of metrics with intervals, beside the numbers a paper printed."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator
from pydantic import Field

from greedyexp.core.errors import ConfigError
from greedyexp.core.registry import figure
from greedyexp.figures.axes import log_ticks, number_texts
from greedyexp.figures.intervals import draw_interval, limits
from greedyexp.figures.looks import Looks
from greedyexp.figures.panels import Panels, wrapped
from greedyexp.results.comparison import (
    Metrics,
    Published,
    apart_of,
    compare,
    remarks,
    styles,
)
from greedyexp.results.context import Context
from greedyexp.results.labels import axis_label, number
from greedyexp.results.where import Where, rows_where, where_text

# Large rings, so that they show around a mean that equals them.
_PUBLISHED = {"linestyle": "none", "markerfacecolor": "none", "markersize": 7, "zorder": 3}
# More ticks than this are thinned out, and markers made smaller.
_MOST_TICKS = 10


def _columns(*, row, metrics, where=(), **_) -> list[str]:
    return [*apart_of(row=row), *metrics, *where]


@figure(
    "comparison", title="Comparison", columns=_columns, apart=apart_of, by_algorithm="published"
)
def comparison(
    frame: pd.DataFrame,
    context: Context,
    *,
    row: Annotated[str, Field(description="column along the horizontal axes")],
    metrics: Metrics,
    published: Published = {},  # noqa: B006 - a default that pydantic copies
    where: Where = {},  # noqa: B006
) -> Figure:
    """One panel for each metric: its mean against ``row``, one line for each algorithm.

    Bars are 95% t intervals, set slightly beside one another; hollow markers are the published
    numbers. A replicate that failed has no value; means are over the others, and the failures are
    counted below. With one replicate, as where the data are fixed, there are no bars.
    """
    shown = styles(metrics)
    frame = rows_where(frame, where)
    table = compare(frame, context, row=row, metrics=shown, published=published)
    looks = Looks(table, ["algorithm"])
    # Even steps: values such as 10, 20, 40 would otherwise crowd at one end.
    places = {level: i for i, level in enumerate(sorted(table[row].unique()))}
    panels = Panels(wrapped(list(shown)), sharey=False)
    for axis, metric in panels:
        points = table[table["metric"] == metric].assign(place=table[row].map(places))
        axis.set_title(shown[metric].named(metric), pad=4)
        ticks = _ticks(list(places))
        axis.set_xticks([places[level] for level in ticks], [number(level) for level in ticks])
        axis.tick_params(labelbottom=True)
        axis.set_xlim(-0.4, len(places) - 0.6)
        axis.set_xlabel(axis_label(row))
        _draw(axis, points, looks, shown[metric].axis)
    handles = looks.handles(context)
    if table["published"].notna().any():
        handles.append(Line2D([], [], color="0.3", marker="o", label="published", **_PUBLISHED))
    panels.legend(handles)
    told = where_text(where)
    panels.note([*([f"{told}."] if told else []), *remarks(frame, context, table)])
    return panels.figure


def _draw(axis, points: pd.DataFrame, looks: Looks, scale: str) -> None:
    inner, ends = (np.ravel(points[c]) for c in (["value", "published"], ["low", "high"]))
    if scale == "log":
        axis.set_yscale("log")
        axis.set_ylim(*_logarithmic(inner, ends))
        ticks = log_ticks(*axis.get_ylim())
        axis.set_yticks(ticks, number_texts(ticks))
        axis.yaxis.set_minor_locator(NullLocator())
    else:
        axis.set_ylim(*limits(inner, ends))
    # Lines without bars cannot hide one another's, and stand where their values are.
    shifts = looks.places(0.3 if np.isfinite(ends).any() else 0.0)
    size = 4.0 if points["place"].nunique() <= _MOST_TICKS else 3.0
    for label, line in points.groupby("algorithm", sort=True):
        look = looks.of(label)
        at = line["place"] + shifts[label,]
        axis.plot(at, line["value"], markersize=size, **look)
        for place, cell in zip(at, line.itertuples(), strict=True):
            if not np.isnan([cell.value, cell.low]).any():
                draw_interval(axis, place, cell.low, cell.high, look["color"])
        axis.plot(at, line["published"], **look | _PUBLISHED, gid="published")


def _ticks(levels: list) -> list:
    """The values that are named: all of a few; of many the round ones, or else some evenly."""
    if len(levels) <= _MOST_TICKS:
        return levels
    if not isinstance(levels[0], str):
        for step in (2, 5, 10, 20, 50, 100):
            named = [level for level in levels if level % step == 0]
            if 3 <= len(named) <= _MOST_TICKS:
                return named
    return levels[:: -(-len(levels) // _MOST_TICKS)]


def _logarithmic(inner: np.ndarray, ends: np.ndarray) -> tuple[float, float]:
    """Limits as ``limits`` gives them, of the logarithms of what is positive.

    Raises
    ------
    ConfigError
        When an estimate is not positive.
    """
    if (inner <= 0).any():
        raise ConfigError(
            "a logarithmic axis needs positive means.", remedy="Leave out `axis: log`."
        )
    # The axis is not stretched for an interval that reaches down to 0.
    tested = np.log10(np.nanmin(inner) / 10), np.log10(np.nanmax(inner) * 10)
    logs = [np.log10(values[values > 0]) for values in (inner, ends)]
    low, high = limits(*logs, tested)
    return 10**low, 10**high
