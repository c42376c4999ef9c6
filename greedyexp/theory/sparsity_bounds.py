"""Bounds on sparse predictors: the excess risk after k steps, and the steps for an accuracy.

Theorems 1 to 5 of Shalev-Shwartz, Srebro & Zhang (2009), "Trading accuracy for sparsity". The risk
is R(w) = E[L(<w, x>, y)] + ridge / 2 ||w||^2, its smoothness is beta (``smoothness_of_risk``), wbar
is a reference, and the excess is R(w_k) - R(wbar). ``steps`` has the printed constants, ``excess``
the sharper forms that the proofs give.

The induction of Lemma 10 may start at its first line, e_1 <= 1 / (4 r). Then
e_k <= 1 / (r (k + 3)) for k >= 1, since (m - 1) (m + 1) <= m^2 with m = k + 3; equation 22 has
k + 1.
"""

from __future__ import annotations

import numpy as np

from greedyexp.losses.loss import Loss
from greedyexp.theory.theorems import (
    RiskBound,
    check_nonnegative,
    check_positive,
    check_reading,
    excess_form,
    no_bound,
    steps_form,
    theorem,
)

_NO_CONVEXITY = "it needs strong convexity, but R has none on the supports met; a ridge gives it"


def smoothness_of_risk(loss: Loss) -> float:
    """Return beta of R: beta M^2 + ridge with beta of L, infinite if L is not smooth.

    The papers have features in [-1, 1] and no ridge; here M = max(1, max |x_j|). One constant
    serves all theorems, since their proofs use the smoothness of L in two ways only.

    1. Between two points (Lemma 9; Theorems 2 to 5): with
       R(w + u) - R(w) - <grad R(w), u> <= beta / 2 E<u, x>^2 + ridge / 2 ||u||_2^2,
       |<u, x>| <= M ||u||_1 and ||u||_2 <= ||u||_1 the right side is at most
       (beta M^2 + ridge) / 2 ||u||_1^2. Theorems 3 to 5 move along one coordinate, where the norms
       of u are equal.
    2. On average over draws (Lemma 3; Theorem 1): w = B / k sum_i sign_i e_(r_i) with B the l1
       norm of w* and independent r_i has mean w*, so the linear term has mean zero. The
       variance of <w, x> is at most B^2 M^2 / k, and E||w - w*||_2^2 is
       B^2 (1 - ||w*||_2^2 / B^2) / k. Hence E[R(w) - R(w*)] <= (beta M^2 + ridge) B^2 / (2 k).

    References
    ----------
    Shalev-Shwartz, Srebro & Zhang (2009), Definition 2, Lemmas 3 and 9, Remark 1.
    """
    return float(loss.beta) * _largest_feature(loss) ** 2 + float(loss.ridge)


def lipschitz_of_risk(loss: Loss) -> float:
    """Return rho of R without its ridge: rho M with rho of L, infinite if L is not Lipschitz.

    |R(w) - R(v)| <= rho M ||w - v||_1 for the mean of L. A ridge is not Lipschitz; theorems on
    Lipschitz losses treat it separately.

    References
    ----------
    Shalev-Shwartz, Srebro & Zhang (2009), Definition 1, Lemma 4.
    """
    return float(loss.rho) * _largest_feature(loss)


def _largest_feature(loss: Loss) -> float:
    """Return M = max(1, max |x_j|)."""
    return max(1.0, float(loss.largest_feature))


@theorem("T1", "Theorem 1", order=10, holds="in_expectation")
def theorem1_smooth(beta: float, l1_norm: float) -> RiskBound:
    """Bound randomized sparsification, smooth loss: E[R(w_k) - R(w*)] <= beta ||w*||_1^2 / (2 k).

    With probability 1/2 the excess is at most epsilon for k >= beta ||w*||_1^2 / epsilon. This
    requires that w* minimises R over the l1 ball on whose boundary it lies: Markov's inequality
    needs an excess that is not negative. The report states it for any w*, which is false. The bound
    on the expectation holds for any w*.

    Parameters
    ----------
    beta : float > 0
    l1_norm : float > 0
        ||w*||_1.

    Raises
    ------
    ValueError
        If a value is out of range.

    References
    ----------
    Theorem 1 and Lemma 3.
    """
    check_positive(beta=beta, l1_norm=l1_norm)
    size = beta * l1_norm**2
    return RiskBound(
        "T1",
        {"beta": beta, "l1_norm": l1_norm},
        excess_form(lambda k: size / (2.0 * k)),
        steps_form(lambda epsilon: size / epsilon),
    )


