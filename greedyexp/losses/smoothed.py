"""Smoothed losses with kinks: the common part of the absolute and the hinge loss."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from greedyexp.kernels import clipped_lines, scalar_losses
from greedyexp.kernels.clipped_lines import bend, line_step
from greedyexp.losses.loss import TOLERANCE, Loss, Restricted
from greedyexp.losses.signed_columns import SignedColumns
from greedyexp.problems.checks import Indices

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
        self.scale = self._scale_of_gradients()

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

    def minimise(self, support: Indices, start: np.ndarray | None = None) -> Restricted:
        """A minimiser over the coefficients ``support``.

        Parameters
        ----------
        support : sequence of int in [0, p)
            Where there are several minimisers, one of them.
        start : array (p,), optional
        """
        return minimum(self, support, start)

    def removal_costs(self, params: np.ndarray, support: Indices) -> np.ndarray:
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

    def rows(self, support: Indices) -> np.ndarray:
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

    def _scale_of_gradients(self) -> float:
        slopes = np.abs(self.gradient(np.zeros(self.size)))
        steepest = int(slopes.argmax())
        size = np.abs(self.rows([steepest])).mean()
        if slopes[steepest] > SLOPE_ROUNDING * size:
            return float(slopes[steepest])
        # No column has a slope, which leaves how large it could be.
        largest = min(1.0, self.beta * np.abs(self.offsets).max())
        return float(size * largest) or 1.0


# Steps from where the search starts, then of each of the smoother losses, then of the loss itself.
FIRST_STEPS = 20
MOST_STEPS = 100
LAST_STEPS = 500
# What beta is multiplied by from one of them to the next.
SHARPER = 5.0
# An eigenvalue of the Hessian below this part of the largest is zero, in units in which a column
# has curvature one when all samples are bent.
SPAN = 1e-26
# Above this part eigenvalues of the Hessian are as good as singular values of its factor.
SQUARED = 1e-10
# A margin is known to this part of the sizes of its terms.
MARGIN_ROUNDING = 8 * np.finfo(float).eps
# A loss that rises by no more than this part does so by rounding.
VALUE_ROUNDING = 1e-11


class Search:
    """Newton's method with exact line searches for the mean of phi over the columns of a support.

    Where the Hessian is singular and the gradient is not in its range, the loss is linear along
    what is not, down to the next kink, and the step goes there. A loss that is nearly as sharp as
    the one with kinks is reached through smoother ones.

    Parameters
    ----------
    loss : SmoothedLoss
    rows : array (k, n)
        The columns, none of them zero.
    coef : array (k,)
        Where to start.

    Attributes
    ----------
    coef : array (k,)
    converged : bool
    """

    def __init__(self, loss: SmoothedLoss, rows: np.ndarray, coef: np.ndarray):
        self.loss = loss
        self.coef = coef
        self._rows = rows
        self._powers = np.einsum("kn,kn->k", rows, rows) / loss.n_samples
        self._tolerance = loss.tolerance(np.abs(rows).mean(axis=1))
        self.converged = self._steps(loss.beta, FIRST_STEPS)
        if not self.converged:
            self._go_through_smoother_losses()

    def _go_through_smoother_losses(self) -> None:
        """Minimisers of ever sharper losses, each sought where the two before point to.

        In the end they are linear in the width 1 / beta of the bend.
        """
        sharpest = 1.0 / self.loss.beta
        width = max(np.abs(self._arguments()).mean(), sharpest)
        before = None
        while width > sharpest:
            self._steps(1.0 / width, MOST_STEPS)
            found = self.coef
            if before is not None:
                self.coef = found + (found - before) / SHARPER
            before, width = found, width / SHARPER
        self.converged = self._steps(self.loss.beta, LAST_STEPS)

    def _arguments(self) -> np.ndarray:
        return self.loss.offsets + self.coef @ self._rows

    def _steps(self, beta: float, most: int) -> bool:
        """Newton steps until the gradient is within its tolerance; whether it is."""
        for _ in range(most):
            u = self._arguments()
            raw = beta * u
            slopes = np.clip(raw, self.loss.low, 1.0)
            gradient = self._rows @ slopes / self.loss.n_samples + self.loss.ridge * self.coef
            if (np.abs(gradient) <= self._tolerance).all():
                return True
            errors = self._errors(raw, beta)
            rounding = np.abs(self._rows) @ errors / self.loss.n_samples
            if (np.abs(gradient) <= self._tolerance + rounding).all():
                return True
            # Samples on a kink belong to the bend, which stops a step that ignores it at once.
            bent = (self.loss.low <= raw + errors) & (raw - errors <= 1.0)
            if not self._move(u, beta, self._direction(gradient, beta, bent)):
                return False
        return False

    def _errors(self, raw: np.ndarray, beta: float) -> np.ndarray:
        """How far slopes are known, since margins are rounded, (n,)."""
        low = self.loss.low
        terms = np.abs(self.loss.offsets) + np.abs(self.coef) @ np.abs(self._rows)
        errors = np.minimum(MARGIN_ROUNDING * beta * terms, 1.0 - low)
        errors[(raw + errors < low) | (raw - errors > 1.0)] = 0.0
        return errors

    def _direction(self, gradient: np.ndarray, beta: float, bent: np.ndarray) -> np.ndarray:
        """Newton's step, or the part of the gradient along which the loss is linear, downwards."""
        ridge = self.loss.ridge
        units = np.sqrt(beta * self._powers + ridge)
        bending = self._rows[:, bent] * np.sqrt(beta / self.loss.n_samples) / units[:, None]
        values, vectors = _modes(bending, np.sqrt(ridge) / units)
        flat = values <= SPAN * values.max()
        parts = vectors.T @ (gradient / units)
        lost = vectors[:, flat] @ parts[flat]
        if (np.abs(lost) * units > 0.5 * self._tolerance).any():
            return -lost / units
        return -(vectors[:, ~flat] @ (parts[~flat] / values[~flat])) / units

    def _move(self, u: np.ndarray, beta: float, direction: np.ndarray) -> bool:
        """Go to the minimum along a direction; whether it is elsewhere, but for rounding."""
        square = direction @ direction
        if square == 0.0:
            return False
        loss = self.loss
        step, _ = line_step(
            direction @ self._rows,
            u,
            loss.n_samples,
            loss.ridge * square,
            self.coef @ direction / square,
            beta,
            loss.low,
        )
        before, value = self.coef, self._value(u, beta)
        self.coef = before + step * direction
        if self._value(self._arguments(), beta) > value * (1.0 + VALUE_ROUNDING):
            self.coef = before
        return bool((self.coef != before).any())

    def _value(self, u: np.ndarray, beta: float) -> float:
        """The loss at the present coefficients, whose arguments are u."""
        total = bend(u, np.zeros(len(u)), 1.0, beta, self.loss.low)
        return total / len(u) + 0.5 * self.loss.ridge * float(self.coef @ self.coef)


