"""What a forward-backward selection takes next, and what it would cost to drop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np

from greedyexp.losses.loss import TIE, Fit, Loss
from greedyexp.theory.forward_backward import gain_threshold, gradient_threshold

# A fit may leave this part of the largest derivative there can be.
FLAT = 1e-9
# Differences of the loss below this part of it are rounding.
ROUNDING = 1e-14
# Larger derivatives, in units of ``Loss.scale``, need not be looked at closely.
CLOSE = 1e-6


class Rule(ABC):
    """Goodness of what may be taken and the cost of what may be dropped, unit by unit.

    A unit is one coefficient, or a whole row of the matrix (p, r) of coefficients.

    What a fit leaves of a derivative is told from the derivative of a small column by comparing
    each with what it can be at most, ``Loss.steepest``.

    Attributes
    ----------
    loss : Loss
    by_row : bool
        Whether a unit is a row.
    width : int
        Coefficients of a unit.
    units : str
        What messages call several of them.
    threshold : callable, optional
        The least goodness with which the theorems hold, from rho_+(1), rho_- and
        ||grad Q(bbar)||_inf; none where they do not speak of the rule.
    """

    by_row = False
    width = 1
    units = "features"
    threshold: ClassVar[Callable[[float, float, float], float] | None] = None

    def __init__(self, loss: Loss):
        self.loss = loss

    @abstractmethod
    def goodness(self, fit: Fit) -> np.ndarray:
        """For each unit a number >= 0, zero for those taken."""

    def best(self, fit: Fit) -> tuple[int, float]:
        """The unit to take next and its goodness; ties to the lowest, zero with nothing to gain."""
        unit, best = self._first(fit)
        slopes = self._slopes(fit)
        if slopes[unit] > CLOSE * self.loss.scale:
            return unit, best
        scores = np.where(slopes > self._noise(fit), self.goodness(fit), 0.0)
        return _highest(scores)

    def _first(self, fit: Fit) -> tuple[int, float]:
        """The unit of the largest goodness."""
        return _highest(self.goodness(fit))

    def _slopes(self, fit: Fit) -> np.ndarray:
        """The size of the derivatives of each unit, zero for those taken."""
        return np.abs(fit.gradient)

    def _noise(self, fit: Fit) -> np.ndarray:
        """Derivatives up to which there is nothing to gain from a unit.

        Fits may leave as much, or what it promises to gain, grad_j^2 / (2 L_j), is rounding.
        """
        left = FLAT * np.minimum(self.loss.scale, self._most)
        return np.maximum(left, np.sqrt(ROUNDING) * self.loss.steepest(fit.value))

    @cached_property
    def _most(self) -> np.ndarray:
        """What the derivatives can be at the fit without features."""
        return self.loss.steepest(self.loss.fit().value)

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


class Slope(Rule):
    """The size of the derivative."""

    threshold = staticmethod(gradient_threshold)

    def goodness(self, fit: Fit) -> np.ndarray:
        return np.abs(fit.gradient)


class RowSlope(Rule):
    """The l2 norm of the derivatives of a row, which is taken and dropped as a whole."""

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
        return f"group {unit}"


class Gain(Rule):
    """How far the loss falls when this coefficient alone moves."""

    threshold = staticmethod(gain_threshold)

    def goodness(self, fit: Fit) -> np.ndarray:
        return fit.gains()


class BoundedGain(Gain):
    """The same, where bounds may spare gains that cannot be the largest."""

    def _first(self, fit: Fit) -> tuple[int, float]:
        return fit.best_gain()


class RefitGain(Rule):
    """How far the loss falls when this coefficient joins, or rises when it leaves, all refitted."""

    def goodness(self, fit: Fit) -> np.ndarray:
        return fit.refit_gains()

    def costs(self, fit: Fit, taken: Sequence[int]) -> np.ndarray:
        return fit.refit_removal_costs()


def _highest(scores: np.ndarray) -> tuple[int, float]:
    unit = int((scores >= scores.max() * (1.0 - TIE)).argmax())
    return unit, float(scores[unit])


def slope_rule(unit: str) -> type[Rule]:
    """The rule by gradient for what a step takes: ``feature`` or ``group``."""
    return RowSlope if unit == "group" else Slope


def gain_rule(judge: str, prune: bool) -> type[Rule]:
    """The rule by gain by its name: ``coordinate``, with ``prune`` by bounds, or ``refit``."""
    if judge == "refit":
        return RefitGain
    return BoundedGain if prune else Gain
