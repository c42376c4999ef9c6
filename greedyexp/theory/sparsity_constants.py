"""Constants of a risk that the theorems on accuracy and sparsity speak of.

R(w) = E[L(<w, x>, y)] + ridge / 2 ||w||^2. The papers have features in [-1, 1] and no ridge; with
M = max(1, max |x_j|) and a ridge their proofs hold for the constants below.
"""

from __future__ import annotations

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
