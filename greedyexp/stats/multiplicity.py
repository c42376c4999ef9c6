"""Holm's method for several tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# The family-wise error rate unless another is given.
ALPHA = 0.05


@dataclass(frozen=True)
class Holm:
    """Holm's decisions about m tests.

    Parameters
    ----------
    adjusted : array, shape (m,)
        Adjusted p-values in [0, 1]; a test is rejected if its adjusted p-value is at most alpha.
    levels : array, shape (m,)
        The confidence level at which each test was decided. The interval of a test at this level
        excludes the hypothesis if and only if the test is rejected. The intervals do not have joint
        coverage.
    """

    adjusted: np.ndarray
    levels: np.ndarray


def holm(p_values, alpha: float = ALPHA) -> Holm:
    """Apply Holm's step-down method, which bounds the family-wise error rate by alpha.

    The i-th smallest of m p-values is compared with alpha / (m - i + 1) until one is larger. That
    test and all later ones are not rejected and share the level of this last comparison.

    Parameters
    ----------
    p_values : array_like, shape (m,)
        Values in [0, 1]; tied values keep their order.
    alpha : float in (0, 1)

    Returns
    -------
    Holm

    Raises
    ------
    ValueError
        If a p-value or alpha is out of range.

    References
    ----------
    Holm (1979), A simple sequentially rejective multiple test procedure, Scand. J. Statist. 6.
    """
    p = np.asarray(p_values, dtype=float)
    if p.ndim != 1 or not np.all((p >= 0) & (p <= 1)):
        raise ValueError("p-values must be a vector of numbers between 0 and 1.")
    if not 0 < alpha < 1:
        raise ValueError("alpha must lie strictly between 0 and 1.")
    order = np.argsort(p, kind="stable")
    left = np.arange(len(p), 0, -1)
    adjusted, levels = np.empty(len(p)), np.empty(len(p))
    steps = np.minimum(1.0, np.maximum.accumulate(left * p[order]))
    adjusted[order] = steps
    rejected = int(np.count_nonzero(steps <= alpha))
    # No test after the first one that is not rejected is compared with a larger threshold.
    levels[order] = 1 - alpha / np.maximum(left, len(p) - rejected)
    return Holm(adjusted, levels)
