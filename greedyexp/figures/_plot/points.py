"""What is known of each point of a line: the rows behind it, and its numbers.

Pictures do not show it. The interactive figures of ``greedyexp report`` show it at each point.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.collections import PolyCollection
    from matplotlib.lines import Line2D

_ATTRIBUTE = "_greedyexp_points"


@dataclass(frozen=True)
class Points:
    """What is known of the points of a line.

    Parameters
    ----------
    keys : dict of str to list
        Columns of the table of results with a value for each point. The rows behind a point have
        these values.
    facts : dict of str to list
        Numbers with a value for each point, as they are named to readers. An interval is a pair.
    """

    keys: dict[str, list[Any]]
    facts: dict[str, list[Any]]


def attach(artist: Line2D | PolyCollection, keys: pd.DataFrame, facts: Mapping[str, Any]) -> None:
    """Attach to a line what is known of its points, or to cells what is known of each.

    Parameters
    ----------
    artist : Line2D or PolyCollection
    keys : DataFrame
        One row for each point, in the order of the line or the cells; see ``Points``.
    facts : mapping of str to array_like or a pair of array_like
        Numbers by name; a pair has the lower and the upper ends of an interval.

    Raises
    ------
    ValueError
        If the number of values is not the number of points.
    """
    from matplotlib.lines import Line2D

    known = {name: _plain(values) for name, values in facts.items()}
    columns = {str(name): _plain(keys[name]) for name in keys.columns}
    if isinstance(artist, Line2D):
        count = len(np.atleast_1d(artist.get_xdata()))
    else:
        count = len(artist.get_paths())
    for name, column in (*columns.items(), *known.items()):
        if len(column) != count:
            raise ValueError(f"'{name}' has {len(column)} values for {count} points.")
    setattr(artist, _ATTRIBUTE, Points(columns, known))


def attached(artist: Artist) -> Points | None:
    """Return what was attached to an artist; None if nothing was."""
    return getattr(artist, _ATTRIBUTE, None)


def _plain(values: Any) -> list[Any]:
    """Return values as Python's numbers and texts; the two ends of intervals as pairs."""
    return np.asarray(values).T.tolist()
