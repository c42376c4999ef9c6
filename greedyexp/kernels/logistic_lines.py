"""The mean logistic loss along one coordinate, for many coordinates, and the best of them.

All functions take signed columns z_j: the columns of the design times the labels -1 and 1. With
the margins m = sum_j b_j z_j the loss is mean_i log(1 + exp(-m_i)) plus ``ridge / 2`` times the
squared coefficients.
"""

from __future__ import annotations

import numpy as np

from greedyexp.kernels._compile import kernel
from greedyexp.kernels.linear_algebra_numba import FAST
from greedyexp.kernels.logistic_columns import gather, reach_of

# A Newton step that moves no margin by more than this is the last: its error is of the order of its
# square. A step smaller than the rounding of the sum of all steps is not tried either.
NEAR = 1e-6
NOTHING = 1e-15
# Largest step in units of one margin while the minimum is not bracketed.
STRIDE = 4.0
MOST_STEPS = 200
# For larger moves of a margin the change of the loss is the difference of two losses.
FAR = 1.0
# The sum of log(1 + e_i) is computed as the logarithm of the product of all 1 + e_i. Only the part
# of the product beyond one is kept, which preserves the digits of small e_i. Outside these bounds
# its logarithm is taken.
LOW, HIGH = -0.5, 4.0
# The maximiser of a gain bound is sought to this part of the slope; the bound covers the rest.
BOUND_NEAR = 1e-6
MOST_BOUND_STEPS = 60
# Allowance of a gain bound for rounding, relative to it and to the size of its terms.
SLACK = 1e-9
CANCELLED = 1e-15


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

    The change by a small move is computed as the logarithm of a number near one, not as a
    difference of two losses, and keeps its digits even far below the rounding of the loss.
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
    """Step and gain for a column of one sign without a ridge, where the loss has no minimum."""
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
        The column and the margins; samples of value zero may be left out.
    n_samples : int
        Number of samples of the mean.
    ridge, coefficient : float
        Weight of the penalty and the present coefficient.

    Returns
    -------
    step : float
        Step to the minimum; infinite if there is none.
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
    """Write the minima along all coordinates to ``steps`` and ``gains`` (p,)."""
    n = len(margins)
    scratch, near = np.empty(columns.widest), np.empty(columns.widest)
    for j in range(len(gains)):
        z, own = gather(columns, j, margins, scratch, near)
        steps[j], gains[j] = line_minimum(z, own, n, ridge, coef[j])


@kernel(fastmath=FAST)
def falls(signed, coef, margins, ridge, out):
    """out_t <- increase of the loss when only coefficient t becomes zero.

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


@kernel
def gain_bound(slope, curvature, reach, ridge):
    """Upper bound of the gain: the loss here less its least value along a coordinate.

    For |z_i| <= R the loss along the coordinate is at least its linear model plus
    (h / R^2) (exp(-R |a|) + R |a| - 1), h being its curvature (Bach, 2010, Proposition 1).

    Parameters
    ----------
    slope : float
        Derivative, including that of the ridge.
    curvature : float
        Second derivative h, without that of the ridge.
    reach : float
        R, the largest |z_i|.
    ridge : float

    Returns
    -------
    float
        Infinite if the lower bound of the loss has no minimum.
    """
    if reach == 0.0 or slope == 0.0:
        return 0.5 * slope * slope / ridge if slope != 0.0 else 0.0
    down, bend, brake = abs(slope) / reach, curvature / reach**2, ridge / reach**2
    if brake == 0.0 and down >= bend:
        return np.inf
    x, left = 0.0, down
    # The remaining slope is convex in x, so Newton's steps never pass its root.
    for _ in range(MOST_BOUND_STEPS):
        x += left / (bend * np.exp(-x) + brake)
        left = down + bend * np.expm1(-x) - brake * x
        if abs(left) <= BOUND_NEAR * down:
            break
    bound = down * x - bend * (np.expm1(-x) + x) - 0.5 * brake * x * x
    if left > 0.0:
        bound += _rest(left, bend * np.exp(-x), brake)
    return bound * (1.0 + SLACK) + CANCELLED * (down * x + bend * x)


@kernel
def _rest(left, bend, brake):
    """Upper bound of the largest ``left`` y - ``bend`` (exp(-y) + y - 1) - ``brake`` y^2 / 2.

    With r = left / bend < 1 and no brake it is bend (r + (1 - r) log(1 - r)), at most bend r^2.
    """
    if left < bend:
        return left * left / bend
    return 0.5 * left * left / brake if brake > 0.0 else np.inf


@kernel
def best_line(columns, margins, slopes, curvatures, reach, ridge, tie):
    """The coordinate off the support with the largest gain.

    Upper bounds of the gains decide which lines need not be searched.

    Parameters
    ----------
    columns : Columns
    margins : array (n,)
    slopes : array (p,)
        Derivatives off the support, where coefficients are zero; zero on it.
    curvatures : array (p,)
        Second derivatives without the ridge.
    reach : array (p,)
        Largest |z_ij| of each column.
    ridge : float
    tie : float
        Gains that agree to this relative precision count as equal, and the lowest index wins.

    Returns
    -------
    feature : int
    gain : float
    searched : int
        Number of lines searched.
    """
    p, n = len(slopes), len(margins)
    scratch, near, gains = np.empty(columns.widest), np.empty(columns.widest), np.zeros(p)
    first, guess = 0, -1.0
    for j in range(p):
        bend = curvatures[j] + ridge
        likely = slopes[j] * slopes[j] / bend if bend > 0.0 else 0.0
        if likely > guess:
            first, guess = j, likely
    top, searched = 0.0, 0
    for t in range(-1, p):
        # The likeliest first: the better the best gain so far, the more lines are ruled out.
        j = first if t < 0 else t
        if slopes[j] == 0.0 or t == first:
            continue
        if gain_bound(slopes[j], curvatures[j], reach[j], ridge) < top * (1.0 - 2.0 * tie):
            continue
        z, own = gather(columns, j, margins, scratch, near)
        gains[j] = line_minimum(z, own, n, ridge, 0.0)[1]
        top = max(top, gains[j])
        searched += 1
    for j in range(p):
        if gains[j] >= top * (1.0 - tie):
            return j, gains[j], searched
    return 0, 0.0, searched
