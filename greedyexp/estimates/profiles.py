"""Coefficients along a path, and their picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from greedyexp.estimates.path import Path

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Parameters that are spaced by factors, and fall along a path.
_BY_FACTORS = ("lam", "epsilon", "delta")
# The legend names at most this many coefficients, the largest at the chosen point.
_NAMED = 10


@dataclass(frozen=True)
class Profiles:
    """The coefficients of a path that are not always zero.

    Parameters
    ----------
    grid : dict of str to array (m,)
        Tuning parameters of the points.
    entries : int array (k, 2)
        Feature and task of each coefficient.
    coef : array (m, k)
    chosen : int
        Index of the chosen point.
    """

    grid: Mapping[str, np.ndarray]
    entries: np.ndarray
    coef: np.ndarray
    chosen: int

    @classmethod
    def of(cls, path: Path, chosen: int) -> Profiles:
        """Return the profiles of a path, without a reference to its dense coefficients."""
        flat = path.coef.reshape(len(path), -1)
        # ``take`` on flat coefficients is faster than indexing two axes with arrays.
        places = np.flatnonzero(flat.any(axis=0))
        coef = np.take(flat, places, axis=1)
        entries = np.stack(np.divmod(places, path.coef.shape[2]), axis=1)
        grid = path.grid or {"point": np.arange(len(path))}
        return cls(grid, entries, coef, chosen)

    def draw(self, axes: Axes, label: Callable[[int, int], str]) -> None:
        """Draw the coefficients against the tuning parameter with the most values.

        Points that differ from the chosen point in another tuning parameter are left out.

        Parameters
        ----------
        axes : Axes
        label : callable
            Returns the label of the coefficient of a feature in a task.
        """
        name = max(self.grid, key=lambda one: len(np.unique(self.grid[one])))
        others = [values for one, values in self.grid.items() if one != name]
        same = [values == values[self.chosen] for values in others]
        kept = np.flatnonzero(np.all([np.ones(len(self.coef), dtype=bool), *same], axis=0))
        kept = kept[np.argsort(self.grid[name][kept], kind="stable")]
        place, coef = self.grid[name][kept], self.coef[kept]
        largest = np.argsort(-np.abs(self.coef[self.chosen]), kind="stable")[:_NAMED]
        for number, (feature, task) in enumerate(self.entries):
            named = number in largest and self.coef[self.chosen, number] != 0.0
            axes.plot(
                place,
                coef[:, number],
                marker="." if len(place) < 30 else "",
                color=None if named else "0.8",
                label=label(feature, task) if named else None,
                zorder=2 if named else 1,
            )
        axes.axvline(self.grid[name][self.chosen], color="0.5", linestyle=":", zorder=0)
        axes.axhline(0.0, color="0.5", linewidth=0.5, zorder=0)
        if name in _BY_FACTORS and (place > 0).all():
            axes.set_xscale("log")
            axes.invert_xaxis()
        axes.set_xlabel(name)
        axes.set_ylabel("coefficient")
        if axes.get_legend_handles_labels()[0]:
            axes.legend(frameon=False)
