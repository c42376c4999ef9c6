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
    enough: np.ndarray,
    capacity: np.ndarray,
    together: bool,
    normalize: bool,
    refit: bool,
    counts: np.ndarray,
    end: bool,
    n_jobs: int,
) -> Pursuits:
    """Run pursuits of up to ``counts[-1]`` features and return the fits after each of the counts.

    The supports and, up to rounding errors, the fits are those of ``omp.pursuits``.

    Parameters
    ----------
    designs : sequence of r arrays (n_j, p), or of one that is shared by all tasks
    responses : sequence of r arrays (n_j,)
    power : array (r,)
        ||y_j||^2 / n_j.
    enough : array (r,)
        A pursuit ends when ||y_j - X_j b_j||^2 / (2 n_j) is at most this for all its tasks.
    capacity : int array (r,)
        Largest support of each task, at most n_j.
    together, normalize, refit, counts, end, n_jobs
        As for ``omp.pursuits``.
    """
    fits = native.omp.Fits(len(responses), len(counts), end)
    native.design_pursuit.pursuits(
        fits,
        designs,
        responses,
        power,
        enough,
        capacity,
        together,
        normalize,
        refit,
        counts,
        n_jobs,
    )
    return Pursuits(*fits.result(designs[0].shape[1]))
