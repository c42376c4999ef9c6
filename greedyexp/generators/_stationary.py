"""Rows of a stationary Gaussian process along the columns."""

from __future__ import annotations

import numpy as np


def stationary(rng: np.random.Generator, n_samples: int, p: int, correlation: float) -> np.ndarray:
    """Independent rows N(0, Sigma) with Sigma_ij = correlation^|i-j|, shape (n_samples, p)."""
    X = rng.standard_normal((n_samples, p))
    if correlation:
        # A stationary AR(1) process has exactly this covariance.
        innovation = np.sqrt(1 - correlation**2)
        for j in range(1, p):
            X[:, j] = correlation * X[:, j - 1] + innovation * X[:, j]
    return X
