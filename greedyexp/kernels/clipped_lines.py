"""Smoothed absolute and hinge losses along one coordinate, for many coordinates.

Both are the mean of phi(u_i) over u = c + sum_j b_j z_j, where phi' = clip(beta u, low, 1): u is
the residual and low = -1 for the absolute loss, u is one less the margin and low = 0 for the hinge.
Where beta u is between low and 1, phi is quadratic; elsewhere it is linear. The loss is this mean
plus ``ridge / 2`` times the squared coefficients.
"""

from __future__ import annotations

import numpy as np

from greedyexp.kernels._compile import kernel
from greedyexp.kernels.linear_algebra_numba import FAST
from greedyexp.kernels.logistic_columns import gather

MOST_STEPS = 200
# Newton steps between two steps that certainly shorten the bracket.
NEWTON_STEPS = 8
# A Newton step on one piece is exact: a second one this much shorter is a rounding error.
SHORTER = 1e-8
# So is a step smaller than this part of the sum of all steps.
NOTHING = 1e-15
# A sum of slopes counts as zero when it is at most this part of the sum of their sizes.
SLOPE_ROUNDING = 2.0**-52


@kernel(fastmath=FAST)
def derivatives(z, u, a, beta, low):
    """Sums over samples of slope, curvature and |slope| at a step a along z."""
    slope, curvature, size = 0.0, 0.0, 0.0
    for i in range(len(z)):
        raw = beta * (u[i] + a * z[i])
        term = z[i] * min(max(raw, low), 1.0)
        slope += term
        size += abs(term)
        curvature += z[i] * z[i] if low < raw < 1.0 else 0.0
    return slope, beta * curvature, size


@kernel(fastmath=FAST)
def bend(z, u, a, beta, low):
    """Sum over samples of phi(u + a z) - phi(u) - a z phi'(u) >= 0, without cancellation."""
    first, last, total = low / beta, 1.0 / beta, 0.0
    for i in range(len(z)):
        t = u[i] + a * z[i]
        here, there = min(max(u[i], first), last), min(max(t, first), last)
        total += (there - here) * (0.5 * (there - here) + (t - there))
    return beta * total


@kernel
def _farthest_kink(z, u, beta, low, sign):
    """Distance to the last kink of any sample in the direction ``sign``."""
    far = 0.0
    for i in range(len(z)):
        if z[i] != 0.0:
            far = max(far, sign * (low / beta - u[i]) / z[i], sign * (1.0 / beta - u[i]) / z[i])
    return far


@kernel
def _kink(z, u, beta, low, sign, left, right, start):
    """A kink strictly inside a bracket, and its sample; -1 if there is none."""
    for t in range(len(z)):
        i = (start + t) % len(z)
        if z[i] != 0.0:
            for edge in (low / beta, 1.0 / beta):
                a = sign * (edge - u[i]) / z[i]
                if left < a < right:
                    return a, i
    return right, -1


@kernel
def line_step(z, u, n_samples, ridge, coefficient, beta, low):
    """The step to a minimum along one coordinate, and the derivative before it.

    The derivative is piecewise linear and does not decrease. Newton's method, exact on the last
    piece, runs inside a bracket. If a step leaves the bracket, a kink inside is tried; without a
    kink the derivative is linear between the ends. Arguments are those of ``line_minimum``.
    """
    slope, curvature, size = derivatives(z, u, 0.0, beta, low)
    slope = slope / n_samples + ridge * coefficient
    if abs(slope) <= SLOPE_ROUNDING * (size / n_samples + ridge * abs(coefficient)):
        return 0.0, slope
    # From here on a >= 0 is a distance downhill; ``fall`` is negative beyond the minimum.
    sign = -1.0 if slope > 0.0 else 1.0
    left, fall_left, right, fall_right = 0.0, abs(slope), 0.0, np.nan
    right = _farthest_kink(z, u, beta, low, sign)
    if ridge > 0.0:
        right = max(right, -sign * coefficient)
    a, fall, last, start, newton = 0.0, abs(slope), 0.0, 0, 0
    for _ in range(MOST_STEPS):
        bending = curvature / n_samples + ridge
        move = fall / bending if bending > 0.0 else np.inf
        if abs(move) <= max(SHORTER * last, NOTHING * a):
            a += move
            break
        if left < a + move < right and newton < NEWTON_STEPS:
            a, last, newton = a + move, abs(move), newton + 1
        else:
            a, place = _kink(z, u, beta, low, sign, left, right, start)
            last, newton, start = 0.0, 0, place + len(z) // 2 + 1
            if place < 0 and not np.isnan(fall_right):
                a = left + (right - left) * fall_left / (fall_left - fall_right)
                break
        slope_there, curvature, size = derivatives(z, u, sign * a, beta, low)
        fall = -sign * slope_there / n_samples - ridge * (sign * coefficient + a)
        if fall > 0.0 and a < right:
            left, fall_left = a, fall
        else:
            right, fall_right = a, min(fall, 0.0)
        if fall == 0.0:
            break
    return sign * a, slope


@kernel
def line_minimum(z, u, n_samples, ridge, coefficient, beta, low):
    """A minimum along one coordinate.

    Parameters
    ----------
    z, u : arrays (m,)
        The column and the arguments of phi; samples of value zero may be left out.
    n_samples : int
        Number of samples of the mean.
    ridge, coefficient : float
        Weight of the penalty and the present coefficient.
    beta, low : float
        Parameters of the loss.

    Returns
    -------
    step : float
        Step to a minimum, which always exists.
    gain : float >= 0
        The loss here less its minimum.
    """
    a, slope = line_step(z, u, n_samples, ridge, coefficient, beta, low)
    gain = -a * (slope + 0.5 * ridge * a) - bend(z, u, a, beta, low) / n_samples
    return a, max(gain, 0.0)


@kernel
def line_minima(columns, u, ridge, coef, beta, low, steps, gains):
    """Write the minima along all coordinates to ``steps`` and ``gains`` (p,)."""
    scratch, near = np.empty(columns.widest), np.empty(columns.widest)
    for j in range(len(gains)):
        z, own = gather(columns, j, u, scratch, near)
        steps[j], gains[j] = line_minimum(z, own, len(u), ridge, coef[j], beta, low)


@kernel
def falls(signed, coef, u, ridge, beta, low, out):
    """out_t <- increase of the loss when only coefficient t becomes zero.

    Parameters
    ----------
    signed : array (k, n)
        Columns of the support.
    coef : array (k,)
    u : array (n,)
    ridge, beta, low : float
    out : array (k,)
    """
    n = len(u)
    for t in range(len(coef)):
        slope = derivatives(signed[t], u, 0.0, beta, low)[0] / n
        away = bend(signed[t], u, -coef[t], beta, low) / n
        out[t] = away - coef[t] * slope - 0.5 * ridge * coef[t] ** 2
