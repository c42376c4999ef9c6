"""Sums of vectors, inner products and plane rotations, in vector registers."""

from __future__ import annotations

import numpy as np

from greedyexp.kernels._compile import kernel

# Allows sums in another order, for vector registers; nan and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz"}


@kernel(fastmath=FAST)
def axpy(scale, x, y):
    """y += scale * x."""
    for a in range(len(y)):
        y[a] += scale * x[a]


@kernel(fastmath=FAST)
def dot(x, y):
    """Inner product."""
    total = 0.0
    for a in range(len(x)):
        total += x[a] * y[a]
    return total


@kernel(fastmath=FAST)
def subtract_rows(out, weights, matrix, order, count):
    """out -= sum over t < count of weights[t] * matrix[order[t]], four rows at a time."""
    p = len(out)
    blocked = count - count % 4
    for t in range(0, blocked, 4):
        one, two = matrix[order[t]], matrix[order[t + 1]]
        three, four = matrix[order[t + 2]], matrix[order[t + 3]]
        a, b, c, d = weights[t], weights[t + 1], weights[t + 2], weights[t + 3]
        for i in range(p):
            out[i] -= (a * one[i] + b * two[i]) + (c * three[i] + d * four[i])
    for t in range(blocked, count):
        axpy(-weights[t], matrix[order[t]], out)


@kernel
def rotate(one, other, cosine, sine):
    """Apply a plane rotation to two vectors, in place."""
    for i in range(len(one)):
        a, b = one[i], other[i]
        one[i] = cosine * a + sine * b
        other[i] = cosine * b - sine * a


@kernel
def gradient(G, correlation, coef, grad):
    """grad_j <- correlation_j - G_j coef_j for each task j, in time p for each nonzero coefficient.

    Parameters
    ----------
    G : array (1 or r, p, p)
        Gram matrices; a single one is shared.
    correlation, coef, grad : arrays (r, p)
    """
    r, p = coef.shape
    held, weights = np.empty(p, np.int64), np.empty(p)
    for j in range(r):
        count = 0
        for i in range(p):
            if coef[j, i] != 0.0:
                held[count], weights[count] = i, coef[j, i]
                count += 1
        grad[j] = correlation[j]
        subtract_rows(grad[j], weights, G[min(j, len(G) - 1)], held, count)


@kernel
def write_point(coef, point):
    """Copy the nonzero coefficients (r, p) to a point of a path (p, r); return their number."""
    r, p = coef.shape
    count = 0
    for i in range(p):
        for j in range(r):
            if coef[j, i] != 0.0:
                point[i, j] = coef[j, i]
                count += 1
    return count
