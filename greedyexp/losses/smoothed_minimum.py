"""Minimisers over a support of losses that are piecewise quadratic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from greedyexp.kernels.clipped_lines import line_step
from greedyexp.losses.loss import Restricted

if TYPE_CHECKING:
    from greedyexp.losses.smoothed import SmoothedLoss

# Steps from where the search starts, and then of each of the smoother losses and of the loss itself.
FIRST_STEPS = 30
MOST_STEPS = 100
LAST_STEPS = 500
# What beta is multiplied by from one of them to the next.
SHARPER = 5.0
# Of a Hessian whose columns have unit curvature where all samples are bent: an eigenvalue below this
# part of the largest is zero.
SPAN = 1e-12
# A margin is known to this part of the sizes of its terms.
MARGIN_ROUNDING = 8 * np.finfo(float).eps


class Search:
    """Newton's method with exact line searches for the mean of phi over the columns of a support.

    Where the Hessian is singular and the gradient is not in its range, the loss is linear along
    what is not, down to the next kink, and the step goes there. A loss that is nearly as sharp as
    the one with kinks is reached through smoother ones.

    Parameters
    ----------
    loss : SmoothedLoss
    support : array (k,) of int
    coef : array (k,)
        Where to start.

    Attributes
    ----------
    coef : array (k,)
    converged : bool
    """

    def __init__(self, loss: SmoothedLoss, support: np.ndarray, coef: np.ndarray):
        self.loss = loss
        self.coef = coef
        self._rows = loss.rows(support)
        self._tolerance = loss.tolerance(np.abs(self._rows).mean(axis=1))
        powers = np.einsum("kn,kn->k", self._rows, self._rows) / loss.n_samples
        self._powers = powers
        self.converged = self._steps(loss.beta, FIRST_STEPS)
        if not self.converged:
            self._go_through_smoother_losses()

    def _go_through_smoother_losses(self) -> None:
        beta = min(self.loss.beta, 1.0 / np.abs(self._arguments()).mean())
        while beta < self.loss.beta:
            self._steps(beta, MOST_STEPS)
            beta *= SHARPER
        self.converged = self._steps(self.loss.beta, LAST_STEPS)

    def _arguments(self) -> np.ndarray:
        return self.loss.offsets + self.coef @ self._rows

    def _steps(self, beta: float, most: int) -> bool:
        """Newton steps until the gradient is within its tolerance; whether it is."""
        for self.count in range(most):
            u = self._arguments()
            raw = beta * u
            slopes = np.clip(raw, self.loss.low, 1.0)
            gradient = self._rows @ slopes / self.loss.n_samples + self.loss.ridge * self.coef
            excess = np.abs(gradient) > self._tolerance
            if not excess.any():
                return True
            bent = (self.loss.low < raw) & (raw < 1.0)
            if not (np.abs(gradient) > self._tolerance + self._rounding(beta, bent)).any():
                return True
            if not self._move(u, beta, self._direction(gradient, beta, bent)):
                return False
        return False

    def _rounding(self, beta: float, bent: np.ndarray) -> np.ndarray:
        """What the rounding of margins may leave of a derivative, (k,)."""
        sizes = np.abs(self._rows[:, bent])
        terms = np.abs(self.loss.offsets[bent]) + np.abs(self.coef) @ sizes
        return MARGIN_ROUNDING * beta * (sizes @ terms) / self.loss.n_samples

    def _direction(self, gradient: np.ndarray, beta: float, bent: np.ndarray) -> np.ndarray:
        ridge = self.loss.ridge
        units = np.sqrt(beta * self._powers + ridge)
        units[units == 0.0] = 1.0
        bending = self._rows[:, bent] * np.sqrt(beta / self.loss.n_samples) / units[:, None]
        hessian = bending @ bending.T
        hessian[np.diag_indices(len(hessian))] += ridge / units**2
        values, vectors = np.linalg.eigh(hessian)
        flat = values <= SPAN * values.max()
        parts = vectors.T @ (gradient / units)
        lost = vectors[:, flat] @ parts[flat]
        if (np.abs(lost) * units > 0.5 * self._tolerance).any():
            return -lost / units
        return -(vectors[:, ~flat] @ (parts[~flat] / values[~flat])) / units

    def _move(self, u: np.ndarray, beta: float, direction: np.ndarray) -> bool:
        """Go to the minimum along a direction; whether it is elsewhere."""
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
        self.coef = self.coef + step * direction
        return step != 0.0


def minimum(loss: SmoothedLoss, support: Sequence[int], start: np.ndarray | None) -> Restricted:
    """A minimiser over the coefficients of a support, from where one starts."""
    places = np.asarray(support, dtype=np.int64)
    coef = np.zeros(len(places)) if start is None else start[places].astype(np.float64)
    search = Search(loss, places, coef)
    params = np.zeros(loss.size)
    params[places] = search.coef
    message = ""
    if not search.converged:
        message = "the gradient over the support could not be made as small as it should be."
    return Restricted(params, loss.value(params), loss.gradient(params), search.converged, message)
