"""The mean logistic loss along one coordinate, for many coordinates.

Everything is in signed columns z_j, the columns of the design times the labels -1 and 1: with the
margins m = sum_j b_j z_j the loss is mean_i log(1 + exp(-m_i)) plus ``ridge / 2`` times the
squared coefficients.
"""

from __future__ import annotations

import numpy as np

from greedyexp.kernels._compile import kernel
from greedyexp.kernels.logistic_columns import gather, reach_of
from greedyexp.kernels.row_gradient import FAST

# A Newton step that moves no margin by more than this is the last: it leaves an error of the order
# of its square. Nor is a step tried that is rounding of the sum of all steps.
NEAR = 1e-6
NOTHING = 1e-15
# Largest step in units of one margin while the minimum is not bracketed.
STRIDE = 4.0
MOST_STEPS = 200
# Moves of a margin beyond this are no small changes of a loss, and the two losses are subtracted.
FAR = 1.0
# Sums of logarithms of numbers near one are that of their product, of which the part beyond one is
# kept, so that small parts keep their digits. Outside of these bounds its logarithm is taken.
LOW, HIGH = -0.5, 4.0


@kernel
def losses(margins, weights):
    """Mean loss; ``weights`` <- minus its derivatives by the margins, 1 / (1 + exp(m_i))."""
    total, excess = 0.0, 0.0
    for i in range(len(margins)):
        small = np.exp(-abs(margins[i]))
        share = 1.0 / (1.0 + small)
        if margins[i] >= 0.0:
            weights[i] = small * share
        else:
            weights[i] = share
            total -= margins[i]
        excess += small * (1.0 + excess)
        if excess > HIGH:
            total += np.log1p(excess)
            excess = 0.0
    return (total + np.log1p(excess)) / len(margins)


@kernel(fastmath=FAST)
def _derivatives(z, margins, a):
    """Sums over samples of minus the slope and of the curvature at a step a along z."""
    slope, curvature = 0.0, 0.0
    for i in range(len(z)):
        t = margins[i] + a * z[i]
        small = np.exp(-abs(t))
        share = 1.0 / (1.0 + small)
        weight = small * share if t >= 0.0 else share
        slope += z[i] * weight
        curvature += z[i] * z[i] * small * share * share
    return slope, curvature


@kernel
def fall(z, margins, a):
    """Sum over samples of the loss here less that at a step a along z.

    A small move is the logarithm of a number near one, not a difference of two losses, so that a
    fall far below the rounding of the loss keeps its digits.
    """
    total, excess = 0.0, 0.0
    for i in range(len(z)):
        move = a * z[i]
        if abs(move) <= FAR:
            excess += np.expm1(-move) / (1.0 + np.exp(margins[i])) * (1.0 + excess)
            if excess < LOW or excess > HIGH:
                total -= np.log1p(excess)
                excess = 0.0
        else:
            t = margins[i] + move
            total += np.log1p(np.exp(-abs(margins[i]))) + max(-margins[i], 0.0)
            total -= np.log1p(np.exp(-abs(t))) + max(-t, 0.0)
    return total - np.log1p(excess)


@kernel
def _endless(z, margins, n_samples, low):
    """Step and gain of a column of one sign without a ridge: the loss falls for ever."""
    gain = 0.0
    for i in range(len(z)):
        if z[i] != 0.0:
            gain += np.log1p(np.exp(-abs(margins[i]))) + max(-margins[i], 0.0)
    return (np.inf if low == 0.0 else -np.inf), gain / n_samples


@kernel
def line_minimum(z, margins, n_samples, ridge, coefficient):
    """The minimum along one coordinate.

    Parameters
    ----------
    z, margins : arrays (m,)
        The column and the margins, where samples of value zero may be left out.
    n_samples : int
        What the loss is a mean over.
    ridge, coefficient : float
        Weight of the penalty and the present coefficient.

    Returns
    -------
    step : float
        To the minimum; infinite when there is none.
    gain : float
        The loss here less its minimum, or infimum.
    """
    low, high = reach_of(z)
    if low == high:
        return -coefficient if ridge > 0.0 else 0.0, 0.5 * ridge * coefficient * coefficient
    if ridge == 0.0 and (low == 0.0 or high == 0.0):
        return _endless(z, margins, n_samples, low)
    reach = max(high, -low)
    stride = STRIDE / reach
    left, right, a = -np.inf, np.inf, 0.0
    for _ in range(MOST_STEPS):
        down, curvature = _derivatives(z, margins, a)
        slope = ridge * (coefficient + a) - down / n_samples
        curvature = ridge + curvature / n_samples
        if slope < 0.0:
            left = a
        else:
            right = a
        move = -slope / curvature if curvature > 0.0 else np.copysign(np.inf, -slope)
        if abs(move) * reach <= NEAR or abs(move) <= NOTHING * abs(a):
            a += move
            break
        if np.isinf(left) or np.isinf(right):
            a += min(max(move, -stride), stride)
            stride *= 2.0
        elif left < a + move < right:
            a += move
        else:
            a = 0.5 * (left + right)
    gain = fall(z, margins, a) / n_samples - ridge * a * (coefficient + 0.5 * a)
    return a, max(gain, 0.0)


@kernel
def line_minima(columns, margins, ridge, coef, steps, gains):
    """The minima along every coordinate, into ``steps`` and ``gains`` (p,)."""
    n = len(margins)
    scratch, near = np.empty(columns.widest), np.empty(columns.widest)
    for j in range(len(gains)):
        z, own = gather(columns, j, margins, scratch, near)
        steps[j], gains[j] = line_minimum(z, own, n, ridge, coef[j])


@kernel(fastmath=FAST)
def falls(signed, coef, margins, ridge, out):
    """out_t <- increase of the loss when coefficient t alone goes to zero.

    Parameters
    ----------
    signed : array (k, n)
        Signed columns of the support.
    coef : array (k,)
    margins : array (n,)
    ridge : float
    out : array (k,)
    """
    for t in range(len(coef)):
        out[t] = -fall(signed[t], margins, -coef[t]) / len(margins) - 0.5 * ridge * coef[t] ** 2
