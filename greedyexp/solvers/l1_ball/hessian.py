"""Second derivatives of a loss over some of its coefficients."""

from __future__ import annotations

import numpy as np

from greedyexp.losses.loss import Loss
from greedyexp.losses.smoothed import SmoothedLoss

# Steps of differences of gradients: where these are straight lines, as part of the largest
# coefficient; where they bend, to either side, in units in which they do so over one.
STRAIGHT, BENT = 1e-5, 1e-3
# Part of the largest curvature that is added to that of pieces: with fewer bent rows than
# coefficients the model is flat along some moves, which signs and kinks end.
DAMPING = 1e-10


class Hessian:
    """Second derivatives, kept where they have been computed.

    Those of moments and of smoothed losses are exact, others are differences of gradients.

    Parameters
    ----------
    loss : Loss
    """

    def __init__(self, loss: Loss):
        self.loss = loss
        self.moments = getattr(loss, "moments", None)
        self.pieces = isinstance(loss, SmoothedLoss)
        self.curved = bool(np.isfinite(loss.rho))
        self._kept: dict[int, np.ndarray] = {}

    def forget(self) -> None:
        """Compute what depends on the point afresh."""
        if self.curved and not self.pieces:
            self._kept.clear()

    def over(self, used: np.ndarray, w: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """The matrix (k, k) over the coefficients ``used``, at w or where it was last forgotten."""
        for index in used:
            if index not in self._kept:
                self._kept[index] = self._column(int(index), w, gradient)
        columns = np.stack([self._kept[index] for index in used])
        if self.pieces:
            loss = self.loss
            rows = columns[:, loss.bent(loss.arguments(w))]
            damped = loss.ridge + DAMPING * float(loss.smoothness.max())
            return rows @ rows.T * (loss.beta / loss.n_samples) + damped * np.eye(len(used))
        block = columns[:, used]
        return 0.5 * (block + block.T)

    def _column(self, index: int, w: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Second derivatives by one coefficient and all (d,); of pieces the feature itself."""
        if self.pieces:
            return self.loss.rows([index])[0]
        if self.moments is not None:
            column = self.moments.column(index)
            column[index] += self.loss.ridge
            return column
        ahead, behind = w.copy(), w.copy()
        if self.curved:
            length = BENT / (max(1.0, self.loss.beta) * (self.loss.largest_feature or 1.0))
            behind[index] -= length
            below = self.loss.gradient(behind)
        else:
            length = STRAIGHT * float(np.abs(w).max() or 1.0)
            below = gradient
        ahead[index] += length
        return (self.loss.gradient(ahead) - below) / (ahead[index] - behind[index])
