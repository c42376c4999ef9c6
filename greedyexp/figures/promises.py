"""What theorems promise, beside what is measured: lines, how far they are shown, and words."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from greedyexp.figures.style import DASHES, assign
from greedyexp.results.theorems import at_random, words

# The vertical axis goes on above what is measured by at most this factor to show a bound.
ABOVE = 1e3
_WIDTH = 1.0
# Where a bound is known at one place alone, of which a line shows nothing.
_MARKERS = assign(DASHES, ("_", "x", "+", "1", "2"))


def alone(heights: Iterable[float]) -> list[int]:
    """The places of known values that have no known one beside them."""
    known = np.isfinite(np.asarray(list(heights), dtype=float))
    beside = np.pad(known, 1)
    return np.flatnonzero(known & ~beside[:-2] & ~beside[2:]).tolist()


def point_look(dash) -> dict:
    """Matplotlib's keywords for the marks of a line with these dashes."""
    # A stroke goes out on both sides of the markers of what is measured.
    size = 16 if _MARKERS[dash] == "_" else 7
    return {"marker": _MARKERS[dash], "markersize": size, "markeredgewidth": 1.3}


def draw_promise(axis: Axes, at: pd.Series, heights: pd.Series, colour, dash) -> bool:
    """One bound, below all that is measured; whether some of it is marks rather than a line."""
    look = {"color": colour, "linestyle": dash, "linewidth": _WIDTH, "zorder": 1.8}
    points = alone(heights)
    look |= point_look(dash) | {"markevery": points} if points else {}
    axis.plot(at, heights, **look, gid="promise")
    return bool(points)


def promise_handle(label: str, dash, colour="0.3", *, marked: bool = False) -> Line2D:
    """The legend's entry for a bound; with its mark where one was drawn."""
    mark = point_look(dash) if marked else {}
    return Line2D([], [], color=colour, linestyle=dash, linewidth=_WIDTH, label=label, **mark)


def random_text(theorems: Iterable[str], said: str) -> str:
    """What holds of the theorems that are not about every run; empty without any.

    Parameters
    ----------
    theorems : iterable of str
        Those that are drawn.
    said : str
        How their bounds are to be read.
    """
    named = dict.fromkeys(words(name) for name in theorems if at_random(name))
    return f"{', '.join(named)}: {said}." if named else ""
