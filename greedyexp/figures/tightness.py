"""Features that an accuracy takes where every predictor takes many, beside what is known of it."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from greedyexp.core.registry import figure
from greedyexp.figures.axes import LogAxis
from greedyexp.figures.counts_axis import CountsAxis
from greedyexp.figures.looks import Looks
from greedyexp.figures.options import Panel, Row, apart
from greedyexp.figures.panels import Panels, inside, laid_out
from greedyexp.figures.promises import alone, point_look
from greedyexp.figures.style import DASHES
from greedyexp.results import notes
from greedyexp.results.context import Context
from greedyexp.results.records import replicates, told_apart
from greedyexp.results.spread import spread_text
from greedyexp.results.theorems import chosen_text
from greedyexp.results.tightness import KNOWN, known, needed, tight_rows
from greedyexp.results.where import Where, rows_where

# Look and words of what no algorithm has to be run for.
_KNOWN = {
    "l1_upper": ({"linestyle": DASHES[3]}, "enough for selection, Theorem 3"),
    "exact": ({"linestyle": DASHES[0]}, "least that any predictor can have"),
    "lower_bound": ({"linestyle": DASHES[1]}, "needed by any, as proved"),
    "lower_bound_printed": ({"linestyle": DASHES[2]}, "needed by any, as printed"),
}
_LINE = {"color": "0.15", "linewidth": 1.1, "zorder": 1.8}
_SHADE = {"color": "0.88", "linewidth": 0}


def _apart(*, panel, row, **_) -> list[str]:
    return apart(panel=panel, row=row, line=["algorithm"])


def _columns(*, panel, row, where, **_) -> list[str]:
    told = ["record", "epsilon", "needed", *KNOWN]
    return list(dict.fromkeys([*_apart(panel=panel, row=row), *told, *where]))


@figure("tightness", title="Features that an accuracy needs", columns=_columns, apart=_apart)
def tightness(
    frame: pd.DataFrame,
    context: Context,
    *,
    panel: Panel = "truth_l1_norm",
    row: Row = "error",
    where: Where = {},  # noqa: B006
) -> Figure:
    """Features until the mean error is at most epsilon, against epsilon, both logarithmic.

    Coloured lines are medians over replicates with bands, one for each algorithm. Dark ones need no
    run: the features of the best predictor of all, below which the panel is shaded, as nothing can
    be there; those that Theorems 6 and 7 say are needed, as their proofs give them and as they are
    printed where that differs; and those that Theorem 3 says are enough for fully corrective
    selection. An accuracy that some replicate did not reach within the budget has a triangle in the
    strip at the top, open where none did and half filled where some did. Replicates that failed are
    left out and counted below.
    """
    frame = rows_where(frame, where)
    frame, keys = told_apart(frame, context, row, panel, "algorithm")
    rows = tight_rows(frame, keys)
    looks = Looks(rows, ["algorithm"])
    table = needed(rows, keys)
    shared = known(rows, [key for key in keys if key != "algorithm"])
    if shared["lower_bound_printed"].equals(shared["lower_bound"]):
        shared = shared.drop(columns="lower_bound_printed")
    lines = [name for name in _KNOWN if name in shared and shared[name].notna().any()]
    along = LogAxis("epsilon", rows["epsilon"])
    heights = CountsAxis(table, shared[lines])
    panels = Panels(laid_out(rows, context, row=row, panel=panel), width=3.6, height=2.9)
    bare: set[str] = set()
    for axis, values in panels:
        bare |= _draw_known(axis, inside(shared, values), lines, heights)
        for label in sorted(inside(rows, values)["algorithm"].unique()):
            own = inside(table, values | {"algorithm": label})
            heights.draw(axis, own, looks.of(label))
        along.apply(axis)
        axis.invert_xaxis()
        heights.apply(axis)
        panels.title(axis, values, context)
    panels.label(r"mean error $\varepsilon$", "features to reach the error")
    panels.legend([*looks.handles(context), *_handles(lines, bare), *heights.handles()])
    lost = 1 - table["reached"].sum() / table["replicates"].sum()
    panels.note(
        [
            chosen_text(where),
            f"{notes.origin(context)}: {spread_text(table)}.",
            f"{notes.failures_text(replicates(frame), 'left out')},"
            f" error not reached: {lost:.2%} of all pairs of replicate and error.",
        ]
    )
    return panels.figure


def _draw_known(axis, points: pd.DataFrame, lines: list[str], heights: CountsAxis) -> set[str]:
    """Draw what needs no run; the names of what is marks rather than a line."""
    marked = set()
    for name in lines:
        drawn = heights.heights(points[name])
        bare = alone(drawn)
        look = _LINE | _KNOWN[name][0] | _marks(name, bare) | ({"markevery": bare} if bare else {})
        axis.plot(points["epsilon"], drawn, **look, gid=name)
        marked |= {name} if bare else set()
    if "exact" in lines:
        below = heights.heights(points["exact"])
        if len(below) == 1:
            # The whole panel is about the one error.
            axis.axhspan(heights.least, below.iloc[0], **_SHADE, zorder=0.4)
        axis.fill_between(points["epsilon"], heights.least, below, **_SHADE, zorder=0.4)
    return marked


def _marks(name: str, bare) -> dict:
    """Marks for what is known at one place alone."""
    return point_look(_KNOWN[name][0]["linestyle"]) if bare else {}


def _handles(lines: list[str], bare: set[str]) -> list:
    found: list = [
        Line2D([], [], **_LINE, **_KNOWN[name][0], **_marks(name, name in bare), label=words)
        for name, words in ((name, _KNOWN[name][1]) for name in lines)
    ]
    if "exact" in lines:
        found.append(Patch(**_SHADE, label="impossible"))
    return found
