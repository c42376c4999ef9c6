"""A chain loss over the dense parameters and some coefficients alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse

if TYPE_CHECKING:
    from greedyexp.losses.crf.crf import CrfLoss


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
        self._support = support = np.asarray(support, dtype=np.int64)
        self.free = np.concatenate((np.arange(size, total), support))
        self._rows = rows = np.unique(support // r)
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

    def selected(self) -> Iterator[tuple[int, np.ndarray]]:
        """The support, each with its column (n,)."""
        for feature in self._support:
            place = np.searchsorted(self._rows, [feature // self._loss.shape[1]])
            column = self._columns[:, place]
            column = column.toarray() if scipy.sparse.issparse(column) else column
            yield int(feature), column[:, 0]

    def sizes(self) -> np.ndarray:
        """Largest |value| of what each free parameter is multiplied by, (m,); one if it is zero."""
        largest = [np.abs(column).max() or 1.0 for _, column in self.selected()]
        return np.concatenate((np.ones(self._loss.n_dense), largest))

    def odds(self, x: np.ndarray) -> float:
        """The most that free parameters (m,) say for one label against another, summed up.

        The largest range of the scores of a word, and those of starts, ends and moves.
        """
        r = self._loss.shape[1]
        params = np.zeros(self._count)
        params[self._places] = x
        dense = params[-self._loss.n_dense :]
        words = np.asarray(self._columns @ params[: -self._loss.n_dense].reshape(-1, r))
        parts = dense[:r], dense[r : 2 * r], dense[2 * r :]
        return float(np.ptp(words, axis=1).max() + sum(np.ptp(part) for part in parts))

    def spread(self, x: np.ndarray) -> np.ndarray:
        """All parameters (d + q,), zero where they are not free."""
        params = np.zeros(self._loss.size + self._loss.n_dense)
        params[self.free] = x
        return params
