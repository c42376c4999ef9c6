"""The excess risk when a run ends, as a multiple of the accuracy that it was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from greedyexp.core.errors import ConfigError
from greedyexp.core.registry import figure
from greedyexp.figures import _plot as plot
from greedyexp.results import theorems
from greedyexp.results.context import Context
from greedyexp.results.records import group_columns, identity, records, replicates, rows_where
from greedyexp.results.text import count_text, failures_text, origin_text, title_text
from greedyexp.results.words import axis_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.figure import Figure

# A run has a row for each theorem and reference.
_COLUMNS = ("record", "theorem", "reference", "epsilon", "excess_at_end")
_PROMISE: plot.Style = {"color": "black", "linewidth": 1.2, "zorder": 1.7}


@figure(
    "final_excess",
    title="Excess risk at the end",
    **plot.declared(*_COLUMNS, apart=plot.separate_algorithms),
)
def final_excess(
    frame: pd.DataFrame,
    context: Context,
    *,
    panel: plot.Panel = None,
    row: plot.Row = None,
    where: theorems.WhereTheorem = {},  # noqa: B006 - a default that pydantic copies
) -> Figure:
    """Excess risk at the end of the run for accuracy epsilon, divided by epsilon, against epsilon.

    A run keeps its promise if the ratio is at most 1, where there is a line. Curves are medians
    over replicates, one for each algorithm; bars go from the smallest to the largest replicate,
    because a promise is broken by a single one. Lines and bars are shifted by a few points.
    Replicates that failed, and runs that did not end within the budget, are left out and counted
    below.
    """
    frame = rows_where(frame, where)
    frame, keys = group_columns(frame, context, row, panel, "algorithm", merge=True)
    rows = _ratios(frame, keys)
    table = _spans(rows.dropna(subset=["ratio"]), [*keys, "epsilon"])
    styles = plot.LineStyles(rows, ["algorithm"], context)
    along = plot.LogAxis("epsilon", rows["epsilon"])
    limits = plot.linear_limits([*table["median"], 0.0, 1.0], table[["low", "high"]])
    panels = plot.Panels.by_columns(rows, context, row, panel)
    for axis, values in panels:
        along.apply(axis)
        # Smaller epsilon to the right.
        axis.set_xlim(*sorted(axis.get_xlim(), reverse=True))
        axis.set_ylim(*limits)
        axis.axhline(1.0, **_PROMISE, gid="promise")
        for name, points in plot.inside(table, values).groupby("algorithm", sort=True):
            style, shift = styles.of(name), styles.shift(name)
            (line,) = axis.plot(points["epsilon"], points["median"], **style, gid="measured")
            line.set_transform(plot.shifted(axis, shift))
            facts = {
                "median of excess / ε": points["median"],
                "smallest and largest": (points["low"], points["high"]),
                "replicates": points["replicates"],
            }
            plot.attach(line, points[[*keys, "epsilon"]], facts)
            plot.draw_intervals(axis, points["epsilon"], points, style["color"], shift)
        panels.title(axis, values, context)
    panels.label(axis_label("epsilon"), r"excess risk at the end / $\varepsilon$")
    unended = int(rows["ratio"].isna().sum())
    note = [
        f"{origin_text(context)}: medians of {count_text(table['replicates'])} replicates,"
        " bars: smallest to largest.",
        failures_text(replicates(frame), "left out"),
        f"Runs that did not end, left out: {unended}." if unended else "",
    ]
    return panels.finish(
        *styles.legends(),
        [plot.legend_entry("accuracy asked for", **_PROMISE)],
        title=title_text(theorems.without_theorem(where), context),
        note=note,
    )


def _ratios(frame: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Return one row for each run, with its ``ratio``; nan if the run did not end.

    Raises
    ------
    ConfigError
        If a column is missing or has wrong values, lines would mix references, or no run ended.
    """
    rows = records(
        frame, "epsilon", [*keys, "reference"], finite=["epsilon"], numeric=["excess_at_end"]
    )
    theorems.refuse_mixed_references(rows, list(keys))
    if rows["excess_at_end"].isna().all():
        raise ConfigError(
            "no run ended, so none has an excess at its end.",
            remedy="Use algorithms that stop at an accuracy, or more steps.",
        )
    # A run has a row for each theorem.
    once = rows.drop_duplicates([*dict.fromkeys([*identity(frame), *keys, "epsilon"])])
    return once.assign(ratio=once["excess_at_end"] / once["epsilon"])


def _spans(rows: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Return median, smallest and largest ratio (``low``, ``high``), and number of replicates."""
    groups = rows.groupby(list(keys), sort=True)["ratio"]
    table = groups.agg(median="median", low="min", high="max", replicates="count")
    return table.reset_index()
