"""Steps or features to reach each accuracy, with the bounds of theorems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from greedyexp.core.registry import figure
from greedyexp.figures import _plot as plot
from greedyexp.figures.tradeoff._counts_axis import CountsAxis
from greedyexp.results import theorems
from greedyexp.results.context import Context
from greedyexp.results.records import group_columns, identity, replicates, rows_where
from greedyexp.results.summaries import spread_reached, spread_text
from greedyexp.results.text import failures_text, origin_text, title_text
from greedyexp.results.theorems import WhereTheorem, theorem_title
from greedyexp.results.words import axis_label

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

Count = Annotated[theorems.Count, Field(description="quantity counted")]

_EMPTY: plot.Style = {"ha": "center", "color": "0.5"}


def _columns(*, count: str, **params: Any) -> list[str]:
    return plot.reads(*theorems.ACCURACY_COLUMNS, count, apart=plot.separate_algorithms)(**params)


@figure(
    "accuracy_curve",
    title="Steps to reach an accuracy",
    columns=_columns,
    apart=plot.separate_algorithms,
)
def accuracy_curve(
    frame: pd.DataFrame,
    context: Context,
    *,
    panel: plot.Panel = "theorem",
    row: plot.Row = None,
    count: Count = "steps",
    where: WhereTheorem = {},  # noqa: B006
) -> Figure:
    """Steps k(epsilon) until the excess risk is at most epsilon, against epsilon, both logarithmic.

    Lines are medians over replicates with bands, one for each algorithm. Dashed lines are
    medians of a theorem's bound, black if the bound of all algorithms of a panel is the same: a
    solid line above its dashed one refutes the theorem.
    The bound of Theorem 1 holds with probability 1/2. All lines refer to one reference. An accuracy
    that some replicate did not reach has a triangle in the strip at the top, open if none did and
    half filled if some did. An accuracy that needs no step is drawn at 0, below the other numbers.
    Replicates that failed are left out and counted below. The table ``slopes`` has the growth.
    """
    frame = rows_where(frame, where)
    frame, keys = group_columns(frame, context, row, panel, "algorithm", merge=True)
    rows = theorems.accuracies(frame, keys, count, _remedy(panel, row))
    styles = plot.LineStyles(rows, ["algorithm"], context, dashed=False)
    table, bounds = _measured(rows, frame, keys), _bounds(rows, frame, keys, count)
    dashes = _dashes(bounds, "theorem" in (panel, row))
    panels = plot.Panels.by_columns(rows, context, row, panel)
    along = plot.LogAxis("epsilon", rows["epsilon"])
    vertical = CountsAxis(table, bounds["median"])
    marked = set()
    for axis, values in panels:
        for name, points in plot.inside(table, values).groupby("algorithm", sort=True):
            vertical.draw(axis, points, styles.of(name))
        shown = plot.inside(bounds, values)
        for theorem, own in shown.groupby("theorem", sort=False):
            lines = [line for _, line in own.groupby("algorithm", sort=True)]
            same = all(_values(line) == _values(lines[0]) for line in lines)
            for line in lines[:1] if same else lines:
                own_style = None if same else styles.of(line["algorithm"].iloc[0])
                look = {"color": "black"} | plot.bound_style(dashes[str(theorem)], own_style)
                heights, title = vertical.heights(line["median"]), theorem_title(str(theorem))
                if plot.draw_bound(axis, line["epsilon"], heights, look, title):
                    marked.add(str(theorem))
        along.apply(axis)
        # Smaller epsilon to the right.
        axis.set_xlim(*sorted(axis.get_xlim(), reverse=True))
        vertical.apply(axis)
        by_theorem = shown.groupby("theorem", sort=False)["median"]
        vertical.write_hidden(axis, {theorem_title(str(name)): line for name, line in by_theorem})
        if not axis.lines:
            axis.text(0.5, 0.4, "nothing is promised", transform=axis.transAxes, **_EMPTY)
        panels.title(axis, theorems.title_theorem(values), context)
    panels.label(axis_label("epsilon"), axis_label(count))
    pairs = [*identity(frame), "reference", "epsilon"]
    unreached = np.isinf(rows.drop_duplicates(pairs)["taken"]).mean()
    too = "" if bounds.empty else " Bounds are medians too."
    note = [
        f"{origin_text(context)}: {spread_text(table)}.{too}",
        theorems.random_text(bounds["theorem"], "promised with probability 1/2"),
        failures_text(replicates(frame), "left out"),
        f"Accuracy not reached: {unreached:.2%} of all pairs of replicate and accuracy."
        if unreached
        else "",
    ]
    return panels.finish(
        *styles.legends(),
        _bound_handles(dashes, marked),
        vertical.handles(_budget_text(frame)),
        title=title_text(theorems.without_theorem(where), context),
        note=note,
    )


def _remedy(panel: str | None, row: str | None) -> str:
    """Return the remedy if panels separate theorems but there are no bounds."""
    named = [name for name, column in (("panel", panel), ("row", row)) if column == "theorem"]
    return " ".join(f"Write `{name}: reference` or `{name}: null`." for name in named)


def _measured(rows: pd.DataFrame, frame: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Compute median and band of the count at each accuracy.

    A replicate is counted once, even if several theorems apply to it.
    """
    names = [*keys, "epsilon"]
    once = rows.drop_duplicates([*dict.fromkeys([*identity(frame), *names])])
    return spread_reached(once, names, "taken")


def _bounds(
    rows: pd.DataFrame, frame: pd.DataFrame, keys: Sequence[str], count: theorems.Count
) -> pd.DataFrame:
    """Compute the median bound at each accuracy.

    A bound of steps bounds features only for an algorithm whose predictors never have more features
    than steps.
    """
    if count == "features_needed":
        more = rows["features_needed"] > rows["steps"]
        rows = rows[~more.groupby([rows[name] for name in keys]).transform("any")]
    return theorems.bound_medians(rows, frame, keys, "epsilon", "steps_bound")


def _dashes(bounds: pd.DataFrame, in_panels: bool) -> dict[str, Any]:
    """Return dashes by theorem, all the same if panels separate theorems."""
    names = list(dict.fromkeys(bounds["theorem"]))
    return dict.fromkeys(names, plot.LINES[1]) if in_panels else plot.cycle(names, plot.LINES[1:])


def _values(line: pd.DataFrame) -> list[tuple[float, float]]:
    return [*zip(line["epsilon"], line["median"], strict=True)]


def _budget_text(frame: pd.DataFrame) -> str:
    """Return the largest number of steps as text; empty if it is not known."""
    last = frame["step"].max() if "step" in frame.columns else np.nan
    return "" if np.isnan(last) else f" within {plot.tick_labels([float(last)])[0]} steps"


def _bound_handles(dashes: Mapping[str, Any], marked: set[str]) -> list[Line2D]:
    if len(set(dashes.values())) == 1 < len(dashes):
        return [plot.bound_handle("bound of the theorem", plot.LINES[1], marked=bool(marked))]
    return [
        plot.bound_handle(theorem_title(name), dash, marked=name in marked)
        for name, dash in dashes.items()
    ]
