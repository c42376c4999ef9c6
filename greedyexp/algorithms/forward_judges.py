"""What a forward-backward selection takes next, and what it would cost to drop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence

import numpy as np

from greedyexp.losses.loss import TIE, Fit, Loss


class Judge(ABC):
    """Goodness of what may be taken and the cost of what may be dropped, unit by unit.

    A unit is one coefficient, or a whole row of the matrix (p, r) of coefficients.

    Attributes
    ----------
    loss : Loss
    by_row : bool
        Whether a unit is a row.
    width : int
        Coefficients of a unit.
    """

    by_row = False
    width = 1

    def __init__(self, loss: Loss):
        self.loss = loss

    @abstractmethod
    def goodness(self, fit: Fit) -> np.ndarray:
        """For each unit a number >= 0, zero for those taken."""

    def best(self, fit: Fit, spanned: Collection[int]) -> tuple[int, float]:
        """The unit to take next, none of the spanned ones, and its goodness; ties to the lowest."""
        scores = self.goodness(fit)
        if spanned:
            scores[list(spanned)] = 0.0
        unit = int((scores >= scores.max() * (1.0 - TIE)).argmax())
        return unit, float(scores[unit])

    def slope(self, fit: Fit, best: float) -> float:
        """The largest |derivative| off the support, where the best goodness is ``best``."""
        return float(np.abs(fit.gradient).max())

    def costs(self, fit: Fit, taken: Sequence[int]) -> np.ndarray:
        """By how much the loss rises when a unit is dropped, for those taken in this order."""
        return fit.removal_costs()

    def members(self, unit: int) -> list[int]:
        """The coefficients of a unit."""
        return [unit]

    def row(self, unit: int) -> int:
        """The row of a unit."""
        return unit // self.loss.shape[1]

    def name(self, unit: int) -> str:
        """What messages call a unit."""
        row, column = divmod(unit, self.loss.shape[1])
        return f"feature {row} of class {column}" if self.loss.shape[1] > 1 else f"feature {row}"


class Slope(Judge):
    """The size of the derivative."""

    def goodness(self, fit: Fit) -> np.ndarray:
        return np.abs(fit.gradient)

    def slope(self, fit: Fit, best: float) -> float:
        return best


class RowSlope(Judge):
    """The l2 norm of the derivatives of a row, which is taken and dropped as a whole."""

    by_row = True

    def __init__(self, loss: Loss):
        super().__init__(loss)
        self.width = loss.shape[1]

    def goodness(self, fit: Fit) -> np.ndarray:
        norms = np.linalg.norm(fit.gradient.reshape(self.loss.shape), axis=1)
        norms[[index // self.width for index in fit.support]] = 0.0
        return norms

    def slope(self, fit: Fit, best: float) -> float:
        return best

    def costs(self, fit: Fit, taken: Sequence[int]) -> np.ndarray:
        costs = np.empty(len(taken))
        for place, unit in enumerate(taken):
            without = fit.params.copy()
            without[self.members(unit)] = 0.0
            costs[place] = self.loss.value(without) - fit.value
        return costs

    def members(self, unit: int) -> list[int]:
        return list(range(unit * self.width, (unit + 1) * self.width))

    def row(self, unit: int) -> int:
        return unit

    def name(self, unit: int) -> str:
        return f"feature {unit}"


class Gain(Judge):
    """How far the loss falls when this coefficient alone moves."""

    def goodness(self, fit: Fit) -> np.ndarray:
        return fit.gains()


class BoundedGain(Gain):
    """The same, where bounds may spare gains that cannot be the largest."""

    def best(self, fit: Fit, spanned: Collection[int]) -> tuple[int, float]:
        return super().best(fit, spanned) if spanned else fit.best_gain()


class RefitGain(Judge):
    """How far the loss falls when this coefficient joins, or rises when it leaves, all refitted."""

    def goodness(self, fit: Fit) -> np.ndarray:
        return fit.refit_gains()

    def costs(self, fit: Fit, taken: Sequence[int]) -> np.ndarray:
        return fit.refit_removal_costs()


def gain_judge(judge: str, prune: bool) -> type[Judge]:
    """The judge by its name: ``coordinate``, with ``prune`` by bounds, or ``refit``."""
    if judge == "refit":
        return RefitGain
    return BoundedGain if prune else Gain
