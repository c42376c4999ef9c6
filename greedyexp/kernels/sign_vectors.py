"""The largest value of a quadratic form over all sign vectors."""

from __future__ import annotations

import numpy as np

from greedyexp.kernels._compile import kernel

# Sums kept along the way are computed afresh after so many steps.
REFRESH = 4096


@kernel
def largest_form(C):
    """max v^T C v over v in {-1, 1}^p in the order of a Gray code, one flip after the other.

    Parameters
    ----------
    C : array (p, p)
        Symmetric; v and -v are the same, so that the last sign stays.

    Returns
    -------
    best : array (p,)
        The first sign vector with the largest value.
    value : float
        Within about REFRESH p eps sum |C_ij| of the maximum.
    """
    p = len(C)
    v = np.ones(p)
    w = C @ v
    value = v @ w
    best, most = v.copy(), value
    for step in range(1, 2 ** (p - 1)):
        # The place of the lowest bit of step is the sign that the Gray code flips.
        i, rest = 0, step
        while rest % 2 == 0:
            rest //= 2
            i += 1
        value += 4.0 * (C[i, i] - v[i] * w[i])
        for j in range(p):
            w[j] -= 2.0 * v[i] * C[j, i]
        v[i] = -v[i]
        if step % REFRESH == 0:
            w = C @ v
            value = v @ w
        if value > most:
            most = value
            best[:] = v
    return best, most
