"""Inner loops along memory: vector sums and the gradient of the squared loss in Gram form."""

from __future__ import annotations

import numpy as np
from numba import njit

# Sums may be reordered for vector registers; nan and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz"}


@njit(cache=True, fastmath=FAST)
def axpy(scale, x, y):
    """y += scale * x."""
    for a in range(len(y)):
        y[a] += scale * x[a]


@njit(cache=True, fastmath=FAST)
def dot(x, y):
    """Inner product."""
    total = 0.0
    for a in range(len(x)):
        total += x[a] * y[a]
    return total


@njit(cache=True, fastmath=FAST)
def _subtract_four(x, a, b, c, d, u, v, w, z):
    for i in range(len(x)):
        x[i] -= (a * u[i] + b * v[i]) + (c * w[i] + d * z[i])


@njit(cache=True)
def gradient(G, correlation, coef, grad):
    """grad_j <- correlation_j - G_j coef_j, at the cost of p for every nonzero coefficient.

    Parameters
    ----------
    G : array (1 or r, p, p)
        Gram matrices; a single one is shared.
    correlation, coef, grad : arrays (r, p)
    """
    r, p = coef.shape
    held = np.zeros(4, np.int64)
    for j in range(r):
        gram = G[min(j, len(G) - 1)]
        out = grad[j]
        own = coef[j]
        out[:] = correlation[j]
        count = 0
        for i in range(p):
            if own[i] != 0.0:
                held[count] = i
                count += 1
                if count == 4:
                    e, f, g, h = held
                    _subtract_four(
                        out, own[e], own[f], own[g], own[h], gram[e], gram[f], gram[g], gram[h]
                    )
                    count = 0
        for a in range(count):
            axpy(-own[held[a]], gram[held[a]], out)
