"""The error of each class at a few sizes, for example of each activity by number of sensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from greedyexp.core.registry import figure
from greedyexp.figures import _plot as plot
from greedyexp.results.context import Context
from greedyexp.results.records import Where, merged_where
from greedyexp.results.summaries import (
    Sizes,
    mean_interval,
    means_text,
    name_text,
    records_at,
    selection_notes,
)
from greedyexp.results.text import sized_text, title_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

# Column with the share of the held-out rows that belong to a class.
SHARE = "class_share"


@figure(
    "class_errors",
    title="Errors of classes",
    **plot.declared("class_error", "class", "size", apart=plot.separate_algorithms),
)
def class_errors(
    frame: pd.DataFrame,
    context: Context,
    *,
    sizes: Sizes = [],  # noqa: B006 - a default that pydantic copies
    where: Where = {},  # noqa: B006
) -> Figure:
    """One panel for each algorithm: the error of every class, one mark for each size.

    Errors are on the held-out rows of a class; a class without such rows has no mark. Classes are
    in the order of the data, and each label gives the share of these rows. Bars are 95% t
    intervals; with one replicate there are none.
    """
    frame = merged_where(frame, context, where)
    table = _errors(frame, context, sizes)
    names = _class_names(frame, table)
    places = {name: place for place, name in enumerate(names)}
    labels = context.in_order("algorithm", sorted(table["algorithm"].unique()))
    titles = context.titled(labels)
    levels = sorted(table["size"].unique())
    markers = plot.cycle(levels, plot.MARKERS)
    styles: dict[int, plot.Style] = {
        size: {"color": colour, "marker": markers[size], "linestyle": "none", "markersize": 5}
        for size, colour in plot.shades(levels).items()
    }
    # An error is at most 1; if all are small, most of the axis would be empty.
    highest = np.nanmax([0.0, *table["value"], *table["high"].replace(np.inf, np.nan)])
    widest = min(1.0, 1.05 * highest) or 1.0
    shifts = np.linspace(-0.2, 0.2, len(levels)) if len(levels) > 1 else [0.0]
    panels = plot.Panels([labels], height=0.6 + 0.24 * len(names))
    for axis, label in panels:
        axis.set_title(titles[label], pad=4)
        axis.set_yticks(list(places.values()), list(names.values()))
        axis.set_ylim(len(names) - 0.5, -0.5)
        axis.set_xlim(-0.02 * widest, 1.02 * widest)
        own = table[table["algorithm"] == label]
        for (size, style), shift in zip(styles.items(), shifts, strict=True):
            points = own[own["size"] == size]
            at = points["class"].map(places) + shift
            (marks,) = axis.plot(points["value"], at, gid=f"size {size}", **style)
            facts = {"test error": points["value"], "95% interval": (points["low"], points["high"])}
            facts["replicates"] = points["replicates"]
            plot.attach(marks, points[["algorithm", "size", "class"]], facts)
            for y, low, high in zip(at, points["low"], points["high"], strict=True):
                if np.isfinite([low, high]).all():
                    ends = np.clip([low, high], 0.0, 1.0)
                    axis.plot(ends, [y, y], color=style["color"], linewidth=0.9, gid="interval")
    panels.label("test error of the class", "")
    return panels.finish(
        [plot.legend_entry(sized_text(size, context), **one) for size, one in styles.items()],
        title=title_text(where, context),
        note=selection_notes(frame, context, means_text(table["replicates"], context)),
    )


def _errors(frame: pd.DataFrame, context: Context, sizes: Sequence[int]) -> pd.DataFrame:
    """Compute the mean error of each class at each size.

    Returns
    -------
    DataFrame
        A row for each algorithm, size and class, classes in the order of the data: ``value``,
        ``low`` and ``high`` (95% t interval, nan if there is none), number of ``replicates`` with
        rows of the class.
    """
    import pandas as pd

    rows, order = records_at(frame, "class", "class_error", sizes)
    cells = []
    groups: Any = rows.groupby(["algorithm", "size", "class"])["class_error"]
    for (label, size, name), errors in groups:
        known = errors.dropna()
        cells.append((label, int(size), name, *mean_interval(known, context), len(known)))
    names = ["algorithm", "size", "class", "value", "low", "high", "replicates"]
    table = pd.DataFrame(cells, columns=names)
    return table.sort_values("class", key=lambda column: column.map(order), kind="stable")


def _class_names(frame: pd.DataFrame, table: pd.DataFrame) -> Mapping[Any, str]:
    """Return the title of each class, with its mean share if the frame has shares."""
    titles = {name: name_text(name).replace("_", " ") for name in table["class"].unique()}
    if SHARE not in frame.columns:
        return titles
    shares = frame.groupby("class")[SHARE].mean()
    return {name: f"{title} ({shares[name]:.1%})" for name, title in titles.items()}