@theorem("T1-lipschitz", "Theorem 1, Lipschitz (as proved)", order=11, holds="in_expectation")
@theorem(
    "T1-lipschitz-printed",
    "Theorem 1, Lipschitz (as printed)",
    order=12,
    holds="in_expectation",
)
def theorem1_lipschitz(
    rho: float, l1_norm: float, *, ridge: float = 0.0, reading: str = "derived"
) -> RiskBound:
    """Bound randomized sparsification, Lipschitz loss: E[R(w_k) - R(w*)] <= rho ||w*||_1 / sqrt(k).

    With a ridge, ridge ||w*||_1^2 / (2 k) is added. With probability 1/2 the excess is at most
    epsilon

    * ``derived``: for k >= 4 rho^2 ||w*||_1^2 / epsilon^2 (no ridge), by the printed proof,
      Markov's inequality on Lemma 4, for w* as in ``theorem1_smooth``;
    * ``printed``: for k >= 2 rho^2 ||w*||_1^2 / epsilon^2. The printed proof does not give this,
      but it is true for any w*: the excess is at most rho Y with Y^2 = E_x <w - w*, x>^2, the proof
      of Lemma 3 has E_r Y^2 <= ||w*||_1^2 / k, and Markov's inequality applies to Y^2.

    Parameters
    ----------
    rho : float > 0
        ``lipschitz_of_risk``.
    l1_norm : float > 0
        ||w*||_1.
    ridge : float >= 0
        Must be zero for ``printed``.
    reading : {"derived", "printed"}

    Raises
    ------
    ValueError
        If a value is out of range.

    References
    ----------
    Theorem 1 and Lemma 4.
    """
    check_positive(rho=rho, l1_norm=l1_norm)
    check_reading(reading, ("derived", "printed"))
    check_nonnegative(ridge=ridge)
    printed = reading == "printed"
    if printed and ridge > 0.0:
        raise ValueError("the printed form of Theorem 1 for Lipschitz losses has no ridge.")
    slow, fast = rho * l1_norm, ridge * l1_norm**2 / 2.0

    def needed(epsilon: np.ndarray) -> np.ndarray:
        if printed:
            return 2.0 * (slow / epsilon) ** 2
        # The root of 2 (slow s + fast s^2) = epsilon with s = 1 / sqrt(k).
        return ((slow + np.sqrt(slow**2 + 2.0 * fast * epsilon)) / epsilon) ** 2

    return RiskBound(
        "T1-lipschitz-printed" if printed else "T1-lipschitz",
        {"rho": rho, "l1_norm": l1_norm, "ridge": ridge},
        excess_form(lambda k: slow / np.sqrt(k) + fast / k),
        steps_form(needed),
    )


