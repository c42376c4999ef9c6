"""Constants of a risk that the theorems on accuracy and sparsity speak of.

R(w) = E[L(<w, x>, y)] + ridge / 2 ||w||^2. The papers have features in [-1, 1] and no ridge; with
M = max(1, max |x_j|) and a ridge their proofs hold for the constants below.
"""

from __future__ import annotations

import math

from greedyexp.losses.loss import Loss


def smoothness_of_risk(loss: Loss) -> float:
    """beta of R: beta M^2 + ridge with beta of L, infinite where L has none.

    It serves all theorems, since their proofs use the smoothness of L in two ways only.

    1. Between two points (Lemma 9; Theorems 2 to 5): with
       R(w + u) - R(w) - <grad R(w), u> <= beta / 2 E<u, x>^2 + ridge / 2 ||u||_2^2,
       |<u, x>| <= M ||u||_1 and ||u||_2 <= ||u||_1 the right side is at most
       (beta M^2 + ridge) / 2 ||u||_1^2. Theorems 3 to 5 move along one coordinate, where the norms
       of u are equal.
    2. In the mean over draws (Lemma 3; Theorem 1): w = B / k sum_i sign_i e_(r_i) with B the l1
       norm of w* and independent r_i has mean w*, so the linear term is zero in the mean. The
       variance of <w, x> is at most B^2 M^2 / k, and E||w - w*||_2^2 is
       B^2 (1 - ||w*||_2^2 / B^2) / k, so that E[R(w) - R(w*)] <= (beta M^2 + ridge) B^2 / (2 k).

    Features that are all smaller than one leave M = 1, the constant of the papers; smaller ones
    would do.

    References
    ----------
    Shalev-Shwartz, Srebro & Zhang (2009), Definition 2, Lemmas 3 and 9, Remark 1.
    """
    return float(loss.beta) * largest_of(loss) ** 2 + float(loss.ridge)


def lipschitz_of_risk(loss: Loss) -> float:
    """rho of R without its ridge: rho M with rho of L, infinite where L has none.

    |R(w) - R(v)| <= rho M ||w - v||_1 for the mean of L. A ridge has no such constant; theorems on
    Lipschitz losses take it on its own.

    References
    ----------
    Shalev-Shwartz, Srebro & Zhang (2009), Definition 1, Lemma 4.
    """
    return float(loss.rho) * largest_of(loss)


def largest_of(loss: Loss) -> float:
    """M = max(1, max |x_j|)."""
    return max(1.0, float(loss.largest_feature))


def l1_norm_bound(n_features: int, drop: float, lam: float) -> float:
    """What ||wbar||_1 is at most, for wbar the minimiser of R over a support.

    sqrt(2 n drop / lam): strong convexity between 0 and wbar, where <grad R(wbar), wbar> = 0, gives
    drop >= lam / 2 ||wbar||_2^2, and ||wbar||_1^2 <= n ||wbar||_2^2. It holds for any wbar with
    <grad R(wbar), wbar> <= 0, so also for the minimiser over an l1 ball.

    Parameters
    ----------
    n_features : int >= 0
        ||wbar||_0.
    drop : float >= 0
        R(0) - R(wbar).
    lam : float > 0
        Of strong convexity over the support.

    Raises
    ------
    ValueError
        When a value is out of its range.

    References
    ----------
    Shalev-Shwartz, Srebro & Zhang (2009), Lemma 1.
    """
    if n_features < 0 or not drop >= 0.0:
        raise ValueError("Lemma 1 needs a number of features and a drop of the risk >= 0.")
    if not lam > 0.0:
        raise ValueError("Lemma 1 needs strong convexity: lam > 0.")
    return math.sqrt(2.0 * n_features * drop / lam)
