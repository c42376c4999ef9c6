"""Losses L(a, y) of a prediction and a response: values and slopes, compiled.

``beta`` smooths the absolute and the hinge loss; the other two ignore it. With an infinite ``beta``
the values of both are those without smoothing.
"""

from __future__ import annotations

import numpy as np

from greedyexp.kernels._compile import kernel
from greedyexp.kernels.linear_algebra_numba import FAST

# (a - y)^2 / 2 and log(1 + exp(-y a)); |a - y| and max(0, 1 - y a), smoothed. Labels are -1 and 1.
SQUARED, LOGISTIC, ABSOLUTE, HINGE = range(4)


@kernel
def value(kind, a, y, beta):
    """L(a, y)."""
    if kind == SQUARED:
        return 0.5 * (a - y) * (a - y)
    if kind == LOGISTIC:
        return np.log1p(np.exp(-abs(a))) + max(-y * a, 0.0)
    excess = abs(a - y) if kind == ABSOLUTE else max(1.0 - y * a, 0.0)
    if beta * excess < 1.0:
        return 0.5 * beta * excess * excess
    return excess - 0.5 / beta


@kernel
def slope(kind, a, y, beta):
    """Derivative of L(a, y) by a."""
    if kind == SQUARED:
        return a - y
    if kind == LOGISTIC:
        small = np.exp(-abs(a))
        return -y * (small if y * a > 0.0 else 1.0) / (1.0 + small)
    if kind == ABSOLUTE:
        return min(max(beta * (a - y), -1.0), 1.0)
    return -y * min(max(beta * (1.0 - y * a), 0.0), 1.0)


@kernel(fastmath=FAST)
def slopes(kind, beta, margins, y, out):
    """out_i <- derivative of L(a_i, y_i) by a_i.

    Parameters
    ----------
    kind : int
    beta : float
    margins : array (n,)
        Predictions a.
    y : array (n,)
    out : array (n,)
    """
    # One loop for each kind: those without an exponential run in vector registers.
    if kind == SQUARED:
        for i in range(len(y)):
            out[i] = margins[i] - y[i]
    elif kind == LOGISTIC:
        for i in range(len(y)):
            out[i] = slope(LOGISTIC, margins[i], y[i], beta)
    elif kind == ABSOLUTE:
        for i in range(len(y)):
            out[i] = min(max(beta * (margins[i] - y[i]), -1.0), 1.0)
    else:
        for i in range(len(y)):
            out[i] = -y[i] * min(max(beta * (1.0 - y[i] * margins[i]), 0.0), 1.0)


@kernel
def values(kind, beta, margins, y, out):
    """out_i <- L(a_i, y_i); arguments as for ``slopes``."""
    for i in range(len(y)):
        out[i] = value(kind, margins[i], y[i], beta)


@kernel(fastmath=FAST)
def total(kind, beta, margins, y):
    """sum_i L(a_i, y_i); arguments as for ``slopes``."""
    result = 0.0
    for i in range(len(y)):
        result += value(kind, margins[i], y[i], beta)
    return result
