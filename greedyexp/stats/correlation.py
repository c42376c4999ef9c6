"""Correlation of estimates made on the same replicates."""

from __future__ import annotations

import numpy as np


def correlation(samples) -> np.ndarray:
    """Sample correlation of values measured on the same replicates.

    Parameters
    ----------
    samples : array_like, shape (k, n)

    Returns
    -------
    array, shape (k, k)
        Unit diagonal; 0 beside it for a sample that does not vary.
    """
    samples = np.atleast_2d(np.asarray(samples, dtype=float))
    centred = samples - samples.mean(axis=1, keepdims=True) if samples.shape[1] else samples
    # A mean of equal values is rounded; what is left of them is no variation.
    varies = np.ptp(samples, axis=1) > 0 if samples.shape[1] else np.zeros(len(samples), bool)
    return uncentred_correlation(centred * varies[:, None])


def uncentred_correlation(deviations) -> np.ndarray:
    """Correlation of estimates from what each replicate adds to them.

    Parameters
    ----------
    deviations : array_like, shape (k, n)
        Row i holds the deviation of estimate i due to each replicate, with expectation 0, and 0
        for replicates that it did not see. For crossings these are w (y - p), see ``influence``.

    Returns
    -------
    array, shape (k, k)
        Unit diagonal; 0 beside it in rows of zeros.
    """
    deviations = np.atleast_2d(np.asarray(deviations, dtype=float))
    norm = np.linalg.norm(deviations, axis=1, keepdims=True)
    unit = np.divide(deviations, norm, out=np.zeros_like(deviations), where=norm > 0)
    # Not by a matrix product, whose last digits depend on the processor.
    matrix = np.clip(np.einsum("in,jn->ij", unit, unit), -1.0, 1.0)
    np.fill_diagonal(matrix, 1.0)
    return matrix
