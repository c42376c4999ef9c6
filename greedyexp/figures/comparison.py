"""Means of metrics with intervals, beside the numbers a paper printed."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from pydantic import Field

from greedyexp.figures.intervals import draw_interval, limits
from greedyexp.figures.looks import Looks
from greedyexp.figures.options import apart
from greedyexp.figures.panels import Panels, wrapped
from greedyexp.frames.comparison import Metrics, Published, compare, remarks, styles
from greedyexp.frames.context import Context
from greedyexp.frames.labels import axis_label, number
from greedyexp.registry import figure

# Large rings, so that they show around a mean that equals them.
_PUBLISHED = {"linestyle": "none", "markerfacecolor": "none", "markersize": 7, "zorder": 3}


def _columns(*, row, metrics, **_) -> list[str]:
    return [row, *metrics]


@figure("comparison", title="Comparison", columns=_columns, apart=apart, by_algorithm="published")
def comparison(
    frame: pd.DataFrame,
    context: Context,
    *,
    row: Annotated[str, Field(description="column along the horizontal axes")],
    metrics: Metrics,
    published: Published = {},  # noqa: B006 - a default that pydantic copies
) -> Figure:
    """One panel for each metric: its mean against ``row``, one line for each algorithm.

    Bars are 95% t intervals, set slightly beside one another; hollow markers are the published
    numbers. A replicate that failed has no value; means are over the others, and the failures are
    counted below.
    """
    shown = styles(metrics)
    table = compare(frame, context, row=row, metrics=shown, published=published)
    looks = Looks(table, ["algorithm"])
    # Even steps: values such as 10, 20, 40 would otherwise crowd at one end.
    places = {level: i for i, level in enumerate(sorted(table[row].unique()))}
    panels = Panels(wrapped(list(shown)), sharey=False)
    for axis, metric in panels:
        points = table[table["metric"] == metric].assign(place=table[row].map(places))
        axis.set_title(shown[metric].named(metric), pad=4)
        axis.set_xticks(list(places.values()), [number(level) for level in places])
        axis.tick_params(labelbottom=True)
        axis.set_xlim(-0.4, len(places) - 0.6)
        axis.set_xlabel(axis_label(row))
        _draw(axis, points, looks)
    handles = looks.handles(context)
    if table["published"].notna().any():
        handles.append(Line2D([], [], color="0.3", marker="o", label="published", **_PUBLISHED))
    panels.legend(handles)
    panels.note(remarks(frame, context, table))
    return panels.figure


def _draw(axis, points: pd.DataFrame, looks: Looks) -> None:
    axis.set_ylim(
        *limits(*(np.ravel(points[c]) for c in (["value", "published"], ["low", "high"])))
    )
    shifts = looks.places(0.3)
    for label, line in points.groupby("algorithm", sort=True):
        look = looks.of(label)
        at = line["place"] + shifts[label,]
        axis.plot(at, line["value"], **look)
        for place, cell in zip(at, line.itertuples(), strict=True):
            if not np.isnan(cell.value):
                draw_interval(axis, place, cell.low, cell.high, look["color"])
        axis.plot(at, line["published"], **look | _PUBLISHED, gid="published")
