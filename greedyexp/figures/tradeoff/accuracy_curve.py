"""Steps or features to reach each accuracy, with the bounds of theorems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from greedyexp.core.registry import figure
from greedyexp.figures import _plot as plot
from greedyexp.results import theorems
from greedyexp.results.theorems import WhereTheorem, theorem_title

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
    frame: plot.Frame,
    context: plot.Context,
    *,
    panel: plot.Panel = "theorem",
    row: plot.Row = None,
    count: Count = "steps",
    where: WhereTheorem = {},  # noqa: B006
) -> plot.Figure:
    """Steps k(epsilon) until the excess risk is at most epsilon, against epsilon, both logarithmic.

    Lines are medians over replicates with bands, one for each algorithm. Dashed lines are
    medians of a theorem's bound, black if the bound of all algorithms of a panel is the same: a
    solid line above its dashed one refutes the theorem.
    The bound of Theorem 1 holds with probability 1/2. All lines refer to one reference. An accuracy
    that some replicate did not reach has a triangle in the strip at the top, open if none did and
    half filled if some did. An accuracy that needs no step is drawn at 0, below the other numbers.
    Replicates that failed are left out and counted below. The table ``slopes`` has the growth.
    """
    frame = plot.rows_where(frame, where)
    frame, keys = plot.group_columns(frame, context, row, panel, "algorithm", merge=True)
    rows = theorems.accuracies(frame, keys, count, _remedy(panel, row))
    # A replicate is counted once, even if several theorems apply to it.
    pairs = [*dict.fromkeys([*plot.identity(frame), *keys, "epsilon"])]
    table = plot.medians_reached(rows.drop_duplicates(pairs), [*keys, "epsilon"], "taken")
    bounds = _bounds(rows, frame, keys, count)
    names = list(dict.fromkeys(bounds["theorem"]))
    dashes = plot.cycle(names, plot.LINES[1:2] if "theorem" in (panel, row) else plot.LINES[1:])
    styles = plot.LineStyles(rows, ["algorithm"], context, dashed=False)
    vertical = plot.CountsAxis(table, bounds["estimate"])
    marked: set[str] = set()

    def promised(axis: plot.Axes, values: Mapping[str, Any]) -> None:
        groups: Any = plot.inside(bounds, values).groupby("theorem", sort=False)
        for theorem, own in groups:
            lines = [line for _, line in own.groupby("algorithm", sort=True)]
            same = len({(*line["epsilon"], *line["estimate"]) for line in lines}) == 1
            for line in lines[:1] if same else lines:
                style = None if same else styles.of(line["algorithm"].iloc[0])
                look = {"color": "black"} | plot.bound_style(dashes[theorem], style)
                heights = vertical.heights(line["estimate"])
                if plot.draw_bound(axis, line["epsilon"], heights, look, theorem_title(theorem)):
                    marked.add(theorem)

    def texts(axis: plot.Axes, values: Mapping[str, Any]) -> None:
        by_theorem: Any = plot.inside(bounds, values).groupby("theorem", sort=False)["estimate"]
        vertical.write_hidden(axis, {theorem_title(name): line for name, line in by_theorem})
        if not axis.lines:
            axis.text(0.5, 0.4, "nothing is promised", transform=axis.transAxes, **_EMPTY)

    along = plot.LogAxis("epsilon", rows["epsilon"], falling=True)
    layers: list[plot.Layer] = [vertical.curves(keys, styles), promised, along, vertical, texts]
    once = rows.drop_duplicates([*plot.identity(frame), "reference", "epsilon"])
    unreached = np.isinf(once["taken"]).mean()
    too = "" if bounds.empty else " Bounds are medians too."
    origin, failures = plot.run_notes(frame, context, f"{plot.medians_text(table, context)}.{too}")
    share = f"{unreached:.2%} of all pairs of replicate and accuracy."
    note = [
        origin,
        theorems.random_text(bounds["theorem"], "promised with probability 1/2"),
        failures,
        f"Accuracy not reached: {share}" if unreached else "",
    ]
    return plot.chart(
        plot.Panels.by_columns(rows, context, row, panel),
        context,
        layers,
        (plot.axis_label("epsilon"), plot.axis_label(count)),
        lambda: [
            *styles.legends(),
            _bound_handles(dashes, marked),
            vertical.handles(_budget_text(frame)),
        ],
        note,
        theorems.without_theorem(where),
        titled=theorems.title_theorem,
    )


def _remedy(panel: str | None, row: str | None) -> str:
    """Return the remedy if panels separate theorems but there are no bounds."""
    named = [name for name, column in (("panel", panel), ("row", row)) if column == "theorem"]
    return " ".join(f"Write `{name}: reference` or `{name}: null`." for name in named)


def _bounds(
    rows: plot.Frame, frame: plot.Frame, keys: Sequence[str], count: theorems.Count
) -> plot.Frame:
    """Compute the median bound at each accuracy.

    A bound of steps bounds features only for an algorithm whose predictors never have more features
    than steps.
    """
    if count == "features_needed":
        more = rows["features_needed"] > rows["steps"]
        rows = rows[~more.groupby([rows[name] for name in keys]).transform("any")]
    return theorems.bound_medians(rows, frame, keys, "epsilon", "steps_bound")


def _budget_text(frame: plot.Frame) -> str:
    """Return the largest number of steps as text; empty if it is not known."""
    last = frame["step"].max() if "step" in frame.columns else np.nan
    return "" if np.isnan(last) else f" within {plot.tick_labels([float(last)])[0]} steps"


def _bound_handles(dashes: Mapping[str, Any], marked: set[str]) -> list[plot.Line2D]:
    if len(set(dashes.values())) == 1 < len(dashes):
        return [plot.bound_handle("bound of the theorem", plot.LINES[1], marked=bool(marked))]
    return [
        plot.bound_handle(theorem_title(name), dash, marked=name in marked)
        for name, dash in dashes.items()
    ]