def _modes(bending: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (k,) and vectors (k, k) of a product B B^T plus squared edges on its diagonal.

    Where they are far apart the small ones are squares of singular values of [B, edges], which have
    twice the digits.
    """
    matrix = bending @ bending.T
    matrix[np.diag_indices(len(matrix))] += edges**2
    values, vectors = np.linalg.eigh(matrix)
    if values[0] > SQUARED * values[-1]:
        return values, vectors
    triangle = np.linalg.qr(np.vstack([bending.T, np.diag(edges)]), mode="r")
    _, roots, vectors = np.linalg.svd(triangle)
    return roots**2, vectors.T


def minimum(loss: SmoothedLoss, support: Indices, start: np.ndarray | None) -> Restricted:
    """A minimiser over the coefficients of a support, from where one starts."""
    places = np.asarray(support, dtype=np.int64)
    params = np.zeros(loss.size)
    if start is not None:
        params[places] = start[places]
    rows = loss.rows(places)
    used = rows.any(axis=1)
    if loss.ridge > 0.0:
        params[places[~used]] = 0.0
    search = Search(loss, rows[used], params[places[used]])
    params[places[used]] = search.coef
    message = ""
    if not search.converged:
        message = "the gradient over the support could not be made as small as it should be."
    return Restricted(params, loss.value(params), loss.gradient(params), search.converged, message)
