"""Orthogonal matching pursuit over features, for tasks one by one or all together, in Gram form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from greedyexp.kernels import native


class Pursuits(NamedTuple):
    """Fits of pursuits after m numbers of features.

    Parameters
    ----------
    ends : int array (m + 1,), or (2,) if only the last fit is kept
        Fit k has the entries ``ends[k]:ends[k + 1]`` of the next two arrays.
    entries : int array
        feature * r + task of the selected coefficients, increasing within a fit.
    values : array
        Coefficients.
    loss : array (m,)
    sizes : int array (m,)
        Sizes of the supports.
    reached : int
        Largest number of features of any pursuit.
    skipped : int
        Number of best entries that were rejected because they lie in the span of their support.
    smallest : array (r,)
        Smallest squared sine of the angle between an added column and the span of the others, of
        each task; 1 without a Gram matrix.
    """

    ends: np.ndarray
    entries: np.ndarray
    values: np.ndarray
    loss: np.ndarray
    sizes: np.ndarray
    reached: int
    skipped: int
    smallest: np.ndarray


def pursuits(
    gram: np.ndarray | Sequence[Any],
    correlations: Iterable[np.ndarray],
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

    Parameters
    ----------
    gram : array (r, p, p), or (1, p, p) shared by all tasks
        Or a list of r, or one, of ``kernels.gram_rows`` of sparse designs.
    correlations : iterable of arrays (k, p)
        X_j^T y_j / n_j of k tasks after another. There is one array if tasks have designs of their
        own or are ``together``.
    power : array (r,)
        ||y_j||^2 / n_j.
    enough : array (r,)
        A pursuit ends when ||y_j - X_j b_j||^2 / (2 n_j) is at most this for all its tasks.
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
    end : bool
        Keep the coefficients of the last fit only.
    n_jobs : int >= 1
        Number of threads. The bits of the fits do not depend on it.
    """
    fits = native.omp.Fits(len(power), len(counts), end)
    start = 0
    for block in correlations:
        here = slice(start, start + len(block))
        native.omp.pursuits(
            fits,
            start,
            gram,
            block,
            power[here],
            enough[here],
            capacity[here],
            together,
            normalize,
            refit,
            counts,
            n_jobs,
        )
        start = here.stop
    return Pursuits(*fits.result(block.shape[1]))
