"""Least squares on a support that grows and shrinks, for several tasks, in Gram form.

For task j with G_j = X_j^T X_j / n_j and c_j = X_j^T y_j / n_j the fit on support S solves
G_SS b = c_S, and c - G_S b is X_j^T (y_j - X_j b) / n_j, the correlation of the residual. The cost
does not depend on the number of rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from greedyexp.kernels import cholesky_numba as cholesky
from greedyexp.kernels._compile import kernel
from greedyexp.kernels.linear_algebra_numba import subtract_rows

# A column counts as lying in the span of the support if the squared sine of its angle to the span
# is below SPAN: in Gram form the error of that number is about 1e-14. Gram form squares the
# condition number, so fits with a squared sine below REFIT must be repeated from the design itself.
SPAN = 1e-10
REFIT = 1e-6
# Gains below this part of the response power are rounding errors of the residual correlation.
GAIN_FLOOR = 1e-20
# Gains and costs that agree to this relative precision count as equal, and the lowest index wins.
# Otherwise rounding would break ties by the order of summation.
TIE = 1e-10
# A column with at most this mean square counts as zero; the inverse would overflow.
NO_COLUMN = 1e-300


class Fits(NamedTuple):
    """Fits of r tasks over p features on supports of at most m entries each."""

    gram: np.ndarray  # (r, p, p), or (1, p, p) when the tasks share a design
    correlation: np.ndarray  # (r, p)
    curvature: np.ndarray  # (r, p): diagonals of the Gram matrices
    half_inverse: np.ndarray  # (r, p): 1 / (2 curvature), zero for a zero column
    capacity: np.ndarray  # (r,): largest support, at most m
    chol: np.ndarray  # (r, m, m): factors of the Gram matrices on the supports
    rotated: np.ndarray  # (r, m): L^{-1} c_S
    coef: np.ndarray  # (r, m): solution on the support, in support order
    support: np.ndarray  # (r, m): features in support order
    size: np.ndarray  # (r,): entries in each support
    position: np.ndarray  # (r, p): place in the support, or -1
    barred: np.ndarray  # (r, p): columns found in the span of the present support
    residual: np.ndarray  # (r, p): correlation of the residual
    cross: np.ndarray  # (m,): scratch
    smallest: np.ndarray  # (r,): smallest squared sine of any column taken


def stored(gram):
    """A read-only view of the Gram matrices, with a broadcast one only once.

    Always read-only: a kernel is compiled again for writable arrays.
    """
    view = gram[:1] if gram.strides[0] == 0 else gram[:]
    view.flags.writeable = False
    return view


@kernel
def half_inverse_of(curvature):
    """1 / (2 G_ii), or zero for a zero column."""
    out = np.zeros(len(curvature))
    for i in range(len(curvature)):
        if curvature[i] > NO_COLUMN:
            out[i] = 0.5 / curvature[i]
    return out


@kernel
def start(gram, correlation, capacity):
    """Empty fits; see ``Fits`` for shapes."""
    r, p = correlation.shape
    m = capacity.max()
    curvature = np.empty((r, p))
    half_inverse = np.empty((r, p))
    for j in range(r):
        curvature[j] = np.diag(gram[j % gram.shape[0]])
        half_inverse[j] = half_inverse_of(curvature[j])
    return Fits(
        gram,
        correlation,
        curvature,
        half_inverse,
        capacity,
        np.empty((r, m, m)),
        np.empty((r, m)),
        np.empty((r, m)),
        np.empty((r, m), np.int64),
        np.zeros(r, np.int64),
        np.full((r, p), -1, np.int64),
        np.zeros((r, p), np.bool_),
        correlation.copy(),
        np.empty(m),
        np.ones(r),
    )


@kernel
def stage(fits, j, i):
    """Prepare feature i for the support of task j; return False if it lies in the span.

    Nothing changes until ``commit``. A full support counts as spanning everything.
    """
    size = fits.size[j]
    if size >= fits.capacity[j] or fits.half_inverse[j, i] == 0.0:
        return False
    line = fits.gram[j % fits.gram.shape[0], i]
    for t in range(size):
        fits.cross[t] = line[fits.support[j, t]]
    return cholesky.append(fits.chol[j], size, fits.cross, fits.curvature[j, i]) > SPAN


@kernel
def commit(fits, j, i):
    """Add the feature staged last for task j to its support."""
    size = fits.size[j]
    cholesky.extend_solution(fits.chol[j], size, fits.correlation[j, i], fits.rotated[j])
    sine = fits.chol[j, size, size] ** 2 / fits.curvature[j, i]
    fits.smallest[j] = min(fits.smallest[j], sine)
    fits.support[j, size] = i
    fits.position[j, i] = size
    fits.size[j] = size + 1


@kernel
def drop(fits, j, i):
    """Remove feature i from the support of task j; barred columns may be tried again."""
    gone = fits.position[j, i]
    size = fits.size[j]
    cholesky.remove(fits.chol[j], size, gone, fits.rotated[j])
    for t in range(gone, size - 1):
        moved = fits.support[j, t + 1]
        fits.support[j, t] = moved
        fits.position[j, moved] = t
    fits.position[j, i] = -1
    fits.size[j] = size - 1
    fits.barred[j, :] = False


@kernel
def refit(fits, j):
    """Compute the coefficients of task j on its support."""
    cholesky.solve_transposed(fits.chol[j], fits.size[j], fits.rotated[j], fits.coef[j])


@kernel
def correlate_residual(fits, j):
    """Compute c - G_S b of task j from its coefficients, without accumulated errors."""
    out = fits.residual[j]
    out[:] = fits.correlation[j]
    own = fits.gram[j % fits.gram.shape[0]]
    subtract_rows(out, fits.coef[j], own, fits.support[j], fits.size[j])


@kernel
def single_gains(fits, j, floor, gains):
    """Loss decrease along each single coordinate of task j: residual^2 / (2 G_ii).

    Zero on the support (the fit is optimal there), for barred columns, and where the decrease is
    not above ``floor``.
    """
    residual, half_inverse = fits.residual[j], fits.half_inverse[j]
    for i in range(len(gains)):
        gain = residual[i] * residual[i] * half_inverse[i]
        gains[i] = gain if gain > floor else 0.0
    for t in range(fits.size[j]):
        gains[fits.support[j, t]] = 0.0
    barred = fits.barred[j]
    for i in range(len(gains)):
        if barred[i]:
            gains[i] = 0.0


@kernel
def largest(values):
    """The maximum of numbers >= 0, zero if there are none; four independent maxima run faster."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    blocked = len(values) - len(values) % 4
    for i in range(0, blocked, 4):
        a = values[i] if values[i] > a else a
        b = values[i + 1] if values[i + 1] > b else b
        c = values[i + 2] if values[i + 2] > c else c
        d = values[i + 3] if values[i + 3] > d else d
    for i in range(blocked, len(values)):
        a = values[i] if values[i] > a else a
    return max(max(a, b), max(c, d))


@kernel
def first_largest(values):
    """The lowest index of the maximum of numbers >= 0, up to rounding, and the maximum."""
    top = largest(values)
    for i in range(len(values)):
        if values[i] >= top * (1.0 - TIE):
            return i, top
    return 0, top


@kernel
def explained(fits, j):
    """Twice the loss decrease of task j from zero coefficients: c_S^T b = ||L^{-1} c_S||^2."""
    total = 0.0
    for t in range(fits.size[j]):
        total += fits.rotated[j, t] ** 2
    return total
