"""The minimiser of a chain loss over a support that grows and shrinks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from greedyexp.losses.loss import TOLERANCE, Fit, Loss
from greedyexp.losses.quasi_newton import Descent, append, descend, remove

# Step of the difference of gradients that tells the Hessian's column of a new coefficient.
DIFFERENCE = 1e-5


class CrfFit(Fit):
    """A restricted minimiser that carries its inverse Hessian through additions and removals.

    Attributes
    ----------
    evaluations : int
        Passes over the data that the present minimiser took.
    """

    def __init__(self, loss: Loss):
        self.loss = loss
        self.support: list[int] = []
        self._settle(loss.null[0])

    def begin(self, support: Sequence[int], start: np.ndarray | None) -> None:
        """Take a support into an empty one and minimise, from ``start`` if it is given."""
        self._enter(support)
        free = self.loss.free(self.support)
        self._minimise_from(self._x if start is None else np.asarray(start)[free])

    def add(self, features: Sequence[int]) -> None:
        """Take features into the support and minimise."""
        self._enter(features)
        self._minimise_from(self._x)

    def remove(self, features: Sequence[int]) -> None:
        """Take features out of the support and minimise."""
        for feature in features:
            place = self.support.index(feature)
            self.support.pop(place)
            place += self.loss.n_dense
            self._inverse = remove(self._inverse, place)
            self._x = np.delete(self._x, place)
        self._minimise_from(self._x)

    @property
    def full_gradient(self) -> np.ndarray:
        """Gradient over all coefficients, (d + q,)."""
        return self._gradient

    def _enter(self, features: Sequence[int]) -> None:
        """Give features the coefficient zero, and the inverse Hessian their derivatives.

        These are differences of gradients, one pass for each feature.
        """
        n_before = len(self._x)
        self.support.extend(int(feature) for feature in features)
        free = self.loss.free(self.support)
        function = self.loss.on(free)
        self._x = np.concatenate((self._x, np.zeros(len(free) - n_before)))
        for place in range(n_before, len(free)):
            ahead = self._x.copy()
            ahead[place] += DIFFERENCE
            column = (function(ahead)[1] - self._gradient[free]) / DIFFERENCE
            self._inverse = append(self._inverse, column[:place], column[place])

    def _minimise_from(self, x: np.ndarray) -> None:
        loss = self.loss
        function = loss.on(loss.free(self.support))
        self._settle(descend(function, x, TOLERANCE * loss.scale, self._inverse))

    def _settle(self, descent: Descent) -> None:
        loss = self.loss
        self._x, self._inverse = descent.x, descent.inverse
        self.evaluations = descent.evaluations
        self.params = loss.spread(loss.free(self.support), descent.x)
        self.value, self._gradient = loss.value_and_gradient(self.params)
        self.converged = descent.converged
        self.message = "" if descent.converged else _unconverged(descent, loss)


def _unconverged(found: Descent, loss: Loss) -> str:
    left = np.abs(found.gradient).max() / loss.scale
    remedy = "" if loss.ridge else " A ridge above zero gives it a finite minimiser."
    return (
        f"The minimiser of the chain model was not found: {found.iterations} iterations left "
        f"{left:.1e} of the gradient.{remedy}"
    )
