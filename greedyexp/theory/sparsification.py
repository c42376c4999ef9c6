"""Randomized sparsification: its exact mean excess for least squares, and how often to repeat."""

from __future__ import annotations

import math

import numpy as np


def squared_excess(
    params: np.ndarray, powers: np.ndarray, product: float, ridge: float = 0.0
) -> float:
    """k E[R(w_k) - R(w*)] for the squared loss, the same for all k >= 1.

    With B = ||w*||_1 the prediction <w_k, x> is the mean of k independent B sign(w*_r) x_r, of mean
    <w*, x>, so that the linear term of R is zero in the mean and the quadratic one a variance:
    (B sum_j |w*_j| E[x_j^2] - E<w*, x>^2) / 2 + ridge / 2 (B^2 - ||w*||_2^2). At most B^2 / 2 for
    features in [-1, 1] and no ridge, which is Lemma 3.

    Parameters
    ----------
    params : array (d,)
        w*; it need not minimise anything.
    powers : array (d,)
        E[x_j^2].
    product : float
        E<w*, x>^2.
    ridge : float >= 0

    References
    ----------
    Shalev-Shwartz, Srebro & Zhang (2009), Lemma 3.
    """
    sizes = np.abs(params)
    norm = float(sizes.sum())
    variance = norm * float(sizes @ powers) - product
    return 0.5 * (variance + ridge * (norm**2 - float(params @ params)))


def repeats_for(delta: float) -> int:
    """Repeats after which the best excess is above epsilon with probability at most delta.

    Each fails with probability at most 1/2, all m with at most 2^-m: ceil(log2(1 / delta)). The
    report says ceil(log(1 / delta)), which is enough with the logarithm to base 2; the natural one
    gives delta^0.69 by the same argument.

    Parameters
    ----------
    delta : float in (0, 1)

    Raises
    ------
    ValueError
        When delta is not in (0, 1).

    References
    ----------
    Shalev-Shwartz, Srebro & Zhang (2009), after Theorem 1.
    """
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta must be in (0, 1), but is {delta!r}.")
    # delta = mantissa 2^exponent with a mantissa in [1/2, 1), which no logarithm rounds.
    return 1 - math.frexp(delta)[1]
