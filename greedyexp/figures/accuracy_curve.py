"""Steps or features that each accuracy takes, beside what theorems promise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from pydantic import Field

from greedyexp.core.registry import figure
from greedyexp.figures.axes import LogAxis, number_texts
from greedyexp.figures.counts_axis import CountsAxis
from greedyexp.figures.looks import Looks
from greedyexp.figures.options import Panel, Row, apart
from greedyexp.figures.panels import Panels, inside, laid_out
from greedyexp.figures.promises import draw_promise, promise_handle, random_text
from greedyexp.figures.style import DASHES, assign
from greedyexp.results import notes
from greedyexp.results.accuracies import (
    FitBelow,
    Growth,
    Laws,
    accuracies,
    growth,
    growth_text,
    measured,
    promised,
    unreached_share,
)
from greedyexp.results.context import Context
from greedyexp.results.folding import folded
from greedyexp.results.labels import axis_label
from greedyexp.results.records import replicates
from greedyexp.results.spread import spread_text
from greedyexp.results.theorems import (
    WhereTheorem,
    chosen_text,
    in_words,
    refuse_unknown,
    words,
)
from greedyexp.results.where import rows_where

Count = Annotated[Literal["steps", "features_needed"], Field(description="what is counted")]

_EMPTY = {"ha": "center", "fontsize": 8, "color": "0.5"}


def _apart(*, panel, row, **_) -> list[str]:
    return apart(panel=panel, row=row, line=["algorithm"])


def _columns(*, panel, row, count, where, **_) -> list[str]:
    told = ["record", "theorem", "reference", "epsilon", "steps", "features_needed", "steps_bound"]
    return list(dict.fromkeys([*_apart(panel=panel, row=row), *told, count, *where]))


@figure("accuracy_curve", title="Steps to reach an accuracy", columns=_columns, apart=_apart)
def accuracy_curve(
    frame: pd.DataFrame,
    context: Context,
    *,
    panel: Panel = "theorem",
    row: Row = None,
    count: Count = "steps",
    law: Laws = {},  # noqa: B006
    fit_below: FitBelow = None,
    where: WhereTheorem = {},  # noqa: B006
) -> Figure:
    """Steps k(epsilon) until the excess risk is at most epsilon, against epsilon, both logarithmic.

    Lines are medians over replicates with bands, one for each algorithm; dashed lines in its colour
    are medians of what a theorem promises, so that a solid line above its dashed one refutes it.
    Theorem 1 is about half of the runs. Lines are about one reference. An accuracy that some
    replicate did not reach has a triangle in the strip at the top, open where none did and half
    filled where some did; one that takes no step is at 0, apart at the bottom. At the top of each
    panel stands the growth that was measured: the mean over replicates of the slope of the
    least-squares line through the accuracies that it reached, with its 95% t interval. Replicates
    that failed are left out and counted below.
    """
    frame = rows_where(frame, where)
    frame, keys = folded(frame, context, row, panel, "algorithm")
    rows = accuracies(frame, keys, count, _instead(panel, row))
    refuse_unknown("law", law, rows)
    looks = Looks(rows, ["algorithm"])
    table, bounds = measured(rows, frame, keys), promised(rows, frame, keys, count)
    dashes = _dashes(bounds, "theorem" in (panel, row))
    size = {"width": 3.6, "narrowest": 2.3, "height": 2.8 if row else 3.0}
    panels = Panels(laid_out(rows, context, row=row, panel=panel), **size)
    said = [_growths(inside(rows, values), frame, law, fit_below, looks) for _, values in panels]
    along = LogAxis("epsilon", rows["epsilon"])
    heights = CountsAxis(table, bounds["median"], max(map(len, said)))
    marked = set()
    for (axis, values), texts in zip(panels, said, strict=True):
        for label, points in inside(table, values).groupby("algorithm", sort=True):
            heights.draw(axis, points, looks.of(label))
        for (label, theorem), line in inside(bounds, values).groupby(["algorithm", "theorem"]):
            drawn, colour = heights.heights(line["median"]), looks.of(label)["color"]
            if draw_promise(axis, line["epsilon"], drawn, colour, dashes[theorem]):
                marked.add(theorem)
        along.apply(axis)
        # Accuracies get finer to the right.
        axis.set_xlim(*sorted(axis.get_xlim(), reverse=True))
        heights.apply(axis)
        heights.write(axis, texts)
        shown = inside(bounds, values).groupby("theorem", sort=False)["median"]
        heights.write_beyond(axis, {words(theorem): numbers for theorem, numbers in shown})
        if not axis.lines:
            axis.text(0.5, 0.4, "nothing is promised", transform=axis.transAxes, **_EMPTY)
        panels.title(axis, in_words(values), context)
    panels.label(axis_label("epsilon"), axis_label(count))
    budget = _budget(frame)
    panels.legend([*looks.handles(context), *_handles(dashes, marked), *heights.handles(budget)])
    medians = f"{notes.origin(context)}: {spread_text(table)}. Bounds are medians too."
    half = random_text(bounds["theorem"], "promised with probability 1/2")
    failed = f"{notes.failures_text(replicates(frame), 'left out')}, accuracy not reached:"
    failed += f" {unreached_share(rows, frame):.2%} of all pairs of replicate and accuracy."
    fitted = growth_text(fit_below) if any(said) else ""
    panels.note([chosen_text(where), medians, half, failed, fitted])
    return panels.figure


def _instead(panel: str | None, row: str | None) -> str:
    """What to say for panels of theorems where there are none."""
    asked = [name for name, column in (("panel", panel), ("row", row)) if column == "theorem"]
    return " ".join(f"Say `{name}: reference` or `{name}: null`." for name in asked)


def _dashes(bounds: pd.DataFrame, told: bool) -> dict:
    """Dashes by theorem, the same for all where panels tell them."""
    theorems = list(dict.fromkeys(bounds["theorem"]))
    return dict.fromkeys(theorems, DASHES[1]) if told else assign(theorems, DASHES[1:])


def _growths(
    rows: pd.DataFrame, frame: pd.DataFrame, law: Mapping, fit_below: float | None, looks: Looks
) -> list[tuple[str, str]]:
    """What is said of the growth of each line of a panel, once for each law of its theorems."""
    said = []
    for label, line in rows.groupby("algorithm", sort=True):
        for kind in dict.fromkeys(law.get(theorem, "power") for theorem in line["theorem"]):
            one = growth(line, frame, kind, fit_below)
            if one.known:
                said.append((_words(kind, one), looks.of(label)["color"]))
    return said


def _words(law: str, one: Growth) -> str:
    # A slope of zero but for rounding is zero.
    value, low, high = (f"{round(end, 9) + 0.0:.3g}" for end in (one.value, one.low, one.high))
    span = "" if np.isinf(one.low) else f" [{low}, {high}]"
    if law == "power":
        return rf"$\varepsilon^{{-p}}$ with p = {value}{span}"
    return f"{value}{span} per factor of ten"


def _budget(frame: pd.DataFrame) -> str:
    """How far runs went, in words; empty where the table does not tell."""
    last = frame["step"].max() if "step" in frame.columns else np.nan
    return "" if np.isnan(last) else f" within {number_texts([float(last)])[0]} steps"


def _handles(dashes: dict, marked: set) -> list[Line2D]:
    if len(set(dashes.values())) == 1 < len(dashes):
        return [promise_handle("what the theorem promises", DASHES[1], marked=bool(marked))]
    return [
        promise_handle(words(theorem), dash, marked=theorem in marked)
        for theorem, dash in dashes.items()
    ]
