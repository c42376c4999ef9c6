"""A chain loss over the dense parameters and some coefficients alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from greedyexp.losses.crf import CrfLoss


class Reduced:
    """The loss as a function of its free parameters (m,), over the columns that they need.

    Parameters
    ----------
    loss : CrfLoss
    support : sequence of int

    Attributes
    ----------
    free : int array (m,)
        Places of the free parameters: the dense ones, then the support in its order.
    """

    def __init__(self, loss: CrfLoss, support: Sequence[int]):
        self._loss = loss
        r, size, total = loss.shape[1], loss.size, loss.size + loss.n_dense
        support = np.asarray(support, dtype=np.int64)
        self.free = np.concatenate((np.arange(size, total), support))
        rows = np.unique(support // r)
        places = np.full(total, -1)
        places[(rows[:, None] * r + np.arange(r)).ravel()] = np.arange(len(rows) * r)
        places[size:] = len(rows) * r + np.arange(loss.n_dense)
        kept = np.flatnonzero(places >= 0)
        self._places, self._count = places[self.free], len(kept)
        self._columns, self._observed = loss.columns(rows), loss.observed[kept]

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Q and its gradient (m,)."""
        params = np.zeros(self._count)
        params[self._places] = x
        value, gradient = self._loss.pass_over(self._columns, params, self._observed)
        return value, gradient[self._places]

    def spread(self, x: np.ndarray) -> np.ndarray:
        """All parameters (d + q,), zero where they are not free."""
        params = np.zeros(self._loss.size + self._loss.n_dense)
        params[self.free] = x
        return params
