"""Constants of a design against its size: means over replicates, with intervals."""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from greedyexp.core.registry import figure
from greedyexp.figures import _plot as plot
from greedyexp.results.context import Context
from greedyexp.results.records import (
    failed_rows,
    group_columns,
    refuse_all_failed,
    refuse_empty_cells,
    require_columns,
    require_finite,
    require_numeric,
)
from greedyexp.results.summaries import mean_interval, means_text
from greedyexp.results.text import failures_text, origin_text
from greedyexp.results.words import axis_label

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@figure("constants", title="Constants", **plot.declared("value", "lower", "upper"))
def constants(
    frame: pd.DataFrame,
    context: Context,
    *,
    x: plot.X = "p",
    panel: plot.Panel = None,
    row: plot.Row = None,
    line: plot.Line = ["algorithm"],  # noqa: B006 - a default that pydantic copies
    scale: plot.Scale = "linear",
    mark: plot.Mark = None,
) -> Figure:
    """The mean of each constant over replicates against ``x``, one line for each.

    All panels share the vertical axis; the panels of a row share the horizontal one. Bars are 95% t
    intervals of the mean; lines and bars are shifted by a few points. A bar that extends to 0 is
    cut off at the logarithmic axis and ends in an arrow. Replicates that failed are not in the
    means and are counted below. Means of 0 cannot be drawn and are counted too.
    """
    frame, keys = group_columns(frame, context, row, panel, *line, x)
    table = _means(frame, context, keys)
    require_finite(table, x)
    drawn = table[table["value"] > 0]
    styles = plot.LineStyles(table, line, context)
    panels = plot.Panels.by_columns(frame, context, row, panel, sharex="row" if row else False)
    for axis, values in panels:
        axis.set_yscale("log")
        axis.set_ylim(*_limits(drawn))
        plot.set_ticks(axis.yaxis, plot.log_ticks(*axis.get_ylim()))
        # All sizes along the axis that this panel shares.
        sizes = plot.inside(table, {row: values[row]} if row else values)[x]
        along = plot.horizontal_axis(scale, x, sizes)
        along.apply(axis)
        for key, points in plot.inside(drawn, values).groupby(line, sort=True):
            style, places = styles.of(*key), along.places(points[x])
            shift = styles.shift(*key)
            (means,) = axis.plot(places, points["value"], **style, gid="mean")
            # Only now: limits do not take shifted lines into account.
            means.set_transform(plot.shifted(axis, shift))
            facts = {"mean": points["value"], "95% interval": (points["low"], points["high"])}
            plot.attach(means, points[keys], facts | {"replicates": points["replicates"]})
            plot.draw_intervals(axis, places, points, style["color"], shift)
        plot.draw_mark(axis, plot.inside(frame, values), mark)
        panels.title(axis, values, context)
    panels.label(axis_label(x), "value of the constant")
    hidden, empty = int((table["value"] <= 0).sum()), int(table["value"].isna().sum())
    note = [
        f"{origin_text(context)}: {means_text(table['replicates'], context)}",
        failures_text(frame, "not in the means"),
        _enclosure_text(frame, context),
        f"Means of 0, not drawn: {hidden}." if hidden else "",
        f"Points without a value: {empty}." if empty else "",
    ]
    return panels.finish(
        *styles.legends(), plot.mark_handles(mark, x), title=context.title, note=note
    )


def _means(frame: pd.DataFrame, context: Context, keys: Sequence[str]) -> pd.DataFrame:
    """Compute the mean constant for every combination of the keys.

    Parameters
    ----------
    frame : DataFrame
        Table of protocol ``constants``: ``value``, ``lower`` and ``upper`` in one row per
        replicate.

    Returns
    -------
    DataFrame
        The keys, sorted; ``value``, ``low`` and ``high`` (95% t interval of the mean), nan if no
        value is finite; the number of ``replicates`` with a finite value.

    Raises
    ------
    ConfigError
        If a column is missing or has wrong values, or every replicate failed.
    """
    import pandas as pd

    numbers = ("value", "lower", "upper")
    require_columns(frame, [*keys, *numbers])
    refuse_all_failed(frame)
    require_numeric(frame, *numbers)
    failed = failed_rows(frame)
    refuse_empty_cells(frame[~failed], keys)
    finite = frame["value"].where(~failed & np.isfinite(frame["value"]))
    rows = []
    for key, group in frame.groupby(list(keys), sort=True):
        values = finite[group.index].dropna()
        rows.append((*key, *mean_interval(values, context), len(values)))
    return pd.DataFrame(rows, columns=[*keys, "value", "low", "high", "replicates"])


def _limits(drawn: pd.DataFrame) -> tuple[float, float]:
    """Return vertical limits: all means and upper ends, and lower ends that are near."""
    if drawn.empty:
        return 0.1, 1.0
    low, high = drawn["value"].min(), drawn["value"].max()
    ends = drawn["high"][np.isfinite(drawn["high"])]
    high = max(high, *ends) if len(ends) else high
    near = drawn["low"][drawn["low"] > low / 3]
    low = min(low, *near) if len(near) else low
    margin = max((high / low) ** 0.05, 1.1)
    return low / margin, high * margin


def _enclosure_text(frame: pd.DataFrame, context: Context) -> str:
    """Return the largest relative width of the certified enclosures; empty if none is finite."""
    width = (frame["upper"] - frame["lower"]) / frame["upper"].abs().where(frame["upper"] != 0)
    width = width[np.isfinite(width)]
    if width.empty:
        return ""
    wide = sorted(frame.loc[width.index, "algorithm"][width > 0.01].unique())
    if wide:
        named = ", ".join(context.titles.get(label, label) for label in wide)
        return (
            f"Certified to 1% or better except for {named}"
            f" (widest {width.max():.2g} of the upper end)."
        )
    # Rounded up, so that "at most" is true; differences of rounding are not counted.
    up = decimal.Context(prec=1, rounding=decimal.ROUND_UP)
    most = up.create_decimal(f"{width.max():.6g}")
    return f"Each value is certified with a relative error of at most {float(most):.1g}."
