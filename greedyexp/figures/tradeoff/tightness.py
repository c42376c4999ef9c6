"""Features needed for each mean error, with bounds that hold for every predictor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from greedyexp.core.registry import figure
from greedyexp.figures import _plot as plot
from greedyexp.figures.tradeoff._counts_axis import CountsAxis
from greedyexp.results.context import Context
from greedyexp.results.records import Where, group_columns, records, replicates, rows_where
from greedyexp.results.summaries import spread_reached, spread_text, unreached_text
from greedyexp.results.text import failures_text, origin_text, title_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Columns that are known without running an algorithm: dashes and legend.
_KNOWN: dict[str, tuple[Any, str]] = {
    "l1_upper": (plot.LINES[3], "sufficient for selection, Theorem 3"),
    "exact": (plot.LINES[0], "minimum over all predictors"),
    "lower_bound": (plot.LINES[1], "lower bound, as proved"),
    "lower_bound_printed": (plot.LINES[2], "lower bound, as printed"),
}
_LINE: plot.Style = {"color": "0.15", "linewidth": 1.1, "zorder": 1.8}
# Grey is the strip of errors not reached.
_SHADE: plot.Style = {"facecolor": "none", "edgecolor": "0.8", "hatch": "////", "linewidth": 0}


@figure(
    "tightness",
    title="Features that an accuracy needs",
    **plot.declared("record", "epsilon", "needed", *_KNOWN, apart=plot.separate_algorithms),
)
def tightness(
    frame: pd.DataFrame,
    context: Context,
    *,
    panel: plot.Panel = "truth_l1_norm",
    row: plot.Row = "error",
    where: Where = {},  # noqa: B006
) -> Figure:
    """Features until the mean error is at most epsilon, against epsilon, both logarithmic.

    Coloured lines are medians over replicates with bands, one for each algorithm. Dark lines do not
    depend on a run: the features of the best possible predictor, below which the shaded part of the
    panel is impossible; the lower bounds of Theorems 6 and 7, as proved and, where it differs, as
    printed; and the number sufficient for fully corrective selection by Theorem 3. An accuracy that
    some replicate did not reach within the budget has a triangle in the strip at the top, open if
    none did and half filled if some did. Replicates that failed are left out and counted below.
    """
    from matplotlib.patches import Patch

    frame = rows_where(frame, where)
    frame, keys = group_columns(frame, context, row, panel, "algorithm")
    rows = records(
        frame,
        "epsilon",
        [*dict.fromkeys([*keys, "error"])],
        finite=["epsilon"],
        numeric=["needed", *_KNOWN],
    )
    styles = plot.LineStyles(rows, ["algorithm"], context, dashed=False)
    table = spread_reached(rows, [*keys, "epsilon"], "needed")
    by = [*(key for key in keys if key != "algorithm"), "epsilon"]
    known = rows.groupby(by, sort=True)[list(_KNOWN)].median().reset_index()
    if known["lower_bound_printed"].equals(known["lower_bound"]):
        known = known.drop(columns="lower_bound_printed")
    lines = [name for name in _KNOWN if name in known and known[name].notna().any()]
    along = plot.LogAxis("epsilon", rows["epsilon"])
    vertical = CountsAxis(table, known[lines])
    panels = plot.Panels.by_columns(rows, context, row, panel)
    marked: set[str] = set()
    for axis, values in panels:
        marked |= _draw_known(axis, plot.inside(known, values), lines, vertical)
        for label in sorted(plot.inside(rows, values)["algorithm"].unique()):
            vertical.draw(axis, plot.inside(table, values | {"algorithm": label}), styles.of(label))
        along.apply(axis)
        axis.invert_xaxis()
        vertical.apply(axis)
        panels.title(axis, values, context)
    panels.label(r"mean error $\varepsilon$", "features to reach the error")
    handles: list[Artist] = [
        plot.legend_entry(_KNOWN[name][1], **_LINE, **_line_style(name, name in marked))
        for name in lines
    ]
    if "exact" in lines:
        handles.append(Patch(**_SHADE, label="impossible"))
    note = [
        f"{origin_text(context)}: {spread_text(table)}.",
        failures_text(replicates(frame), "left out"),
        unreached_text(table, "error"),
    ]
    return panels.finish(
        *styles.legends(),
        handles,
        vertical.handles(),
        title=title_text(where, context),
        note=note,
    )


def _draw_known(
    axis: Axes, points: pd.DataFrame, lines: list[str], vertical: CountsAxis
) -> set[str]:
    """Draw the lines that do not depend on a run, and return the names of those with markers."""
    marked = set()
    for name in lines:
        heights = vertical.heights(points[name])
        single = plot.isolated(heights)
        style = _LINE | _line_style(name, bool(single)) | ({"markevery": single} if single else {})
        axis.plot(points["epsilon"], heights, **style, gid=name)
        marked |= {name} if single else set()
    if "exact" in lines:
        below = vertical.heights(points["exact"])
        if len(below) == 1:
            # All rows of a panel are about one error.
            axis.axhspan(vertical.least, below.iloc[0], **_SHADE, zorder=0.4)
        axis.fill_between(points["epsilon"], vertical.least, below, **_SHADE, zorder=0.4)
    return marked


def _line_style(name: str, marked: bool) -> plot.Style:
    dash = _KNOWN[name][0]
    return {"linestyle": dash} | (plot.bound_marker(dash) if marked else {})
