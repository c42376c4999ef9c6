"""Features needed for each mean error, with bounds that hold for every predictor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from greedyexp.core.registry import figure
from greedyexp.figures import _plot as plot

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
    frame: plot.Frame,
    context: plot.Context,
    *,
    panel: plot.Panel = "truth_l1_norm",
    row: plot.Row = "error",
    where: plot.Where = {},  # noqa: B006
) -> plot.Figure:
    """Features until the mean error is at most epsilon, against epsilon, both logarithmic.

    Coloured lines are medians over replicates with bands, one for each algorithm. Dark lines do not
    depend on a run: the features of the best possible predictor, below which the shaded part of the
    panel is impossible; the lower bounds of Theorems 6 and 7, as proved and, where it differs, as
    printed; and the number sufficient for fully corrective selection by Theorem 3. An accuracy that
    some replicate did not reach within the budget has a triangle in the strip at the top, open if
    none did and half filled if some did. Replicates that failed are left out and counted below.
    """
    from matplotlib.patches import Patch

    frame = plot.rows_where(frame, where)
    frame, keys = plot.group_columns(frame, context, row, panel, "algorithm")
    numeric: Any = {"finite": ["epsilon"], "numeric": ["needed", *_KNOWN]}
    rows = plot.records(frame, "epsilon", [*dict.fromkeys([*keys, "error"])], **numeric)
    styles = plot.LineStyles(rows, ["algorithm"], context, dashed=False)
    table = plot.medians_reached(rows, [*keys, "epsilon"], "needed")
    by = [*(key for key in keys if key != "algorithm"), "epsilon"]
    known = rows.groupby(by, sort=True)[list(_KNOWN)].median().reset_index()
    if known["lower_bound_printed"].equals(known["lower_bound"]):
        known = known.drop(columns="lower_bound_printed")
    lines = [name for name in _KNOWN if name in known and known[name].notna().any()]
    vertical = plot.CountsAxis(table, known[lines])
    marked: set[str] = set()

    def known_without_a_run(axis: plot.Axes, values: Mapping[str, Any]) -> None:
        points = plot.inside(known, values)
        for name in lines:
            heights = vertical.heights(points[name])
            single = plot.isolated(heights)
            style = _line_style(name, bool(single)) | ({"markevery": single} if single else {})
            axis.plot(points["epsilon"], heights, **style, gid=name)
            marked.update([name] if single else [])
        if "exact" in lines:
            below = vertical.heights(points["exact"])
            if len(below) == 1:
                # All rows of a panel are about one error.
                axis.axhspan(vertical.least, below.iloc[0], **_SHADE, zorder=0.4)
            axis.fill_between(points["epsilon"], vertical.least, below, **_SHADE, zorder=0.4)

    along = plot.LogAxis("epsilon", rows["epsilon"], falling=True)
    measured = vertical.curves(keys, styles)
    layers: list[plot.Layer] = [known_without_a_run, measured, along, vertical]

    def handles() -> list[plot.Artist]:
        found: list[plot.Artist] = [
            plot.legend_entry(_KNOWN[name][1], **_line_style(name, name in marked))
            for name in lines
        ]
        return [*found, Patch(**_SHADE, label="impossible")] if "exact" in lines else found

    note = [
        *plot.run_notes(frame, context, plot.medians_text(table, context)),
        plot.unreached_text(table, "error"),
    ]
    return plot.chart(
        plot.Panels.by_columns(rows, context, row, panel),
        context,
        layers,
        (r"mean error $\varepsilon$", "features to reach the error"),
        lambda: [*styles.legends(), handles(), vertical.handles()],
        note,
        where,
    )


def _line_style(name: str, marked: bool) -> plot.Style:
    dash = _KNOWN[name][0]
    return _LINE | {"linestyle": dash} | (plot.bound_marker(dash) if marked else {})
