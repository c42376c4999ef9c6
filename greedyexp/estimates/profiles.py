"""Coefficients along a path, and their picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from greedyexp.estimates.sparse import SparseEstimates

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Parameters that are spaced by factors, and fall along a path.
_BY_FACTORS = ("lam", "epsilon", "delta")
# The legend names at most this many coefficients, the largest at the chosen point.
_NAMED = 10


@dataclass(frozen=True)
class Profiles:
    """The coefficients of a path that are selected at any of its points.

    Parameters
    ----------
    grid : dict of str to array (m,)
        Tuning parameters of the points.
    estimates : SparseEstimates
    chosen : int
        Index of the chosen point.
    """

    grid: Mapping[str, np.ndarray]
    estimates: SparseEstimates
    chosen: int

    def draw(self, axes: Axes, label: Callable[[int, int], str]) -> None:
        """Draw the coefficients against the tuning parameter with the most values.

        Points that differ from the chosen point in another tuning parameter are left out.

        Parameters
        ----------
        axes : Axes
        label : callable
            Returns the label of the coefficient of a feature in a task.
        """
        m = len(self.estimates)
        grid = self.grid or {"point": np.arange(m)}
        name = max(grid, key=lambda one: len(np.unique(grid[one])))
        others = [values for one, values in grid.items() if one != name]
        same = [values == values[self.chosen] for values in others]
        kept = np.flatnonzero(np.all([np.ones(m, dtype=bool), *same], axis=0))
        kept = kept[np.argsort(grid[name][kept], kind="stable")]
        entries, column = np.unique(self.estimates.entries, return_inverse=True)
        whole = np.zeros((m, len(entries)))
        whole[self.estimates.owners, column] = self.estimates.values
        place, coef, at_choice = grid[name][kept], whole[kept], whole[self.chosen]
        largest = np.argsort(-np.abs(at_choice), kind="stable")[:_NAMED]
        for number, entry in enumerate(entries):
            feature, task = divmod(int(entry), self.estimates.shape[1])
            named = number in largest and at_choice[number] != 0.0
            axes.plot(
                place,
                coef[:, number],
                marker="." if len(place) < 30 else "",
                color=None if named else "0.8",
                label=label(feature, task) if named else None,
                zorder=2 if named else 1,
            )
        axes.axvline(grid[name][self.chosen], color="0.5", linestyle=":", zorder=0)
        axes.axhline(0.0, color="0.5", linewidth=0.5, zorder=0)
        if name in _BY_FACTORS and (place > 0).all():
            axes.set_xscale("log")
            axes.invert_xaxis()
        axes.set_xlabel(name)
        axes.set_ylabel("coefficient")
        if axes.get_legend_handles_labels()[0]:
            axes.legend(frameon=False)
