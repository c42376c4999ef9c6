"""The excess risk when a run ends, as a multiple of the accuracy that it was asked for."""

from __future__ import annotations

from collections.abc import Sequence

from greedyexp.core.errors import ConfigError
from greedyexp.core.registry import figure
from greedyexp.figures import _plot as plot
from greedyexp.results import theorems

# A run has a row for each theorem and reference.
_COLUMNS = ("record", "theorem", "reference", "epsilon", "excess_at_end")
_PROMISE: plot.Style = {"color": "black", "linewidth": 1.2, "zorder": 1.7}


@figure(
    "final_excess",
    title="Excess risk at the end",
    **plot.declared(*_COLUMNS, apart=plot.separate_algorithms),
)
def final_excess(
    frame: plot.Frame,
    context: plot.Context,
    *,
    panel: plot.Panel = None,
    row: plot.Row = None,
    where: theorems.WhereTheorem = {},  # noqa: B006 - a default that pydantic copies
) -> plot.Figure:
    """Excess risk at the end of the run for accuracy epsilon, divided by epsilon, against epsilon.

    A run keeps its promise if the ratio is at most 1, where there is a line. Curves are medians
    over replicates, one for each algorithm; bars go from the smallest to the largest replicate,
    because a promise is broken by a single one. Lines and bars are shifted by a few points.
    Replicates that failed, and runs that did not end within the budget, are left out and counted
    below.
    """
    frame = plot.rows_where(frame, where)
    frame, keys = plot.group_columns(frame, context, row, panel, "algorithm", merge=True)
    rows = _ratios(frame, keys)
    table = plot.medians(rows.dropna(subset=["ratio"]), [*keys, "epsilon"], "ratio", extremes=True)
    styles = plot.LineStyles(rows, ["algorithm"], context)
    limits = plot.linear_limits([*table["estimate"], 0.0, 1.0], table[["low", "high"]])
    layers: list[plot.Layer] = [
        plot.LogAxis("epsilon", rows["epsilon"], falling=True),
        lambda axis, _: axis.set_ylim(*limits),
        lambda axis, _: axis.axhline(1.0, **_PROMISE, gid="promise"),
        plot.Curves(
            table,
            "epsilon",
            [*keys, "epsilon"],
            styles,
            "median of excess / ε",
            plot.EXTREMES,
            bars=True,
            look={"gid": "measured"},
        ),
    ]
    unended = int(rows["ratio"].isna().sum())
    note = [
        *plot.run_notes(
            frame,
            context,
            f"medians of {plot.count_text(table['trials'])} replicates,"
            f" bars: smallest to largest{plot.decided_text(context)}",
        ),
        f"Runs that did not end, left out: {unended}." if unended else "",
    ]
    panels = plot.Panels.by_columns(rows, context, row, panel)
    handles = [plot.legend_entry("accuracy asked for", **_PROMISE)]
    chosen = theorems.without_theorem(where)
    texts = plot.axis_label("epsilon"), r"excess risk at the end / $\varepsilon$"
    legends = [*styles.legends(), handles]
    return plot.chart(panels, context, layers, texts, legends, note, chosen)


def _ratios(frame: plot.Frame, keys: Sequence[str]) -> plot.Frame:
    """Return one row for each run, with its ``ratio``; nan if the run did not end.

    Raises
    ------
    ConfigError
        If a column is missing or has wrong values, lines would mix references, or no run ended.
    """
    rows = plot.records(
        frame, "epsilon", [*keys, "reference"], finite=["epsilon"], numeric=["excess_at_end"]
    )
    theorems.refuse_mixed_references(rows, list(keys))
    if rows["excess_at_end"].isna().all():
        raise ConfigError(
            "no run ended, so none has an excess at its end.",
            remedy="Use algorithms that stop at an accuracy, or more steps.",
        )
    # A run has a row for each theorem.
    once = rows.drop_duplicates([*dict.fromkeys([*plot.identity(frame), *keys, "epsilon"])])
    return once.assign(ratio=once["excess_at_end"] / once["epsilon"])
