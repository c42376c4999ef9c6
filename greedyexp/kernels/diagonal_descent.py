"""Gradient descent on least squares, in the basis of the singular vectors.

There the coordinates do not meet: with singular values s, rho = U^T (P a - y) and z = V^T a a step
of length 1 / L is z_j -= s_j rho_j / (n L), which multiplies rho_j by 1 - s_j^2 / (n L).
"""

from __future__ import annotations

from greedyexp.kernels._compile import kernel
from greedyexp.kernels.row_gradient import dot


@kernel
def descend(rho, shift, pull, keep, steps, least):
    """Make up to ``steps`` steps, none once ||rho||^2 is at or below ``least``; the steps made.

    Parameters
    ----------
    rho : array (m,)
        U^T (P a - y); brought up to date.
    shift : array (m,)
        V^T (a - start); brought up to date.
    pull : array (m,)
        s_j / (n L).
    keep : array (m,)
        1 - s_j^2 / (n L).
    steps : int
    least : float
    """
    for made in range(steps):
        if dot(rho, rho) <= least:
            return made
        for j in range(len(rho)):
            shift[j] -= pull[j] * rho[j]
            rho[j] *= keep[j]
    return steps
