"""Rules of forward-backward selection: scores of features to add, and costs of those to drop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Protocol, cast

import numpy as np

from greedyexp.losses.loss import Fit, Loss, highest

# A fit may leave derivatives below this fraction of their largest possible value.
FLAT = 1e-9
# Differences of the loss below this fraction of it are rounding.
ROUNDING = 1e-14
# Derivatives above this fraction of ``Loss.scale`` are certainly not rounding.
CLOSE = 1e-6


class Rule(ABC):
    """Goodness of the units outside the support, and cost of dropping those inside.

    A unit is one coefficient, or a whole row of the matrix (p, r) of coefficients.

    A derivative left by rounding and the derivative of a small column may have the same size. To
    distinguish them, each is compared with its largest possible value, ``Loss.steepest``.

    Attributes
    ----------
    loss : Loss
    by_row : bool
        Whether a unit is a row.
    width : int
        Number of coefficients of a unit.
    units : str
        Plural of unit in messages.
    """

    by_row = False
    width = 1
    units = "features"

    def __init__(self, loss: Loss):
        self.loss = loss

    @abstractmethod
    def goodness(self, fit: Fit) -> np.ndarray:
        """Return a number >= 0 for each unit, zero for those in the support."""

    def best(self, fit: Fit) -> tuple[int, float]:
        """Return the unit to take next and its goodness.

        Ties go to the lowest unit. The goodness is zero if nothing is left to gain.
        """
        unit, best = self._first(fit)
        slopes = self._slopes(fit)
        if slopes[unit] > CLOSE * self.loss.scale:
            return unit, best
        scores = np.where(slopes > self._noise(fit), self.goodness(fit), 0.0)
        return highest(scores)

    def _first(self, fit: Fit) -> tuple[int, float]:
        """Return the unit of the largest goodness, and this goodness."""
        return highest(self.goodness(fit))

    def _slopes(self, fit: Fit) -> np.ndarray:
        """Return the size of the derivatives of each unit, zero for those in the support."""
        return np.abs(fit.gradient)

    def _noise(self, fit: Fit) -> np.ndarray:
        """Return the size of derivatives up to which a unit has nothing to gain.

        A fit may leave derivatives of this size, or the gain that they promise,
        grad_j^2 / (2 L_j), is below rounding error.
        """
        left = FLAT * np.minimum(self.loss.scale, self._most)
        return np.maximum(left, np.sqrt(ROUNDING) * self.loss.steepest(fit.value))

    @cached_property
    def _most(self) -> np.ndarray:
        """Largest possible derivatives at the fit without features."""
        return self.loss.steepest(self.loss.fit().value)

    def costs(self, fit: Fit, taken: Sequence[int], most: float) -> np.ndarray:
        """Return the increase of the loss when each unit of ``taken`` is dropped, in this order.

        A cost may be replaced by a lower bound of it that is above ``most``.
        """
        return fit.removal_costs(most)

    def members(self, unit: int) -> list[int]:
        """Return the coefficients of a unit."""
        return [unit]

    def row(self, unit: int) -> int:
        """Return the row of a unit."""
        return unit // self.loss.shape[1]

    def name(self, unit: int) -> str:
        """Return the name of a unit in messages."""
        row, column = divmod(unit, self.loss.shape[1])
        name = self.loss.name_of(row)
        return f"{name} of class {column}" if self.loss.shape[1] > 1 else name


class Slope(Rule):
    """Size of the derivative."""

    def goodness(self, fit: Fit) -> np.ndarray:
        return np.abs(fit.gradient)


class RowSlope(Rule):
    """l2 norm of the derivatives of a row, which is added and dropped as a whole."""

    by_row = True
    units = "groups"

    def __init__(self, loss: Loss):
        super().__init__(loss)
        self.width = loss.shape[1]

    def goodness(self, fit: Fit) -> np.ndarray:
        norms = np.linalg.norm(fit.gradient.reshape(self.loss.shape), axis=1)
        norms[[index // self.width for index in fit.support]] = 0.0
        return norms

    def _slopes(self, fit: Fit) -> np.ndarray:
        return self.goodness(fit)

    def _noise(self, fit: Fit) -> np.ndarray:
        return super()._noise(fit).reshape(self.loss.shape).max(axis=1)

    def costs(self, fit: Fit, taken: Sequence[int], most: float) -> np.ndarray:
        costs = np.empty(len(taken))
        for place, unit in enumerate(taken):
            without = self.loss.without(fit.params, self.members(unit))
            costs[place] = self.loss.value(without) - fit.value
        return costs

    def members(self, unit: int) -> list[int]:
        return list(range(unit * self.width, (unit + 1) * self.width))

    def row(self, unit: int) -> int:
        return unit

    def name(self, unit: int) -> str:
        return f"group {unit}"


class Gain(Rule):
    """Decrease of the loss when this coefficient alone moves."""

    def goodness(self, fit: Fit) -> np.ndarray:
        return fit.gains()


class BoundedGain(Gain):
    """``Gain``, computed only for units that may have the largest one according to a bound."""

    def _first(self, fit: Fit) -> tuple[int, float]:
        return fit.best_gain()


class _RefitScores(Protocol):
    """Scores after a refit, which only fits of the squared loss have."""

    def refit_gains(self) -> np.ndarray: ...

    def refit_removal_costs(self) -> np.ndarray: ...


class RefitGain(Rule):
    """Change of the loss when this coefficient enters or leaves and all are refitted.

    For the squared loss only; ``check`` refuses the others.
    """

    def goodness(self, fit: Fit) -> np.ndarray:
        return cast(_RefitScores, fit).refit_gains()

    def costs(self, fit: Fit, taken: Sequence[int], most: float) -> np.ndarray:
        return cast(_RefitScores, fit).refit_removal_costs()


def slope_rule(unit: str) -> type[Rule]:
    """Return the rule by gradient for a ``unit`` of ``feature`` or ``group``."""
    return RowSlope if unit == "group" else Slope


def gain_rule(judge: str, prune: bool) -> type[Rule]:
    """Return the rule by gain for ``judge`` and ``prune``."""
    if judge == "refit":
        return RefitGain
    return BoundedGain if prune else Gain
