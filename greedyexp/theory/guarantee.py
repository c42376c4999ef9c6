"""What a theorem promises of an iterative method, and the optimum it speaks of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Optimum:
    """A minimiser of ||P a - y||^2 / (2 n) + lam ||a||_1 with its certificate.

    Parameters
    ----------
    coef : array (p,)
        The minimiser.
    value : float
        The objective there.
    gap : float
        Duality gap: the least objective is at least ``value - gap``.
    """

    coef: np.ndarray
    value: float
    gap: float


@dataclass(frozen=True)
class Guarantee:
    """An upper bound on the gap of the objective after k iterations.

    Parameters
    ----------
    rate : float in [0, 1], optional
        With ``power`` the linear bound gap_0 rate^(power k); None where no linear rate is proved.
    power : int
        Exponent of the rate per iteration.
    sublinear : float, optional
        c of the bound c / (k + shift), for k >= 1.
    shift : int
        See ``sublinear``.
    """

    rate: float | None = None
    power: int = 1
    sublinear: float | None = None
    shift: int = 0

    def bound(self, k, gap: float) -> np.ndarray:
        """The smallest of what is proved, an array like k.

        Parameters
        ----------
        k : int or array of int >= 0
            Iterations.
        gap : float
            Objective at iteration 0 minus its optimum. The methods never ascend, so that it
            bounds the gap of every iteration.
        """
        k = np.asarray(k, dtype=float)
        least = np.full(k.shape, float(gap))
        if self.rate is not None:
            least = np.minimum(least, gap * self.rate ** (self.power * k))
        if self.sublinear is not None:
            later = self.sublinear / (np.maximum(k, 1) + self.shift)
            least = np.where(k >= 1, np.minimum(least, later), least)
        return least

    @property
    def contraction(self) -> float | None:
        """Proved factor of the gap per iteration, ``rate ** power``; None without a rate."""
        return None if self.rate is None else self.rate**self.power
