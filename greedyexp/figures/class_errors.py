"""The error of each class at a few sizes, such as of each activity with so many sensors."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from greedyexp.core.registry import figure
from greedyexp.figures.panels import Panels, wrapped
from greedyexp.figures.style import MARKERS, assign, shades
from greedyexp.results import selection
from greedyexp.results.comparison import averages_text
from greedyexp.results.context import Context
from greedyexp.results.selection import Sizes, class_names, remarks
from greedyexp.results.where import Where, rows_where, where_text


def _apart(**_) -> list[str]:
    return ["algorithm"]


def _columns(*, where=(), **_) -> list[str]:
    return ["algorithm", "class_error", "class", "size", *where]


@figure("class_errors", title="Errors of classes", columns=_columns, apart=_apart)
def class_errors(
    frame: pd.DataFrame,
    context: Context,
    *,
    sizes: Sizes = [],  # noqa: B006 - a default that pydantic copies
    where: Where = {},  # noqa: B006
) -> Figure:
    """One panel for each algorithm: the error of every class, one mark for each size.

    Errors are those on the rows of a class that are held out; one without such rows has no mark.
    Classes stand as the data list them, each with its share of these rows. Bars are 95% t
    intervals; with one replicate there are none.
    """
    frame = rows_where(frame, where)
    table = selection.class_errors(frame, context, sizes)
    names = class_names(frame, table)
    places = {name: place for place, name in enumerate(names)}
    labels = context.in_order("algorithm", sorted(table["algorithm"].unique()))
    titles = context.titled(labels)
    levels = sorted(table["size"].unique())
    looks = {
        size: {"color": colour, "marker": marker, "linestyle": "none", "markersize": 5}
        for (size, colour), marker in zip(
            shades(levels).items(), assign(levels, MARKERS).values(), strict=True
        )
    }
    # An error is at most 1; where all are small the rest would be empty.
    highest = np.nanmax([0.0, *table["value"], *table["high"].replace(np.inf, np.nan)])
    widest = min(1.0, 1.05 * highest) or 1.0
    panels = Panels(wrapped(labels), height=0.6 + 0.24 * len(names))
    for axis, label in panels:
        axis.set_title(titles[label], pad=4)
        axis.set_yticks(list(places.values()), list(names.values()))
        axis.set_ylim(len(names) - 0.5, -0.5)
        axis.set_xlim(-0.02 * widest, 1.02 * widest)
        _draw(axis, table[table["algorithm"] == label], places, looks)
    panels.label("test error of the class", "")
    panels.legend([Line2D([], [], label=f"size {size}", **look) for size, look in looks.items()])
    told = where_text(where)
    said = remarks(frame, context, averages_text(table["replicates"], context))
    panels.note([*([f"{told}."] if told else []), *said])
    return panels.figure


def _draw(axis, table: pd.DataFrame, places: dict, looks: dict) -> None:
    shifts = np.linspace(-0.2, 0.2, len(looks)) if len(looks) > 1 else [0.0]
    for (size, look), shift in zip(looks.items(), shifts, strict=True):
        points = table[table["size"] == size]
        at = points["class"].map(places) + shift
        axis.plot(points["value"], at, gid=f"size {size}", **look)
        for y, low, high in zip(at, points["low"], points["high"], strict=True):
            if np.isfinite([low, high]).all():
                ends = np.clip([low, high], 0.0, 1.0)
                axis.plot(ends, [y, y], color=look["color"], linewidth=0.9, gid="interval")
