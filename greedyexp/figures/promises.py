"""What theorems promise, beside what is measured: lines, how far they are shown, and words."""

from __future__ import annotations

from collections.abc import Iterable

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.lines import Line2D

from greedyexp.frames.theorems import at_random, words

# The vertical axis goes on above what is measured by at most this factor to show a bound.
ABOVE = 1e3
_WIDTH = 1.0


def draw_promise(axis: plt.Axes, at: pd.Series, heights: pd.Series, colour, dash) -> None:
    """One bound, below all that is measured."""
    look = {"color": colour, "linestyle": dash, "linewidth": _WIDTH, "zorder": 1.8}
    axis.plot(at, heights, **look, gid="promise")


def promise_handle(label: str, dash, colour="0.3") -> Line2D:
    """The legend's entry for a bound."""
    return Line2D([], [], color=colour, linestyle=dash, linewidth=_WIDTH, label=label)


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
