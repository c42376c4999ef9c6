"""Orthogonal matching pursuit from the designs, without a Gram matrix."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from greedyexp.kernels import native
from greedyexp.kernels.omp import Pursuits


def pursuits(
    designs: Sequence[np.ndarray],
    responses: Sequence[np.ndarray],
    power: np.ndarray,
    capacity: np.ndarray,
    together: bool,
    normalize: bool,
    refit: bool,
    counts: np.ndarray,
) -> Pursuits:
    """Run pursuits of up to ``counts[-1]`` features and return the fits after each of the counts.

    The supports and, up to rounding errors, the fits are those of ``omp.pursuits``.

    Parameters
    ----------
    designs : sequence of r arrays (n_j, p), or of one that is shared by all tasks
    responses : sequence of r arrays (n_j,)
    power : array (r,)
        ||y_j||^2 / n_j.
    capacity : int array (r,)
        Largest support of each task, at most n_j.
    together, normalize, refit, counts
        As for ``omp.pursuits``.
    """
    r, p = len(responses), designs[0].shape[1]
    coef = np.zeros((len(counts), p, r))
    loss = np.zeros(len(counts))
    sizes = np.zeros(len(counts), dtype=np.int64)
    reached, skipped, smallest = native.design_pursuit.pursuits(
        designs, responses, power, capacity, together, normalize, refit, counts, coef, loss, sizes
    )
    return Pursuits(coef, loss, sizes, reached, skipped, smallest)
