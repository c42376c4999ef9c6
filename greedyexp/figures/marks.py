"""A vertical line in each panel where something changes, such as as many features as samples."""

from __future__ import annotations

from typing import Annotated

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from pydantic import Field

from greedyexp.core.errors import ConfigError
from greedyexp.results.counts import require_columns
from greedyexp.results.labels import letter, number

Mark = Annotated[
    float | str | None,
    Field(description="where a vertical line is drawn: a number, or the column that has it"),
]
_LOOK = {"color": "0.45", "linewidth": 1.0, "linestyle": (0, (2, 2)), "zorder": 0.95}


def draw_mark(axis: Axes, rows: pd.DataFrame, mark: float | str | None) -> None:
    """The line of one panel; none where the column is empty.

    Parameters
    ----------
    rows : DataFrame
        What the panel shows.

    Raises
    ------
    ConfigError
        When the column is missing, is not a number or has several values in the panel.
    """
    for place in _places(rows, mark):
        axis.axvline(place, **_LOOK, gid="mark")


def mark_handle(mark: float | str | None, x: str) -> list[Line2D]:
    """The legend's entry."""
    if mark is None:
        return []
    where = letter(mark) if isinstance(mark, str) else number(mark)
    return [Line2D([], [], label=f"{letter(x)} = {where}", **_LOOK)]


def _places(rows: pd.DataFrame, mark: float | str | None) -> list[float]:
    if mark is None:
        return []
    if not isinstance(mark, str):
        return [mark]
    require_columns(rows, [mark])
    known = rows[mark].dropna().unique()
    if not pd.api.types.is_numeric_dtype(rows[mark]) or len(known) > 1:
        raise ConfigError(
            f"column '{mark}' is not one number in each panel, so no line can be drawn at it.",
            remedy="Leave out `mark`, or name its column as row or panel.",
        )
    return list(known)
