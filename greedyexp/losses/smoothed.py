"""Smoothed losses with kinks: the common part of the absolute and the hinge loss."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from greedyexp.kernels import clipped_lines, scalar_losses
from greedyexp.kernels.clipped_lines import bend, line_step
from greedyexp.losses.loss import UNCONVERGED, Loss, Restricted
from greedyexp.losses.signed_columns import SignedColumns, derivative_tolerance
from greedyexp.problems.checks import Indices

# Largest number of steps from the starting point, for each smoother loss, and for the loss itself.
FIRST_STEPS = 20
MOST_STEPS = 100
LAST_STEPS = 500
# Factor of beta from one of these losses to the next.
_SHARPER = 5.0
# An eigenvalue of the Hessian smaller than this fraction of the largest counts as zero. Columns are
# scaled to have curvature one when all samples are on the curved part.
SPAN = 1e-26
# Above this fraction of the largest, eigenvalues of the Hessian are as accurate as squared singular
# values of its factor.
SQUARED = 1e-10
# Rounding error of a margin, relative to the sizes of its terms.
MARGIN_ROUNDING = 8 * np.finfo(float).eps
# Increases of the loss up to this fraction are rounding errors.
VALUE_ROUNDING = 1e-11


class SmoothedLoss(Loss):
    """Q(b) = mean_i phi(u_i) + ridge / 2 ||b||^2, with u_i = c_i + s_i x_i b and |s_i| = 1.

    phi(0) = 0 and phi'(u) = clip(beta u, low, 1). Hence phi(u) = beta u^2 / 2 where beta u is
    between ``low`` and 1, and phi is linear elsewhere.

    Parameters
    ----------
    X : array (n, p) or sparse array
        A sparse array is never made dense.
    signs : array (n,)
        s, with entries -1 and 1.
    offsets : array (n,)
        c.
    responses : array (n,)
        Responses in the format of the kernels of ``scalar_losses``.
    beta : float > 0
    ridge : float >= 0

    Attributes
    ----------
    kind : int
        Code of the loss in the kernels of ``scalar_losses``.
    low : float
        Smallest slope of phi.

    Notes
    -----
    A minimiser always exists, because Q is piecewise quadratic and nonnegative. The tolerance of a
    derivative is 1e-10 times the smaller of ``scale`` and the mean |value| of its column, or the
    rounding error of u if it is larger. The latter grows with beta. It corresponds to a change of c
    by 8 units in the last place of the terms of u.

    ``strong_convexity`` is the ridge, since phi has no curvature on its linear parts.
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

    @cached_property
    def scale(self) -> float:
        largest = min(1.0, self.beta * np.abs(self.offsets).max())
        return self.columns.scale_of(self.gradient(np.zeros(self.size)), largest)

    @cached_property
    def largest_feature(self) -> float:
        return self.columns.largest

    def value(self, params: np.ndarray) -> float:
        return self._value(params, self.beta)

    def unsmoothed(self, params: np.ndarray) -> float:
        """Return Q before smoothing."""
        return self._value(params, np.inf)

    def gradient(self, params: np.ndarray) -> np.ndarray:
        predicted = self._predicted(params)
        slopes = scalar_losses.slopes(self.kind, self.beta, predicted, self.responses)
        sums = self.columns.times(self._signs * slopes)
        return sums / self.n_samples + self.ridge * params

    @property
    def smoothness(self) -> np.ndarray:
        powers = self.columns.powers(np.ones(self.n_samples))
        return self.beta * powers / self.n_samples + self.ridge

    def coordinate_minima(self, params: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return steps a_j and gains Q(b) - min_a Q(b + a e_j), both (d,).

        If the minimum is attained on an interval, the step leads to one of its points.
        """
        u = self.arguments(params)
        return clipped_lines.line_minima(
            self.columns.columns, u, self.ridge, params, self.beta, self.low
        )

    def minimise(self, support: Indices, start: np.ndarray | None = None) -> Restricted:
        """Return a minimiser over the coefficients ``support``.

        Parameters
        ----------
        support : sequence of int in [0, p)
            If there are several minimisers, the result is one of them.
        start : array (p,), optional
        """
        places = np.asarray(support, dtype=np.int64)
        params = np.zeros(self.size)
        if start is not None:
            params[places] = start[places]
        rows = self.rows(places)
        used = rows.any(axis=1)
        if self.ridge > 0.0:
            params[places[~used]] = 0.0
        search = SupportSearch(self, rows[used], params[places[used]])
        params[places[used]] = search.coef
        message = "" if search.converged else UNCONVERGED
        value, gradient = self.value_and_gradient(params)
        return Restricted(params, value, gradient, search.converged, message)

    def removal_costs(self, params: np.ndarray, support: Indices) -> np.ndarray:
        return clipped_lines.falls(
            self.rows(support),
            params[np.asarray(support, dtype=np.int64)],
            self.arguments(params),
            self.ridge,
            self.beta,
            self.low,
        )

    def rows(self, support: Indices) -> np.ndarray:
        """Return the columns s * x_j of a support as rows, shape (k, n)."""
        return self.columns.rows(support)

    def arguments(self, params: np.ndarray) -> np.ndarray:
        """Return u, shape (n,)."""
        return self.offsets + self.columns.sum_of(params)

    def bent(self, arguments: np.ndarray) -> np.ndarray:
        """Return whether each u is on the curved part of phi, shape (n,)."""
        raw = self.beta * arguments
        return (self.low < raw) & (raw < 1.0)

    def _predicted(self, params: np.ndarray) -> np.ndarray:
        return self._signs * self.columns.sum_of(params)

    def _value(self, params: np.ndarray, beta: float) -> float:
        total = scalar_losses.total(self.kind, beta, self._predicted(params), self.responses)
        return total / self.n_samples + 0.5 * self.ridge * float(params @ params)


class SupportSearch:
    """Newton's method with exact line searches over the columns of a support.

    Where the Hessian is singular and the gradient has a part outside its range, the loss is linear
    along that part, and the step goes down to the next kink. If the loss is almost as sharp as the
    unsmoothed one, the method solves a sequence of smoother losses first.

    Parameters
    ----------
    loss : SmoothedLoss
    rows : array (k, n)
        The columns, none of them zero.
    coef : array (k,)
        Starting point.

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
        self._tolerance = derivative_tolerance(np.abs(rows).mean(axis=1), loss.scale)
        self.converged = self._steps(loss.beta, FIRST_STEPS)
        if not self.converged:
            self._go_through_smoother_losses()

    def _go_through_smoother_losses(self) -> None:
        """Minimise sharper and sharper losses, starting from extrapolated minimisers.

        The minimisers are eventually linear in 1 / beta, the width of the curved part.
        """
        sharpest = 1.0 / self.loss.beta
        width = max(np.abs(self._arguments()).mean(), sharpest)
        before = None
        while width > sharpest:
            self._steps(1.0 / width, MOST_STEPS)
            found = self.coef
            if before is not None:
                self.coef = found + (found - before) / _SHARPER
            before, width = found, width / _SHARPER
        self.converged = self._steps(self.loss.beta, LAST_STEPS)

    def _arguments(self) -> np.ndarray:
        return self.loss.offsets + self.coef @ self._rows

    def _steps(self, beta: float, most: int) -> bool:
        """Take Newton steps; return whether the gradient is within its tolerance."""
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
            # Count samples on a kink as curved; otherwise the line search stops at once.
            bent = (self.loss.low <= raw + errors) & (raw - errors <= 1.0)
            if not self._move(u, beta, self._direction(gradient, beta, bent)):
                return False
        return False

    def _errors(self, raw: np.ndarray, beta: float) -> np.ndarray:
        """Return the errors of the slopes due to rounding of the margins, shape (n,)."""
        low = self.loss.low
        terms = np.abs(self.loss.offsets) + np.abs(self.coef) @ np.abs(self._rows)
        errors = np.minimum(MARGIN_ROUNDING * beta * terms, 1.0 - low)
        errors[(raw + errors < low) | (raw - errors > 1.0)] = 0.0
        return errors

    def _direction(self, gradient: np.ndarray, beta: float, bent: np.ndarray) -> np.ndarray:
        """Return the Newton step, or a descent direction along which the loss is linear."""
        ridge = self.loss.ridge
        units = np.sqrt(beta * self._powers + ridge)
        bending = self._rows[:, bent] * np.sqrt(beta / self.loss.n_samples) / units[:, None]
        values, vectors = _eigen_decomposition(bending, np.sqrt(ridge) / units)
        flat = values <= SPAN * values.max()
        parts = vectors.T @ (gradient / units)
        lost = vectors[:, flat] @ parts[flat]
        if (np.abs(lost) * units > 0.5 * self._tolerance).any():
            return -lost / units
        return -(vectors[:, ~flat] @ (parts[~flat] / values[~flat])) / units

    def _move(self, u: np.ndarray, beta: float, direction: np.ndarray) -> bool:
        """Move to the minimum along a direction; return whether the coefficients changed."""
        square = direction @ direction
        if square == 0.0:
            return False
        loss = self.loss
        line = direction @ self._rows
        # Columns that cancel leave rounding errors, which an enormous step would turn into margins.
        largest = (np.abs(direction) @ np.abs(self._rows)).max()
        line[np.abs(line) <= np.sqrt(SPAN) * largest] = 0.0
        step = line_step(
            line,
            u,
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
        """Return the loss at the current coefficients, whose arguments are u."""
        total = bend(u, np.zeros(len(u)), 1.0, beta, self.loss.low)
        return total / len(u) + 0.5 * self.loss.ridge * float(self.coef @ self.coef)


def _eigen_decomposition(bending: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues (k,) and eigenvectors (k, k) of B B^T + diag(edges^2).

    If the eigenvalues differ widely, they are squared singular values of [B, edges], which have
    twice as many correct digits.
    """
    matrix = bending @ bending.T
    matrix[np.diag_indices(len(matrix))] += edges**2
    values, vectors = np.linalg.eigh(matrix)
    if values[0] > SQUARED * values[-1]:
        return values, vectors
    triangle = np.linalg.qr(np.vstack([bending.T, np.diag(edges)]), mode="r")
    _, roots, vectors = np.linalg.svd(triangle)
    return roots**2, vectors.T
