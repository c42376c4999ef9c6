"""The error of each class at a few sizes, for example of each activity by number of sensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from greedyexp.core.registry import figure
from greedyexp.figures import _plot as plot

# Column with the share of the held-out rows that belong to a class.
SHARE = "class_share"
_MARK: plot.Style = {"linestyle": "none", "markersize": 5}


@figure(
    "class_errors",
    title="Errors of classes",
    **plot.declared("class_error", "class", "size", apart=plot.separate_algorithms),
)
def class_errors(
    frame: plot.Frame,
    context: plot.Context,
    *,
    sizes: plot.Sizes = [],  # noqa: B006 - a default that pydantic copies
    where: plot.Where = {},  # noqa: B006
) -> plot.Figure:
    """One panel for each algorithm: the error of every class, one mark for each size.

    Errors are on the held-out rows of a class; a class without such rows has no mark. Classes are
    in the order of the data, and each label gives the share of these rows. Bars are t
    intervals; with one replicate there are none.
    """
    frame = plot.merged_where(frame, context, where)
    rows, order = plot.records_at(frame, "class", "class_error", sizes)
    keys = ["algorithm", "size", "class"]
    table = plot.means(rows, context, keys, "class_error").astype({"size": int})
    table = table.sort_values("class", key=lambda column: column.map(order), kind="stable")
    names = _class_names(frame, table)
    places = {name: place for place, name in enumerate(names)}
    looks = plot.LineStyles(table, ["size"], context)
    styles = {size: looks.first(size) | _MARK for size in looks.levels[0]}
    shifts = np.linspace(-0.2, 0.2, len(styles)) if len(styles) > 1 else [0.0]
    # An error is at most 1; if all are small, most of the axis would be empty.
    highest = np.nanmax([0.0, *table["estimate"], *table["high"].replace(np.inf, np.nan)])
    widest = min(1.0, 1.05 * highest) or 1.0

    def classes(axis: plot.Axes, values: Mapping[str, Any]) -> None:
        axis.set_yticks(list(places.values()), list(names.values()))
        axis.set_ylim(len(names) - 0.5, -0.5)
        axis.set_xlim(-0.02 * widest, 1.02 * widest)
        for (size, style), shift in zip(styles.items(), shifts, strict=True):
            points = plot.inside(table, {**values, "size": size})
            at = points["class"].map(places) + shift
            (marks,) = axis.plot(points["estimate"], at, gid=f"size {size}", **style)
            plot.attach(marks, points[keys], plot.facts(points, "test error"))
            for y, *ends in np.column_stack([at, points[["low", "high"]]]):
                if np.isfinite(ends).all():
                    axis.plot(
                        np.clip(ends, 0.0, 1.0),
                        [y, y],
                        color=style["color"],
                        linewidth=0.9,
                        gid="interval",
                    )

    numbers = plot.means_text(frame, table["trials"], context, ["class_error"])
    sized = [(plot.sized_text(size, context), look) for size, look in styles.items()]
    height = 0.6 + 0.24 * len(names)
    return plot.chart(
        plot.Panels.by_columns(table, context, None, "algorithm", height=height),
        context,
        [classes],
        ("test error of the class", ""),
        [[plot.legend_entry(text, **look) for text, look in sized]],
        plot.selection_notes(frame, context, numbers),
        where,
    )


def _class_names(frame: plot.Frame, table: plot.Frame) -> Mapping[Any, str]:
    """Return the title of each class, with its mean share if the frame has shares."""
    names = {name: plot.name_text(name) for name in table["class"].unique()}
    texts = plot.told_apart({text: text.replace("_", " ") for text in names.values()})
    titles = {name: texts[text] for name, text in names.items()}
    if SHARE not in frame.columns:
        return titles
    shares = frame.groupby("class")[SHARE].mean()
    return {name: f"{title} ({shares[name]:.1%})" for name, title in titles.items()}
