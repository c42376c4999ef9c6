"""The coordinate along which the mean logistic loss falls most, with few lines searched."""

from __future__ import annotations

import numpy as np

from greedyexp.kernels._compile import kernel
from greedyexp.kernels.logistic_columns import gather
from greedyexp.kernels.logistic_lines import line_minimum

# How far the maximiser of a bound is sought, relative to the slope; the rest is added to the bound.
NEAR = 1e-6
MOST_STEPS = 60
# What rounding may take off a bound, relative to it and to the size of its terms.
SLACK = 1e-9
CANCELLED = 1e-15


@kernel
def gain_bound(slope, curvature, reach, ridge):
    """Upper bound of the loss here less its least value along a coordinate.

    For |z_i| <= R the loss along the coordinate is at least its linear model plus
    (h / R^2) (exp(-R |a|) + R |a| - 1), h being its curvature (Bach, 2010, Proposition 1).

    Parameters
    ----------
    slope : float
        Derivative, that of the ridge included.
    curvature : float
        Second derivative h, without that of the ridge.
    reach : float
        R, the largest |z_i|.
    ridge : float

    Returns
    -------
    float
        Infinite when the bound of the loss falls for ever.
    """
    if reach == 0.0 or slope == 0.0:
        return 0.5 * slope * slope / ridge if slope != 0.0 else 0.0
    down, bend, brake = abs(slope) / reach, curvature / reach**2, ridge / reach**2
    if brake == 0.0 and down >= bend:
        return np.inf
    x, left = 0.0, down
    # The slope left is convex in x, so that Newton's steps never pass its root.
    for _ in range(MOST_STEPS):
        x += left / (bend * np.exp(-x) + brake)
        left = down + bend * np.expm1(-x) - brake * x
        if abs(left) <= NEAR * down:
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
    """The coordinate of largest gain off the support.

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
        Gains that agree to this relative precision are equal, and the lowest index wins.

    Returns
    -------
    feature : int
    gain : float
    searched : int
        Lines searched.
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
        # The likeliest first: the better the best gain so far, the more is ruled out.
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
