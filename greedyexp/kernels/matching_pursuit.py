"""One step of regularised matching pursuit: Algorithm 1 of Moucer, Taylor & Bach (2024), corrected.

The step b minimises <g, b> + (L/2) ||b||_1^2 + lam ||a + b||_1. Spending a length of ||b||_1 on an
active coordinate, towards zero and up to |a_i|, lowers the linear terms at the rate
z_i = lam + sign(a_i) g_i; spending it on any coordinate, away from zero, at the rate |g_i| - lam,
of which the largest is z_min. So the best rates are spent first, for as long as they exceed L times
the length spent.
"""

from __future__ import annotations

import numpy as np

from greedyexp.kernels._compile import kernel


@kernel
def propose(coef, grad, lam, smoothness, held, count, largest, rate, features, values):
    """Write the coordinates that the step moves, and where to; their number.

    Parameters
    ----------
    coef, grad : arrays (p,)
        a and g.
    lam, smoothness : float
        lam >= 0 and L > 0.
    held : int array
        Features with nonzero coefficients, the first ``count`` entries.
    largest : int
        The feature with the largest |g_i|.
    rate : array (p,)
        Scratch.
    features, values : arrays (p + 1,)
        The answer. A feature may come twice, removed first; the later value stands.
    """
    outward = max(abs(grad[largest]) - lam, 0.0)
    for t in range(count):
        i = held[t]
        inward = lam + grad[i] if coef[i] > 0.0 else lam - grad[i]
        rate[t] = inward if inward > outward else -1.0
    spent, moved, last = 0.0, 0, 0.0
    while True:
        best = _best(rate, held, count)
        if best < 0:
            break
        i = held[best]
        left = rate[best] / smoothness - spent
        if left <= 0.0:
            return moved
        features[moved] = i
        if left < abs(coef[i]):
            values[moved] = coef[i] - np.copysign(left, coef[i])
            return moved + 1
        values[moved] = 0.0
        rate[best] = -1.0
        spent += abs(coef[i])
        moved += 1
        if i == largest:
            last = coef[i]
    left = outward / smoothness - spent
    if left > 0.0:
        features[moved] = largest
        values[moved] = coef[largest] - last - np.copysign(left, grad[largest])
        moved += 1
    return moved


@kernel
def _best(rate, held, count):
    """Place of the largest rate >= 0, the lowest feature among equals, or -1.

    A step removes few coordinates, so looking again costs less than sorting.
    """
    best = -1
    for t in range(count):
        if rate[t] >= 0.0 and (
            best < 0 or rate[t] > rate[best] or (rate[t] == rate[best] and held[t] < held[best])
        ):
            best = t
    return best
