"""Signed columns: the columns of a design times labels -1 and 1, each contiguous in memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from greedyexp.kernels._compile import kernel
from greedyexp.kernels.linear_algebra_numba import FAST

# Samples and features of a block that fits in the processor's cache.
BLOCK = 32


class Columns(NamedTuple):
    """Signed columns, dense or sparse; if sparse, ``dense`` has no columns."""

    dense: np.ndarray  # (p, n), or (0, n)
    starts: np.ndarray  # (p + 1,): where each column begins in ``places`` and ``values``
    places: np.ndarray  # its samples
    values: np.ndarray  # its values
    widest: int  # largest number of values of a column


@kernel
def sign_columns(design, signs, dense):
    """dense_ji <- signs_i x_ij of a dense design (n, p)."""
    n, p = design.shape
    for first in range(0, n, BLOCK):
        for left in range(0, p, BLOCK):
            for i in range(first, min(first + BLOCK, n)):
                for j in range(left, min(left + BLOCK, p)):
                    dense[j, i] = signs[i] * design[i, j]


@kernel
def gather(columns, j, margins, z, near):
    """The values of column j and the margins of their samples.

    ``z`` and ``near`` are scratch for a sparse column; a dense column is not copied.
    """
    if len(columns.dense) > 0:
        return columns.dense[j], margins
    first = columns.starts[j]
    count = columns.starts[j + 1] - first
    for t in range(count):
        z[t] = columns.values[first + t]
        near[t] = margins[columns.places[first + t]]
    return z[:count], near[:count]


@kernel
def reach_of(z):
    """Smallest and largest entry, zero included."""
    low, high = 0.0, 0.0
    for i in range(len(z)):
        low = min(low, z[i])
        high = max(high, z[i])
    return low, high


@kernel
def reaches(columns, out):
    """out_j <- the largest absolute value of column j."""
    for j in range(len(out)):
        if len(columns.dense) > 0:
            low, high = reach_of(columns.dense[j])
        else:
            low, high = reach_of(columns.values[columns.starts[j] : columns.starts[j + 1]])
        out[j] = max(high, -low)


@kernel(fastmath=FAST)
def powers(columns, weights, out):
    """out_j <- sum_i weights_i z_ij^2."""
    if len(columns.dense) > 0:
        for j in range(len(out)):
            z, total = columns.dense[j], 0.0
            for i in range(len(z)):
                total += weights[i] * z[i] * z[i]
            out[j] = total
    else:
        for j in range(len(out)):
            total = 0.0
            for t in range(columns.starts[j], columns.starts[j + 1]):
                total += weights[columns.places[t]] * columns.values[t] * columns.values[t]
            out[j] = total
