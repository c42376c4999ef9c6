"""Curves of how often noise leaves every nonzero coefficient visible."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from greedyexp.core.errors import ConfigError
from greedyexp.figures.looks import Looks
from greedyexp.results.counts import require_columns
from greedyexp.theory.transitions import visible

# What the prediction depends on.
COLUMNS = ("values", "noise_std", "n_samples", "p", "n_tasks", "s")
NOTE = "Dash-dotted: probability that every nonzero value exceeds σ √(2 log(p r) / n)."
_LOOK = {"linewidth": 1.1, "linestyle": (0, (6, 1.5, 1, 1.5)), "zorder": 1.5}


def draw_ceilings(axis: Axes, rows: pd.DataFrame, x: str, line: list[str], looks: Looks) -> None:
    """One curve for each line of a panel, grey when lines of one colour have different ones.

    Raises
    ------
    ConfigError
        When a column is missing, a line mixes settings that have different predictions, or there
        is none for the values.
    """
    require_columns(rows, COLUMNS)
    drawn = set()
    for key, group in rows.groupby(line, sort=True):
        settings = group[[x, *COLUMNS]].drop_duplicates().sort_values(x)
        if settings[x].duplicated().any():
            mixed = [name for name in COLUMNS if settings.groupby(x)[name].nunique().max() > 1]
            raise ConfigError(
                f"a line mixes values of '{mixed[0]}', which have different ceilings.",
                remedy=f"Put {mixed[0]} into line, panel or row, or leave out the ceiling.",
            )
        heights = tuple(_height(setting) for setting in settings.itertuples())
        colour = "0.4" if looks.first == "algorithm" else looks.of(*key)["color"]
        if (colour, heights) not in drawn:
            axis.plot(settings[x], heights, color=colour, **_LOOK, gid="ceiling")
            drawn.add((colour, heights))


def handle() -> Line2D:
    """The legend's entry."""
    return Line2D([], [], color="0.4", label="predicted from noise alone", **_LOOK)


def _height(setting) -> float:
    try:
        return visible(
            setting.values,
            setting.noise_std,
            n_samples=setting.n_samples,
            n_features=setting.p,
            n_tasks=setting.n_tasks,
            sparsity=setting.s,
        )
    except ValueError as error:
        raise ConfigError(
            f"the table has settings without a ceiling: {error}", remedy="Leave out the ceiling."
        ) from None
