"""Orthogonal matching pursuit over features, for tasks one by one or all together, in Gram form."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from greedyexp.kernels import native


class Pursuits(NamedTuple):
    """Fits of pursuits after m numbers of features.

    Parameters
    ----------
    coef : array (m, p, r)
    loss : array (m,)
    sizes : int array (m,)
        Numbers of nonzero coefficients.
    reached : int
        Largest number of features of any pursuit.
    skipped : int
        Number of best entries that were rejected because they lie in the span of their support.
    smallest : float
        Smallest squared sine of the angle between an added column and the span of the others.
    """

    coef: np.ndarray
    loss: np.ndarray
    sizes: np.ndarray
    reached: int
    skipped: int
    smallest: float


def pursuits(
    gram: np.ndarray,
    correlation: np.ndarray,
    power: np.ndarray,
    capacity: np.ndarray,
    together: bool,
    normalize: bool,
    refit: bool,
    counts: np.ndarray,
) -> Pursuits:
    """Run pursuits of up to ``counts[-1]`` features and return the fits after each of the counts.

    Parameters
    ----------
    gram : array (r, p, p), or (1, p, p) shared by all tasks
    correlation : array (r, p)
    power : array (r,)
        ||y_j||^2 / n_j.
    capacity : int array (r,)
        Largest support of each task.
    together : bool
        One pursuit of the same features for all tasks, instead of one for each task.
    normalize : bool
        Score by the loss decrease residual^2 / (2 G_ii), not by residual^2.
    refit : bool
        Score by the loss decrease after a refit: G_ii is multiplied by the squared sine of the
        angle between the column and the span of the support. Requires ``normalize``.
    counts : int array (m,)
        Increasing numbers of features; a pursuit that can gain no more keeps its last fit.
    """
    r, p = correlation.shape
    coef = np.zeros((len(counts), p, r))
    loss = np.zeros(len(counts))
    sizes = np.zeros(len(counts), dtype=np.int64)
    reached, skipped, smallest = native.omp.pursuits(
        gram, correlation, power, capacity, together, normalize, refit, counts, coef, loss, sizes
    )
    return Pursuits(coef, loss, sizes, reached, skipped, smallest)
