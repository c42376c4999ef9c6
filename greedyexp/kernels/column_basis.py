"""Least squares on columns that come and go, by an orthonormal basis of their span.

The basis is kept orthonormal itself rather than a factor of the Gram matrix, so that nearly
dependent columns cost no digits. With it go its inner products with all columns of the design: a
change then costs one product with the design and plane rotations, and brings the correlations of
the residual and what is left of each column outside the span up to date.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from greedyexp.kernels import cholesky
from greedyexp.kernels._compile import kernel
from greedyexp.kernels.row_gradient import axpy, dot, subtract_rows


class Basis(NamedTuple):
    """Room for m columns of length l of a design with p columns in all."""

    vectors: np.ndarray  # (m, l): orthonormal rows
    rows: np.ndarray  # (m, p): inner products of the vectors with the columns of the design
    factor: np.ndarray  # (m, m): row t holds column t of the support in the basis, t + 1 entries
    rotated: np.ndarray  # (m,): inner products of the vectors with the response
    residual: np.ndarray  # (l,): the response less its projection
    correlation: np.ndarray  # (p,): inner products of the residual with the columns of the design
    outside: np.ndarray  # (p,): squared distance of each column of the design from the span


def empty(response, correlation, powers, room):
    """A basis of nothing.

    Parameters
    ----------
    response : array (l,)
    correlation : array (p,)
        Inner products of the response with the columns of the design.
    powers : array (p,)
        Squared norms of the columns.
    room : int
        m.
    """
    return Basis(
        np.zeros((room, len(response))),
        np.zeros((room, len(powers))),
        np.zeros((room, room)),
        np.zeros(room),
        response.copy(),
        correlation.copy(),
        powers.copy(),
    )


@kernel
def project(basis, size, column):
    """Take the part in the span away from ``column``, in place; its squared length afterwards.

    Its coordinates in the basis are left in row ``size`` of the factor. Done twice, since one pass
    over a column close to the span leaves rounding errors of the same size as what is left.
    """
    place = basis.factor[size]
    place[:] = 0.0
    order = np.arange(size)
    parts = np.empty(size)
    for _ in range(2):
        for t in range(size):
            parts[t] = dot(basis.vectors[t], column)
            place[t] += parts[t]
        subtract_rows(column, parts, basis.vectors, order, size)
    return dot(column, column)


@kernel
def take(basis, size, vector, row, length):
    """Grow the basis by the unit vector of the column projected last.

    Parameters
    ----------
    vector : array (l,)
    row : array (p,)
        Its inner products with the columns of the design.
    length : float
        Of the projected column.
    """
    basis.vectors[size] = vector
    basis.rows[size] = row
    basis.factor[size, size] = length
    step = dot(vector, basis.residual)
    basis.rotated[size] = step
    axpy(-step, vector, basis.residual)
    axpy(-step, row, basis.correlation)
    for j in range(len(row)):
        basis.outside[j] -= row[j] * row[j]


@kernel
def drop(basis, size, index):
    """Take column ``index`` out of ``size``; later ones move up.

    Plane rotations turn the basis until its last vector is orthogonal to all columns that stay.
    """
    factor, rotated = basis.factor, basis.rotated
    for t in range(index, size - 1):
        factor[t, : t + 2] = factor[t + 1, : t + 2]
    for t in range(index, size - 1):
        length = np.hypot(factor[t, t], factor[t, t + 1])
        cosine, sine = factor[t, t] / length, factor[t, t + 1] / length
        for later in range(t, size - 1):
            low, high = factor[later, t], factor[later, t + 1]
            factor[later, t] = cosine * low + sine * high
            factor[later, t + 1] = cosine * high - sine * low
        low, high = rotated[t], rotated[t + 1]
        rotated[t] = cosine * low + sine * high
        rotated[t + 1] = cosine * high - sine * low
        _rotate(basis.vectors[t], basis.vectors[t + 1], cosine, sine)
        _rotate(basis.rows[t], basis.rows[t + 1], cosine, sine)
    last = size - 1
    axpy(rotated[last], basis.vectors[last], basis.residual)
    row = basis.rows[last]
    axpy(rotated[last], row, basis.correlation)
    for j in range(len(row)):
        basis.outside[j] += row[j] * row[j]


@kernel
def _rotate(low, high, cosine, sine):
    for i in range(len(low)):
        one, other = low[i], high[i]
        low[i] = cosine * one + sine * other
        high[i] = cosine * other - sine * one


@kernel
def coefficients(basis, size):
    """The least-squares coefficients on the support, in its order."""
    solution = np.empty(size)
    cholesky.solve_transposed(basis.factor, size, basis.rotated, solution)
    return solution


@kernel
def correction(basis, size, residual):
    """What a fresh residual (l,) adds to the coefficients."""
    parts = np.empty(size)
    for t in range(size):
        parts[t] = dot(basis.vectors[t], residual)
    cholesky.solve_transposed(basis.factor, size, parts, parts)
    return parts


@kernel
def inverse_diagonal(basis, size):
    """Diagonal of the inverse of the Gram matrix of the support."""
    out = np.zeros(size)
    order = np.arange(size)
    inverse = np.zeros((size, size))
    for i in range(size):
        line = inverse[i, : i + 1]
        line[i] = 1.0
        subtract_rows(line[:i], basis.factor[i], inverse, order, i)
        pivot = basis.factor[i, i]
        for t in range(i + 1):
            line[t] /= pivot
            out[t] += line[t] * line[t]
    return out


@kernel
def residual_of(response, columns, slots, coef):
    """response - sum_t coef[t] columns[slots[t]], and the inner products of those columns with it.

    Computed afresh from the columns themselves.
    """
    residual = response.copy()
    subtract_rows(residual, coef, columns, slots, len(coef))
    slope = np.empty(len(coef))
    for t in range(len(coef)):
        slope[t] = dot(columns[slots[t]], residual)
    return residual, slope
