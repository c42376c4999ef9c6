"""Losses of a prediction that have kinks, and their infimal convolution with a square.

Ls(a) = inf_v beta v^2 / 2 + L(a - v) has a derivative with Lipschitz constant beta and, with rho
the Lipschitz constant of L, 0 <= L - Ls <= rho^2 / (2 beta) (Shalev-Shwartz, Srebro & Zhang, 2009,
equation 5 and Lemma 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from greedyexp.errors import ConfigError
from greedyexp.kernels import scalar_losses

CODES = {"absolute": scalar_losses.ABSOLUTE, "hinge": scalar_losses.HINGE}
# |L(a) - L(b)| <= |a - b| of both.
RHO = 1.0

Convention = Literal["2009", "2008"]


@dataclass(frozen=True)
class Smoothed:
    """The absolute or the hinge loss, smoothed.

    Parameters
    ----------
    kind : {"absolute", "hinge"}
        Labels of ``hinge`` are -1 and 1.
    beta : float > 0
        Lipschitz constant of the derivative.
    """

    kind: str
    beta: float

    @property
    def error(self) -> float:
        """The largest L - Ls, rho^2 / (2 beta)."""
        return RHO**2 / (2.0 * self.beta)

    def value(self, a, y) -> np.ndarray:
        """Ls(a, y).

        With u = a - y, beta u^2 / 2 where |u| <= 1 / beta and |u| - 1 / (2 beta) elsewhere. With
        u = 1 - y a, the same where u > 0 and zero elsewhere.
        """
        return self._values(a, y, self.beta)

    def before(self, a, y) -> np.ndarray:
        """L(a, y), not smoothed."""
        return self._values(a, y, np.inf)

    def slope(self, a, y) -> np.ndarray:
        """Derivative of Ls by a: clip(beta u, -1, 1), and -y clip(beta u, 0, 1) of the hinge."""
        predictions, responses, out = self._arrays(a, y)
        scalar_losses.slopes(CODES[self.kind], self.beta, predictions, responses, out)
        return out.reshape(np.broadcast_shapes(np.shape(a), np.shape(y)))

    def shift(self, a, y) -> np.ndarray:
        """The v of the infimum, the derivative of Ls over beta."""
        return self.slope(a, y) / self.beta

    def _values(self, a, y, beta: float) -> np.ndarray:
        predictions, responses, out = self._arrays(a, y)
        scalar_losses.values(CODES[self.kind], beta, predictions, responses, out)
        return out.reshape(np.broadcast_shapes(np.shape(a), np.shape(y)))

    def _arrays(self, a, y) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        both = np.broadcast_arrays(np.asarray(a, dtype=float), np.asarray(y, dtype=float))
        predictions, responses = (np.ascontiguousarray(part).ravel() for part in both)
        return predictions, responses, np.empty(len(predictions))


def smooth(
    kind: Literal["absolute", "hinge"], beta: float, *, convention: Convention = "2009"
) -> Smoothed:
    """A loss with a kink, smoothed.

    Parameters
    ----------
    kind : {"absolute", "hinge"}
    beta : float > 0
        In the sense of a convention.
    convention : {"2009", "2008"}
        inf_v beta v^2 / 2 + L(a - v) of Shalev-Shwartz, Srebro & Zhang (2009), or
        inf_v v^2 / (2 beta) + L(a - v) of Shalev-Shwartz & Srebro (2008), whose beta is one over
        the other.

    Raises
    ------
    ConfigError
        When there is no such loss or convention, or beta is not positive and finite.
    """
    if kind not in CODES:
        raise ConfigError(
            f"there is no loss named '{kind}' to smooth.", remedy=f"Use {', '.join(CODES)}."
        )
    return Smoothed(kind, smoothness(beta, convention))


def smoothness(beta: float, convention: Convention) -> float:
    """The beta of 2009, Lipschitz constant of the derivative, for that of a convention.

    Raises
    ------
    ConfigError
        When there is no such convention, or either beta is not positive and finite.
    """
    if convention not in ("2009", "2008"):
        raise ConfigError(
            f"there is no convention '{convention}' of beta.", remedy="Use '2009' or '2008'."
        )
    if not (0.0 < beta < np.inf and 1.0 / beta < np.inf):
        raise ConfigError(f"beta must be a finite number > 0, but is {beta!r}.")
    return float(beta) if convention == "2009" else 1.0 / beta