@theorem("T2", "Theorem 2", order=20)
@theorem("T2-termination", "Theorem 2, until it ends", order=21)
def theorem2(beta: float, radius: float, *, counts: str = "excess") -> RiskBound:
    """Bound forward greedy selection over the l1 ball: excess <= 8 beta B1^2 / (k + 3) for k >= 1.

    It holds for any wbar with ||wbar||_1 <= B1. ``steps`` counts

    * ``excess``: k until the excess is at most epsilon, 8 beta B1^2 / epsilon;
    * ``termination``: k until the duality gap is at most epsilon and the algorithm ends,
      16 beta B1^2 / epsilon. The report prints 8 for both, but proves it for the excess only.

    Proof for the gap, with A = 8 beta B1^2: a step from a gap g <= A / 2 lowers R by at least
    g^2 / A (equation 8), and g <= A / 2 after the first step. If all gaps exceed epsilon from step
    s >= 1 up to K - 1, then (K - s) epsilon^2 / A < A / (s + 3). With
    s = max(ceil(A / epsilon) - 3, 1) it follows that K <= 2 A / epsilon.

    Parameters
    ----------
    beta : float > 0
    radius : float > 0
        B1.
    counts : {"excess", "termination"}

    Raises
    ------
    ValueError
        If a value is out of range.

    References
    ----------
    Theorem 2; Lemmas 5, 6 and 10.
    """
    check_positive(beta=beta, radius=radius)
    check_reading(counts, ("excess", "termination"))
    size = 8.0 * beta * radius**2
    ends = counts == "termination"
    return RiskBound(
        "T2-termination" if ends else "T2",
        {"beta": beta, "radius": radius},
        excess_form(lambda k: size / (k + 3.0)),
        steps_form(lambda epsilon: (2.0 if ends else 1.0) * size / epsilon),
    )


@theorem("T3", "Theorem 3", order=30)
def theorem3(beta: float, l1_norm: float) -> RiskBound:
    """Bound fully corrective selection: excess <= 2 beta ||wbar||_1^2 / (k + 3) for k >= 1.

    It holds for any wbar. The report has k >= 2 beta ||wbar||_1^2 / epsilon.

    Parameters
    ----------
    beta : float > 0
    l1_norm : float >= 0
        ||wbar||_1.

    Raises
    ------
    ValueError
        If a value is out of range.

    References
    ----------
    Theorem 3; Lemmas 7 and 10.
    """
    check_positive(beta=beta)
    check_nonnegative(l1_norm=l1_norm)
    size = 2.0 * beta * l1_norm**2
    return RiskBound(
        "T3",
        {"beta": beta, "l1_norm": l1_norm},
        # If wbar is zero, R(w_0) = R(wbar).
        excess_form(lambda k: size / (k + 3.0), start=1 if l1_norm else 0),
        steps_form(lambda epsilon: size / epsilon),
    )


@theorem("T4", "Theorem 4", order=40)
def theorem4(
    beta: float, lam: float, n_features: int, span: float, *, most_steps: float = np.inf
) -> RiskBound:
    """Bound fully corrective selection, strong convexity: excess <= span (1 - lam / (beta n))^k.

    n = ||wbar||_0, and lam is the strong convexity of R between each w_k and wbar, which
    (k + n, lam)-sparse strong convexity implies. The report has
    k >= n beta / lam log(span / epsilon).

    Parameters
    ----------
    beta : float > 0
    lam : float >= 0
        The bound is infinite if lam is zero.
    n_features : int >= 0
        n.
    span : float
        R(0) - R(wbar).
    most_steps : float >= 0
        The last k for which lam is known to hold. Later the bound stays constant, since the risk
        never increases.

    Raises
    ------
    ValueError
        If a value is out of range.

    References
    ----------
    Theorem 4; Lemma 7 and Section A.6, whose last line lacks lambda.
    """
    _check_strong(beta, lam, n_features, span)
    least = max(span, 0.0)
    # With a single feature lam may equal beta, or exceed it by rounding.
    rate = min(lam / (beta * n_features), 1.0) if n_features else 1.0

    def excess(k: np.ndarray) -> np.ndarray:
        return least * (1.0 - rate) ** np.minimum(k, most_steps)

    def needed(epsilon: np.ndarray) -> np.ndarray:
        k = np.ceil(np.log(np.maximum(least / epsilon, 1.0)) / rate)
        return np.where(k <= most_steps, k, np.inf)

    return RiskBound(
        "T4",
        {"beta": beta, "lam": lam, "n_features": n_features, "span": span},
        excess_form(excess if lam > 0.0 else no_bound, start=0),
        steps_form(needed if lam > 0.0 else no_bound),
        unmet=_NO_CONVEXITY,
    )


