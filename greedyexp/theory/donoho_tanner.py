"""The phase transition of l1 minimisation on Gaussian designs without noise."""

from __future__ import annotations

import numpy as np
import scipy


def donoho_tanner(sparsity) -> np.ndarray:
    """Return the samples per feature, n / p, at which l1 minimisation begins to recover.

    For a Gaussian design without noise and p -> infinity, the solution of min ||b||_1 subject to
    X b = y is the true b, with s nonzero entries of any signs and sizes, with probability tending
    to 1 if n / p is above this value, and to 0 below it. With eps = s / p it is the smallest value
    over tau >= 0 of

        eps (1 + tau^2) + (1 - eps) 2 ((1 + tau^2) Phi(-tau) - tau phi(tau)),

    the statistical dimension of the descent cone of the l1 norm at b, divided by p. At finite p
    the probability rises from 0 to 1 within about 4 / sqrt(p) around it.

    Parameters
    ----------
    sparsity : array_like
        s / p, in [0, 1].

    Returns
    -------
    array
        n / p, in [0, 1]; nan for a sparsity outside [0, 1].

    References
    ----------
    Donoho & Tanner (2009), Counting faces of randomly projected polytopes when the projection
    radically lowers dimension, J. Amer. Math. Soc. 22, for the curve;
    Amelunxen, Lotz, McCoy & Tropp (2014), Living on the edge, Inform. Inference 3, Proposition 4.5
    and Theorem II, for this form and the width.
    """
    ratios = np.asarray(sparsity, dtype=float)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.vectorize(_samples, otypes=[float])(ratios))


def _samples(sparsity: float) -> float:
    if not 0 <= sparsity <= 1:
        return np.nan
    if sparsity in (0.0, 1.0):
        return sparsity

    def slope(tau: float) -> float:
        """Half the derivative by tau, which increases."""
        return sparsity * tau - 2 * (1 - sparsity) * _beyond(tau)

    # At 1 / sparsity the first term exceeds the second, which is less than one. Beyond 40 the
    # second is 0 in double precision.
    tau = scipy.optimize.brentq(slope, 0.0, min(1 / sparsity, 40.0))
    beyond = (1 + tau * tau) * scipy.special.ndtr(-tau) - tau * _density(tau)
    return float(sparsity * (1 + tau * tau) + 2 * (1 - sparsity) * beyond)


def _density(tau: float) -> float:
    return float(np.exp(-tau * tau / 2) / np.sqrt(2 * np.pi))


def _beyond(tau: float) -> float:
    """E max(N - tau, 0) for a standard normal N."""
    return _density(tau) - tau * float(scipy.special.ndtr(-tau))
