"""The exact mean excess of randomized sparsification for least squares."""

import numpy as np


def squared_excess(params, powers, product, ridge=0.0):
    """k E[R(w_k) - R(w*)] for the squared loss, the same for all k >= 1.

    With B = ||w*||_1 the prediction <w_k, x> is the mean of k independent B sign(w*_r) x_r, of mean
    <w*, x>, so that the linear term of R is zero in the mean and the quadratic one a variance:
    (B sum_j |w*_j| E[x_j^2] - E<w*, x>^2) / 2 + ridge / 2 (B^2 - ||w*||_2^2). At most B^2 / 2 for
    features in [-1, 1] and no ridge, which is Lemma 3. ``powers`` are E[x_j^2], ``product`` is
    E<w*, x>^2; w* need not minimise anything.
    """
    sizes = np.abs(params)
    norm = float(sizes.sum())
    variance = norm * float(sizes @ powers) - product
    return 0.5 * (variance + ridge * (norm**2 - float(params @ params)))
