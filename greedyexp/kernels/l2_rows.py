"""The l2 norm as a row penalty: where it is optimal and how far from it, in Gram form.

For one row v of the coefficients (r tasks) the penalty is lam ||v||_2; its dual unit set is the
ball of radius lam.
"""

from __future__ import annotations

import numpy as np

from greedyexp.kernels._compile import kernel


@kernel
def row_norms(values):
    """Euclidean norm of each column of an array (r, p), which is a row of the coefficients."""
    r, p = values.shape
    norms = np.zeros(p)
    for j in range(r):
        own = values[j]
        for i in range(p):
            norms[i] += own[i] * own[i]
    for i in range(p):
        norms[i] = np.sqrt(norms[i])
    return norms


@kernel
def violation(coef, grad, lam):
    """Largest distance of a row of the gradient from the subdifferential, in units of lam.

    Parameters
    ----------
    coef, grad : arrays (r, p)
        Coefficients and X_j^T (y_j - X_j b_j) / n_j.
    """
    r, p = coef.shape
    sizes, slopes = row_norms(coef), row_norms(grad)
    worst = 0.0
    for i in range(p):
        if sizes[i] > 0.0:
            distance = 0.0
            for j in range(r):
                distance += (grad[j, i] / lam - coef[j, i] / sizes[i]) ** 2
            worst = max(worst, np.sqrt(distance))
        else:
            worst = max(worst, slopes[i] / lam - 1.0)
    return worst


@kernel
def l2_certificate(coef, grad, correlation, power, lam):
    """Objective and duality gap from the full gradient.

    With R = ||residual||^2 / n, the dual point t * residual / n is feasible for
    t <= lam / max_i ||grad_i|| and the gap is R (1 - t)^2 / 2 + sum over rows of
    (lam ||b_i|| - t <b_i, grad_i>): terms that are not negative, so that nothing of the size of
    the objective cancels.

    Parameters
    ----------
    coef, grad, correlation : arrays (r, p)
        Coefficients, X_j^T (y_j - X_j b_j) / n_j and X_j^T y_j / n_j.
    power : float
        sum_j ||y_j||^2 / n_j.

    Returns
    -------
    tuple of float
        Objective and an upper bound on its distance from the optimum.
    """
    r, p = coef.shape
    sizes = row_norms(coef)
    t = 1.0 / max(1.0, row_norms(grad).max() / lam)
    inner, fitted, penalty, slack = 0.0, 0.0, 0.0, 0.0
    for i in range(p):
        if sizes[i] == 0.0:
            continue
        own = 0.0
        for j in range(r):
            own += coef[j, i] * grad[j, i]
            fitted += coef[j, i] * correlation[j, i]
        inner += own
        penalty += lam * sizes[i]
        slack += max(lam * sizes[i] - t * own, 0.0)
    residual = max(power - fitted - inner, 0.0)
    return 0.5 * residual + penalty, 0.5 * residual * (1.0 - t) ** 2 + slack
