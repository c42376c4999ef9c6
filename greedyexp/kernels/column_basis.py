"""Least squares on a changing set of columns, by an orthonormal basis of their span.

An orthonormal basis loses no digits to nearly dependent columns, unlike a factor of the Gram
matrix. Its inner products with all columns of the design are stored too. A change then costs one
product with the design and plane rotations, which update the correlations of the residual and the
squared distances of the columns from the span.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from greedyexp.kernels import cholesky_numba as cholesky
from greedyexp.kernels._compile import kernel
from greedyexp.kernels.linear_algebra_numba import axpy, dot, rotate, subtract_rows


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
    """Return the basis of an empty support.

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
    """Project ``column`` off the span, in place; return the squared length of the rest.

    Its coordinates in the basis are left in row ``size`` of the factor. The projection is done
    twice: for a column close to the span, one pass leaves rounding errors as large as the rest.
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
    """Extend the basis by the unit vector of the column projected last.

    Parameters
    ----------
    vector : array (l,)
    row : array (p,)
        Its inner products with the columns of the design.
    length : float
        Length of the projected column.
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
    """Remove column ``index`` of ``size``; later ones move up.

    Plane rotations turn the basis until its last vector is orthogonal to all remaining columns.
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
        rotate(basis.vectors[t], basis.vectors[t + 1], cosine, sine)
        rotate(basis.rows[t], basis.rows[t + 1], cosine, sine)
    last = size - 1
    axpy(rotated[last], basis.vectors[last], basis.residual)
    row = basis.rows[last]
    axpy(rotated[last], row, basis.correlation)
    for j in range(len(row)):
        basis.outside[j] += row[j] * row[j]


@kernel
def coefficients(basis, size):
    """The least-squares coefficients on the support, in its order."""
    solution = np.empty(size)
    cholesky.solve_transposed(basis.factor, size, basis.rotated, solution)
    return solution


@kernel
def correction(basis, size, residual):
    """The correction of the coefficients by a fresh residual (l,)."""
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
