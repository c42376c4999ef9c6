"""Constants of a design against its size: means over replicates, with intervals."""

from __future__ import annotations

import decimal
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from greedyexp.core.errors import ConfigError
from greedyexp.core.registry import figure
from greedyexp.figures import _plot as plot

_NUMBERS = ("value", "lower", "upper")


@figure("constants", title="Constants", **plot.declared(*_NUMBERS))
def constants(
    frame: plot.Frame,
    context: plot.Context,
    *,
    x: plot.X = "p",
    panel: plot.Panel = None,
    row: plot.Row = None,
    line: plot.Line = ["algorithm"],  # noqa: B006 - a default that pydantic copies
    scale: plot.Scale = "linear",
    mark: plot.Mark = None,
    relative_to: Annotated[
        str | None, Field(description="constant of the same design by which each is divided")
    ] = None,
) -> plot.Figure:
    """The mean of each constant over replicates against ``x``, one line for each.

    With ``relative_to`` it is the mean of the ratio to this constant of the same design.

    All panels share the vertical axis; the panels of a row share the horizontal one. Bars are t
    intervals of the mean; lines and bars are shifted by a few points. A bar that extends to 0 is
    cut off at the logarithmic axis and ends in an arrow. Replicates that failed are not in the
    means and are counted below. Means of 0 cannot be drawn and are counted too.
    """
    if relative_to is not None:
        frame = _ratios(frame, relative_to)
    frame, keys = plot.group_columns(frame, context, row, panel, *line, x)
    plot.require_columns(frame, _NUMBERS)
    plot.require_numeric(frame, x, *_NUMBERS)
    table = plot.means(frame, context, keys, "value")
    plot.require_finite(table, x)
    styles = plot.LineStyles(table, line, context)

    def along(axis: plot.Axes, values: Mapping[str, Any]) -> None:
        # All sizes along the axis that this panel shares.
        sizes = plot.inside(table, {row: values[row]} if row else values)[x]
        plot.horizontal_axis(scale, x, sizes)(axis)

    drawn = table[table["estimate"] > 0]
    drawn = drawn.assign(place=plot.horizontal_axis(scale, x, table[x]).places(drawn[x]))
    layers: list[plot.Layer] = [
        plot.log_heights(*_limits(drawn)),
        along,
        plot.Curves(drawn, "place", keys, styles, "mean", bars=True, look={"gid": "mean"}),
        plot.vertical_marks(frame, mark),
    ]
    titles = context.titles
    base = "" if relative_to is None else f", divided by {titles.get(relative_to, relative_to)}"
    hidden, empty = int((table["estimate"] <= 0).sum()), int(table["estimate"].isna().sum())
    note = [
        *plot.run_notes(
            frame,
            context,
            plot.means_text(frame, table["trials"], context, ["value"]),
            "not in the means",
        ),
        _enclosure_text(frame, context),
        f"Means of 0, not drawn: {hidden}." if hidden else "",
        f"Points without a value: {empty}." if empty else "",
    ]
    share: Any = "row" if row else False
    panels = plot.Panels.by_columns(frame, context, row, panel, sharex=share)
    texts = plot.axis_label(x), f"value of the constant{base}"
    legends = [*styles.legends(), plot.mark_handles(mark, x)]
    return plot.chart(panels, context, layers, texts, legends, note)


def _ratios(frame: plot.Frame, base: str) -> plot.Frame:
    """Divide the numbers of each row by the value of the constant ``base`` of the same design.

    Raises
    ------
    ConfigError
        If the table has no such constant.
    """
    plot.require_columns(frame, _NUMBERS)
    plot.require_numeric(frame, *_NUMBERS)
    bases = frame[frame["algorithm"] == base]
    if bases.empty:
        known = ", ".join(sorted(frame["algorithm"].unique()))
        raise ConfigError(
            f"relative_to: there is no constant '{base}' in these rows.",
            remedy=f"Name one of {known}.",
        )
    # Parameters that only other algorithms sweep are empty.
    design = [c for c in plot.identity(frame) if c != "algorithm" and bases[c].notna().all()]
    divisors = frame[design].merge(bases[[*design, "value"]], on=design, how="left")["value"]
    return frame.assign(**{name: frame[name] / divisors.to_numpy() for name in _NUMBERS})


def _limits(drawn: plot.Frame) -> tuple[float, float]:
    """Return vertical limits: all means and upper ends, and lower ends that are near."""
    if drawn.empty:
        return 0.1, 1.0
    low, high = drawn["estimate"].min(), drawn["estimate"].max()
    ends = drawn["high"][np.isfinite(drawn["high"])]
    high = max(high, *ends) if len(ends) else high
    near = drawn["low"][drawn["low"] > low / 3]
    low = min(low, *near) if len(near) else low
    margin = max((high / low) ** 0.05, 1.1)
    return low / margin, high * margin


def _enclosure_text(frame: plot.Frame, context: plot.Context) -> str:
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
