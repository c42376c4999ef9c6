"""The figure of two runs: the means of one against those of the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from greedyexp.figures._plot.layers import chart
from greedyexp.figures._plot.methods import method_styles
from greedyexp.figures._plot.panels import Panels, inside
from greedyexp.figures._plot.points import attach
from greedyexp.figures._plot.style import legend_entry, use_style
from greedyexp.figures._plot.typeset import typeset
from greedyexp.results.context import Context
from greedyexp.results.words import axis_label
from greedyexp.stats.level import ALPHA, INTERVAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Positive numbers that span more than this factor get logarithmic axes.
_SPAN = 1e3


def compare_figure(
    table: pd.DataFrame,
    folders: tuple[Path, Path],
    context: Context,
    *,
    paired: bool,
    beyond_chance: int,
    limits: Sequence[str] = (),
) -> Figure:
    """Return a panel for each number, with a point for each setting and algorithm.

    A point on the diagonal has the same mean in both runs. Its bar is the interval of the
    difference, drawn from the mean of ``a``: a bar that misses the diagonal shows a difference.
    Filled points differ beyond chance after the correction for all comparisons.

    Parameters
    ----------
    table : DataFrame
        ``Comparison.differences``.
    folders : tuple of Path
        The run folders ``a`` and ``b``.
    context : Context
        Of run ``a``, whose figures have the same colours.
    paired : bool
        True if the rows of both runs are paired.
    beyond_chance : int
        Number of lines that differ beyond chance.
    limits : sequence of str
        Clauses on what limits intervals, for the note.
    """
    import matplotlib

    names = list(dict.fromkeys(table["column"]))
    labels = list(dict.fromkeys(table["algorithm"]))
    known = method_styles(context, labels)
    styles = {label: known[label] | {"linestyle": "none"} for label in labels}
    with matplotlib.rc_context():
        use_style()
        panels = Panels([[{"column": name} for name in names]], sharex=False, sharey=False)

        def points(axis: Axes, values: Mapping[str, Any]) -> None:
            _draw(axis, inside(table, values), styles)
            axis.set_title(axis_label(values["column"]))

        names = [f"{folder.parent.name}/{folder.name}" for folder in folders]
        if names[0] == names[1]:
            names = list(map(str, folders))
        axes = f"a: {names[0]}", f"b: {names[1]}"
        kind = "paired" if paired else "not paired"
        note = (
            f"Means of {len(table)} comparisons, {kind}; bars: {INTERVAL}s of the difference;"
            f" filled: {beyond_chance} that differ beyond chance (Holm, {ALPHA:.0%})."
        )
        legend = [legend_entry(label, **styles[label]) for label in labels]
        notes = [note, *(f"{limit[:1].upper()}{limit[1:]}" for limit in limits)]
        # The columns are the titles of panels.
        picture = chart(panels, context, [points], axes, [legend], notes, titled=lambda _: None)
        typeset(picture)
        return picture


def _draw(axis: Axes, rows: pd.DataFrame, styles: dict[str, dict[str, Any]]) -> None:
    values = rows[["mean_a", "mean_b"]].to_numpy()
    if (values > 0).all() and values.max() > _SPAN * values.min():
        axis.set(xscale="log", yscale="log")
    else:
        axis.margins(0.08)
    for label, style in styles.items():
        mine = rows[rows["algorithm"] == label]
        beyond = mine["p_adjusted"] <= ALPHA
        axis.vlines(
            mine["mean_a"],
            mine["mean_a"] + mine["low"],
            mine["mean_a"] + mine["high"],
            color=style["color"],
            lw=0.8,
        )
        for some, filled in ((mine[~beyond], False), (mine[beyond], True)):
            face = style["color"] if filled else "white"
            (means,) = axis.plot(some["mean_a"], some["mean_b"], markerfacecolor=face, **style)
            facts = {name: some[name] for name in ("mean_a", "mean_b", "difference", "p_adjusted")}
            keys = some.loc[:, :"column"]
            attach(means, keys, facts | {INTERVAL: (some["low"], some["high"])})
    low, high = values.min(), values.max()
    if low < high:
        axis.plot([low, high], [low, high], color="0.6", lw=0.8, zorder=0)
