"""Draws of features in proportion to |w*_j|, counted."""

from __future__ import annotations

import numpy as np

# Draws that are made one by one. Up to here what is drawn does not depend on where it is looked at.
SINGLE = 2**16


class Draws:
    """One sequence r_1, r_2, ... with P[r = j] = |w*_j| / ||w*||_1.

    Beyond the first 65536 draws only their numbers between the points asked for are drawn, which
    has the same law and costs the same for 1e9 draws as for one.

    Parameters
    ----------
    sizes : array (s,), entries > 0
        |w*_j| over the support of w*.
    rng : Generator
    """

    def __init__(self, sizes: np.ndarray, rng: np.random.Generator):
        self._shares = sizes / sizes.sum()
        self._edges = np.cumsum(self._shares)
        self._rng = rng
        self._made = 0
        self._counts = np.zeros(len(sizes), dtype=np.int64)

    def counts(self, steps: int) -> np.ndarray:
        """How often each feature is among the first ``steps`` draws, (s,) of int.

        Parameters
        ----------
        steps : int
            At least what was asked for before.
        """
        single = min(steps, SINGLE) - min(self._made, SINGLE)
        uniform = self._rng.random(single) * self._edges[-1]
        drawn = np.searchsorted(self._edges, uniform, side="right")
        self._counts += np.bincount(drawn, minlength=len(self._counts))
        rest = max(steps, SINGLE) - max(self._made, SINGLE)
        if rest:
            self._counts += self._rng.multinomial(rest, self._shares)
        self._made = steps
        return self._counts.copy()
