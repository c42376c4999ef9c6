"""Losses with kinks, smoothed: what the absolute and the hinge loss have in common."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from greedyexp.kernels import clipped_lines, scalar_losses
from greedyexp.losses.logistic_columns import SignedColumns
from greedyexp.losses.loss import TOLERANCE, Loss, Restricted
from greedyexp.losses.smoothed_minimum import minimum

# The rounding of a derivative, relative to the mean |value| of its column.
SLOPE_ROUNDING = 16 * np.finfo(float).eps
TINY = np.finfo(float).tiny


class SmoothedLoss(Loss):
    """Q(b) = mean_i phi(u_i) + ridge / 2 ||b||^2, with u_i = c_i + s_i x_i b and |s_i| = 1.

    phi' = clip(beta u, low, 1) and phi(0) = 0: phi is beta u^2 / 2 where beta u is between ``low``
    and 1, and straight beyond.

    Parameters
    ----------
    X : array (n, p) or sparse array
        A sparse one is never made dense.
    signs : array (n,)
        s, of entries -1 and 1.
    offsets : array (n,)
        c.
    responses : array (n,)
        As the kernels of ``scalar_losses`` take them.
    beta : float > 0
    ridge : float >= 0

    Attributes
    ----------
    kind : int
        The code of the loss in the kernels of ``scalar_losses``.
    low : float

    Notes
    -----
    A minimiser always exists, since Q is piecewise quadratic and not negative. A derivative over a
    support may remain as large as 1e-10 times the lesser of ``scale`` and the mean |value| of its
    own column, or as large as the rounding of u makes it, which grows with beta: as if c were
    changed by 8 units in the last place of the terms of u.

    Nothing but the ridge is known of ``strong_convexity``: where no sample is bent there is no
    other.
    """

    kind: int
    low: float
    rho = 1.0

    def __init__(self, X, signs, offsets, responses, *, beta: float, ridge: float):
        self.columns = SignedColumns(X, signs)
        self.responses = responses
        self.shape = (self.columns.n_features, 1)
        self.n_samples = self.columns.n_samples
        self.ridge = float(ridge)
        self.beta = float(beta)
        self._signs, self.offsets = signs, offsets
        self.scale = self._scale()

    @cached_property
    def largest_feature(self) -> float:
        return self.columns.largest

    def value(self, params: np.ndarray) -> float:
        return self._value(params, self.beta)

    def unsmoothed(self, params: np.ndarray) -> float:
        """Q with the loss as it was before it was smoothed."""
        return self._value(params, np.inf)

    def gradient(self, params: np.ndarray) -> np.ndarray:
        slopes = np.empty(self.n_samples)
        predicted = self._predicted(params)
        scalar_losses.slopes(self.kind, self.beta, predicted, self.responses, slopes)
        sums = self.columns.times(self._signs * slopes)
        return sums / self.n_samples + self.ridge * params

    def curvature(self, params: np.ndarray) -> np.ndarray:
        """beta times the mean square of a column over samples that are bent there, and ridge."""
        return self._powers(self.bent(self.arguments(params)).astype(np.float64))

    @property
    def smoothness(self) -> np.ndarray:
        return self._powers(np.ones(self.n_samples))

    def coordinate_minima(self, params: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Steps a_j and gains Q(b) - min_a Q(b + a e_j), both (d,).

        Where a minimum is a whole interval, one point of it.
        """
        steps, gains = np.empty(self.size), np.empty(self.size)
        clipped_lines.line_minima(
            self.columns.columns,
            self.arguments(params),
            self.ridge,
            params,
            self.beta,
            self.low,
            steps,
            gains,
        )
        return steps, gains

    def minimise(self, support: Sequence[int], start: np.ndarray | None = None) -> Restricted:
        """A minimiser over the coefficients ``support``.

        Parameters
        ----------
        support : sequence of int in [0, p)
            Where there are several minimisers, one of them.
        start : array (p,), optional
        """
        return minimum(self, support, start)

    def removal_costs(self, params: np.ndarray, support: Sequence[int]) -> np.ndarray:
        costs = np.empty(len(support))
        clipped_lines.falls(
            self.rows(support),
            params[np.asarray(support, dtype=np.int64)],
            self.arguments(params),
            self.ridge,
            self.beta,
            self.low,
            costs,
        )
        return costs

    def rows(self, support: Sequence[int]) -> np.ndarray:
        """The columns s * x_j of a support, one after the other (k, n)."""
        rows = np.empty((len(support), self.n_samples))
        for place, feature in enumerate(support):
            self.columns.write(int(feature), rows[place])
        return rows

    def arguments(self, params: np.ndarray) -> np.ndarray:
        """u, shape (n,)."""
        return self.offsets + self.columns.sum_of(params)

    def bent(self, arguments: np.ndarray) -> np.ndarray:
        """Whether phi has a curvature at u, shape (n,)."""
        raw = self.beta * arguments
        return (self.low < raw) & (raw < 1.0)

    def tolerance(self, sizes: np.ndarray) -> np.ndarray:
        """How large a derivative may remain, given mean |values| of the columns."""
        finest = np.maximum(TOLERANCE * np.minimum(sizes, self.scale), SLOPE_ROUNDING * sizes)
        return finest + TINY

    def _predicted(self, params: np.ndarray) -> np.ndarray:
        return self._signs * self.columns.sum_of(params)

    def _value(self, params: np.ndarray, beta: float) -> float:
        total = scalar_losses.total(self.kind, beta, self._predicted(params), self.responses)
        return total / self.n_samples + 0.5 * self.ridge * float(params @ params)

    def _powers(self, weights: np.ndarray) -> np.ndarray:
        return self.beta * self.columns.powers(weights) / self.n_samples + self.ridge

    def _scale(self) -> float:
        slopes = np.abs(self.gradient(np.zeros(self.size)))
        steepest = int(slopes.argmax())
        size = np.abs(self.rows([steepest])).mean()
        if slopes[steepest] > SLOPE_ROUNDING * size:
            return float(slopes[steepest])
        # No column has a slope, which leaves how large it could be.
        largest = min(1.0, self.beta * np.abs(self.offsets).max())
        return float(size * largest) or 1.0
