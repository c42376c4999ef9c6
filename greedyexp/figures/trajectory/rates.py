"""The fraction of the gap removed by an iteration, measured and predicted, against a column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from greedyexp.core.errors import ConfigError
from greedyexp.core.registry import figure
from greedyexp.figures import _plot as plot
from greedyexp.results.context import Context
from greedyexp.results.records import group_columns, records, replicates
from greedyexp.results.summaries import spread, spread_facts, spread_text
from greedyexp.results.text import failures_text, origin_text
from greedyexp.results.words import axis_label

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_DOTS = plot.LINES[2]


@figure("rates", title="Rates of convergence", **plot.declared("record", "rate", "predicted_rate"))
def rates(
    frame: pd.DataFrame,
    context: Context,
    *,
    x: plot.X = "aspect_ratio",
    panel: plot.Panel = None,
    row: plot.Row = None,
    line: plot.Line = ["algorithm", "n_samples"],  # noqa: B006 - a default that pydantic copies
    scale: plot.Scale = "log",
    mark: plot.Mark = 1.0,
) -> Figure:
    """The fraction of the gap removed by one iteration, 1 - rate, against ``x``.

    The logarithmic axis distinguishes rates near 1 by their distance from 1: a tenth of this
    fraction means ten times the iterations. Lines are medians over replicates with bands. Dotted
    curves are predictions for large random designs, which are not bounds, and are drawn where they
    are below 1. Replicates that failed or have no rate are left out and counted below.
    """
    import pandas as pd

    frame, keys = group_columns(frame, context, row, panel, *line, x)
    rows = _rows(frame, keys, x)
    table = spread(rows.dropna(subset=["removed"]), keys, "removed")
    along = plot.horizontal_axis(scale, x, rows[x])
    styles = plot.LineStyles(rows, line, context, dashed=False)
    panels = plot.Panels.by_columns(rows, context, row, panel)
    for axis, values in panels:
        axis.set_yscale("log")
        for key in styles.keys(plot.inside(rows, values)):
            one = values | dict(zip(line, key, strict=True))
            style, points = styles.of(*key), plot.inside(table, one)
            at, band = along.places(points[x]), (points["low"], points["high"])
            axis.fill_between(at, *band, color=style["color"], alpha=0.15, linewidth=0)
            (line_of_rates,) = axis.plot(at, points["median"], **style, gid="rate")
            plot.attach(line_of_rates, points[keys], spread_facts(points, "median of 1 − rate"))
            # Replicates at one x have different predictions if their sizes differ.
            predicted = plot.inside(rows, one).groupby(x, sort=True)["predicted"].median()
            if predicted.notna().any():
                at = along.places(pd.Series(predicted.index))
                dots = plot.bound_style(_DOTS, style)
                axis.plot(at.to_numpy(), predicted.to_numpy(), **dots, gid="prediction")
        axis.set_ylim(*_limits(table))
        plot.set_ticks(axis.yaxis, plot.log_ticks(*axis.get_ylim()))
        along.apply(axis)
        plot.draw_mark(axis, plot.inside(rows, values), mark)
        panels.title(axis, values, context)
    panels.label(axis_label(x), "fraction of the gap removed per iteration, 1 − rate")
    handles = []
    if rows["predicted"].notna().any():
        handles.append(plot.bound_handle("asymptotic prediction, not a bound", _DOTS))
    unknown, stalled = int(rows["rate"].isna().sum()), int((rows["rate"] >= 1).sum())
    note = [
        f"{origin_text(context)}: {spread_text(table)}",
        failures_text(replicates(frame), "left out"),
        f"Replicates whose rate could not be measured, left out: {unknown}." if unknown else "",
        f"Replicates whose gap did not shrink, left out: {stalled}." if stalled else "",
    ]
    handles += plot.mark_handles(mark, x)
    return panels.finish(*styles.legends(), handles, title=context.title, note=note)


def _rows(frame: pd.DataFrame, keys: list[str], x: str) -> pd.DataFrame:
    """Return measured and predicted 1 - rate; nan if not positive or not known."""
    rows = records(frame, "rate", keys, finite=[x], numeric=["rate", "predicted_rate"])
    if not (rows["rate"] < 1).any():
        raise ConfigError(
            "no replicate has a rate below 1.", remedy="Let the protocol make more iterations."
        )
    removed, predicted = 1 - rows["rate"].astype(float), 1 - rows["predicted_rate"].astype(float)
    return rows.assign(removed=removed.where(removed > 0), predicted=predicted.where(predicted > 0))


def _limits(table: pd.DataFrame) -> tuple[float, float]:
    """Return limits for the measurements; a prediction may go to 0 outside them."""
    if table.empty:
        return 0.1, 1.0
    low, high = table["low"].min(), table["high"].max()
    margin = max((high / low) ** 0.05, 1.15)
    return low / margin, high * margin