@theorem("T5", "Theorem 5", order=50)
def theorem5(
    beta: float,
    lam: float,
    n_features: int,
    *,
    features: int,
    first_gap: float,
    span: float,
) -> RiskBound:
    """Bound replacement steps: excess <= first_gap (1 - alpha)^t.

    alpha = 2 beta / (lam (k + 1 - n)), n = ||wbar||_0, and t counts replacements. The report has
    t >= lam (k + 1 - n) / (2 beta) log(span / epsilon) for k + 1 >= n (1 + 4 beta^2 / lam^2), with
    lam of (k + 1 + n, lam)-sparse strong convexity. If the procedure ends earlier by itself, the
    excess is not positive. The proof covers selection by the objective or by the gradient, with the
    refit. Nothing is proved for the simple variant.

    The comparison point wtilde (Lemma 8) minimises R over F and S = supp(wbar), but it is compared
    with w', which may also have the new feature r. If the minimisation includes r, the lemma
    follows whenever r or a feature of F is in S. Otherwise the same condition on k is sufficient.
    Let D = R(w) - R(w'), delta the decrease of R by the replacement, g = max_j |grad_j R(w)|,
    x = lam ||w|| / g, e = 2 lam D / g^2 and u = beta / (lam (k + 1 - n)). Strong convexity gives
    ||w'|| <= ||w|| + sqrt(2 D / lam) and 2 lam (R(w) - R(wbar)) <= g^2 (n - x^2), smoothness
    delta >= D - beta / 2 ||w'||^2 / (k + 1), and both lam / beta <= e <= 1. So
    delta >= alpha (R(w) - R(wbar)) follows from e >= u ((x + sqrt(e))^2 + 2 (n - x^2)). The right
    side is at most 2 u (e + n), and with u <= lam / (4 beta n), which is the condition on k, at
    most (e / n + 1) lam / (2 beta) <= e.

    Parameters
    ----------
    beta : float > 0
    lam : float >= 0
    n_features : int >= 0
        n.
    features : int >= 1
        k, the size of the support. The bound is infinite if it is too small.
    first_gap, span : float
        R(w^(0)) - R(wbar) before the first replacement, and R(0) - R(wbar). Up to rounding,
        first_gap <= span.

    Raises
    ------
    ValueError
        If a value is out of range.

    References
    ----------
    Theorem 5 and Lemma 8.
    """
    _check_strong(beta, lam, n_features, span)
    if features < 1 or np.isnan(first_gap):
        raise ValueError("Theorem 5 needs a feature, and first_gap to be a number.")
    least = max(span, 0.0)
    first = min(max(first_gap, 0.0), least)
    room = features + 1 - n_features
    given = lam > 0.0 and room * lam**2 >= 4.0 * n_features * beta**2
    # alpha may exceed one only if wbar has no features; then there is no gap to close.
    alpha = min(2.0 * beta / (lam * room), 1.0) if given else 0.0

    def needed(epsilon: np.ndarray) -> np.ndarray:
        return np.log(np.maximum(least / epsilon, 1.0)) / alpha

    unmet = _NO_CONVEXITY
    if lam > 0.0:
        unmet = (
            f"it needs more than {features:g} features for a reference of {n_features:g} where the"
            f" smoothness is {beta / lam:.3g} times the strong convexity; a larger ridge brings"
            " them closer"
        )
    return RiskBound(
        "T5",
        {
            "beta": beta,
            "lam": lam,
            "n_features": n_features,
            "features": features,
            "first_gap": first_gap,
            "span": span,
        },
        excess_form((lambda t: first * (1.0 - alpha) ** t) if given else no_bound, start=0),
        steps_form(needed if given else no_bound),
        unmet=unmet,
    )


def _check_strong(beta: float, lam: float, n_features: int, span: float) -> None:
    check_positive(beta=beta)
    if not lam >= 0.0 or n_features < 0 or np.isnan(span):
        raise ValueError("lam and n_features must be >= 0, and span a number.")
