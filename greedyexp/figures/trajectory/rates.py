"""The fraction of the gap removed by an iteration, measured and predicted, against a column."""

from __future__ import annotations

from greedyexp.core.errors import ConfigError
from greedyexp.core.registry import figure
from greedyexp.figures import _plot as plot

_DOTS = plot.LINES[2]


@figure("rates", title="Rates of convergence", **plot.declared("record", "rate", "predicted_rate"))
def rates(
    frame: plot.Frame,
    context: plot.Context,
    *,
    x: plot.X = "aspect_ratio",
    panel: plot.Panel = None,
    row: plot.Row = None,
    line: plot.Line = ["algorithm", "n_samples"],  # noqa: B006 - a default that pydantic copies
    scale: plot.Scale = "log",
    mark: plot.Mark = 1.0,
) -> plot.Figure:
    """The fraction of the gap removed by one iteration, 1 - rate, against ``x``.

    The logarithmic axis distinguishes rates near 1 by their distance from 1: a tenth of this
    fraction means ten times the iterations. Lines are medians over replicates with bands. Dotted
    curves are predictions for large random designs, which are not bounds, and are drawn where they
    are below 1. Replicates that failed or have no rate are left out and counted below.
    """
    frame, keys = plot.group_columns(frame, context, row, panel, *line, x)
    rows = _rows(frame, keys, x)
    table = plot.medians(rows.dropna(subset=["removed"]), keys, "removed")
    along = plot.horizontal_axis(scale, x, rows[x])
    styles = plot.LineStyles(rows, line, context, dashed=False)
    # Replicates at one x have different predictions if their sizes differ.
    predicted = rows.groupby(keys, sort=True)["predicted"].median().rename("estimate").reset_index()
    known = predicted.groupby(keys[:-1])["estimate"].transform("count") > 0
    table, predicted = (
        points.assign(place=along.places(points[x])) for points in (table, predicted[known])
    )
    about = (styles, "median of 1 − rate", plot.BAND)
    layers: list[plot.Layer] = [
        plot.Curves(table, "place", keys, *about, look={"gid": "rate"}, ordered=True),
        plot.Theory(predicted, "place", styles, _DOTS, gid="prediction"),
        plot.log_heights(*_limits(table)),
        along,
        plot.vertical_marks(rows, mark),
    ]
    handles = []
    if rows["predicted"].notna().any():
        handles.append(plot.bound_handle("asymptotic prediction, not a bound", _DOTS))
    unknown, stalled = int(rows["rate"].isna().sum()), int((rows["rate"] >= 1).sum())
    note = [
        *plot.run_notes(frame, context, plot.medians_text(table, context)),
        f"Replicates whose rate could not be measured, left out: {unknown}." if unknown else "",
        f"Replicates whose gap did not shrink, left out: {stalled}." if stalled else "",
    ]
    handles += plot.mark_handles(mark, x)
    panels = plot.Panels.by_columns(rows, context, row, panel)
    texts = plot.axis_label(x), "fraction of the gap removed per iteration, 1 − rate"
    legends = [*styles.legends(), handles]
    return plot.chart(panels, context, layers, texts, legends, note)


def _rows(frame: plot.Frame, keys: list[str], x: str) -> plot.Frame:
    """Return measured and predicted 1 - rate; nan if not positive or not known."""
    rows = plot.records(frame, "rate", keys, finite=[x], numeric=["rate", "predicted_rate"])
    if not (rows["rate"] < 1).any():
        raise ConfigError(
            "no replicate has a rate below 1.", remedy="Let the protocol make more iterations."
        )
    removed, predicted = 1 - rows["rate"].astype(float), 1 - rows["predicted_rate"].astype(float)
    return rows.assign(removed=removed.where(removed > 0), predicted=predicted.where(predicted > 0))


def _limits(table: plot.Frame) -> tuple[float, float]:
    """Return limits for the measurements; a prediction may go to 0 outside them."""
    if table.empty:
        return 0.1, 1.0
    low, high = table["low"].min(), table["high"].max()
    margin = max((high / low) ** 0.05, 1.15)
    return low / margin, high * margin
