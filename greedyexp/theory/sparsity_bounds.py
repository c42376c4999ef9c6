"""What is proved of sparse predictors: excess risk after k steps, and steps for an accuracy.

Theorems 1 to 5 of Shalev-Shwartz, Srebro & Zhang (2009), "Trading accuracy for sparsity". R is the
risk, beta its constant of smoothness (``smoothness_of_risk``), wbar a reference and the excess
R(w_k) - R(wbar). ``steps`` has the printed constants, ``excess`` the sharper forms that the proofs
give. An infinite bound promises nothing; ``why_nothing`` says why.

The induction of Lemma 10 may start at its first line, e_1 <= 1 / (4 r). Then
e_k <= 1 / (r (k + 3)) for k >= 1, since (m - 1) (m + 1) <= m^2 with m = k + 3; equation 22 has
k + 1.
"""

from __future__ import annotations

import numpy as np

from greedyexp.theory.promise import Promise
from greedyexp.theory.sparsity_forms import (
    check_positive,
    check_reading,
    excess_of,
    no_promise,
    steps_of,
)


def theorem1_smooth(beta: float, l1_norm: float) -> Promise:
    """Randomized sparsification of w*, smooth loss: E[R(w_k) - R(w*)] <= beta ||w*||_1^2 / (2 k).

    With probability 1/2 the excess is at most epsilon for k >= beta ||w*||_1^2 / epsilon. That
    needs w* to minimise R over the l1 ball on whose boundary it is (the excess is not negative
    then, as Markov's inequality asks); the report says it of any w*, for which it is false. The
    expectation holds for any w*.

    Parameters
    ----------
    beta : float > 0
    l1_norm : float > 0
        ||w*||_1.

    Raises
    ------
    ValueError
        When a value is out of its range.

    References
    ----------
    Theorem 1 and Lemma 3.
    """
    check_positive(beta=beta, l1_norm=l1_norm)
    size = beta * l1_norm**2
    return Promise(
        "T1",
        {"beta": beta, "l1_norm": l1_norm},
        excess_of(lambda k: size / (2.0 * k)),
        steps_of(lambda epsilon: size / epsilon),
        holds="in_expectation",
    )


def theorem1_lipschitz(
    rho: float, l1_norm: float, *, ridge: float = 0.0, reading: str = "derived"
) -> Promise:
    """Randomized sparsification, Lipschitz loss: E[R(w_k) - R(w*)] <= rho ||w*||_1 / sqrt(k).

    With a ridge, ridge ||w*||_1^2 / (2 k) is added. With probability 1/2 the excess is at most
    epsilon

    * ``derived``: for k >= 4 rho^2 ||w*||_1^2 / epsilon^2 (no ridge), by the printed proof,
      Markov's inequality on Lemma 4, for w* as in ``theorem1_smooth``;
    * ``printed``: for k >= 2 rho^2 ||w*||_1^2 / epsilon^2, which the printed proof does not give,
      but which is true, and of any w*: the excess is at most rho Y with Y^2 = E_x <w - w*, x>^2,
      the proof of Lemma 3 has E_r Y^2 <= ||w*||_1^2 / k, and Markov's inequality on Y^2 does it.

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
        When a value is out of its range.

    References
    ----------
    Theorem 1 and Lemma 4.
    """
    check_positive(rho=rho, l1_norm=l1_norm)
    check_reading(reading, ("derived", "printed"))
    if not ridge >= 0.0:
        raise ValueError(f"ridge must be >= 0, but is {ridge!r}.")
    printed = reading == "printed"
    if printed and ridge > 0.0:
        raise ValueError("the printed form of Theorem 1 for Lipschitz losses has no ridge.")
    slow, fast = rho * l1_norm, ridge * l1_norm**2 / 2.0

    def needed(epsilon: np.ndarray) -> np.ndarray:
        if printed:
            return 2.0 * (slow / epsilon) ** 2
        # The root of 2 (slow s + fast s^2) = epsilon with s = 1 / sqrt(k).
        return ((slow + np.sqrt(slow**2 + 2.0 * fast * epsilon)) / epsilon) ** 2

    return Promise(
        "T1-lipschitz-printed" if printed else "T1-lipschitz",
        {"rho": rho, "l1_norm": l1_norm, "ridge": ridge},
        excess_of(lambda k: slow / np.sqrt(k) + fast / k),
        steps_of(needed),
        holds="in_expectation",
    )


def theorem2(beta: float, radius: float, *, counts: str = "excess") -> Promise:
    """Forward greedy selection over the l1 ball: excess <= 8 beta B1^2 / (k + 3) for k >= 1.

    Of any wbar with ||wbar||_1 <= B1. ``steps`` counts

    * ``excess``: k until the excess is at most epsilon, 8 beta B1^2 / epsilon;
    * ``termination``: k until the duality gap is, so that the algorithm ends, at most
      16 beta B1^2 / epsilon. The report prints 8 for both, but shows it of the excess only.

    Proof for the gap, with A = 8 beta B1^2: a step from a gap g <= A / 2 lowers R by g^2 / A at
    least (equation 8), and from the first step on g <= A / 2. If all gaps exceed epsilon from step
    s >= 1 up to K - 1, then (K - s) epsilon^2 / A < A / (s + 3); s = ceil(A / epsilon) - 3, or 1
    where that is less, leaves K <= 2 A / epsilon.

    Parameters
    ----------
    beta : float > 0
    radius : float > 0
        B1.
    counts : {"excess", "termination"}

    Raises
    ------
    ValueError
        When a value is out of its range.

    References
    ----------
    Theorem 2; Lemmas 5, 6 and 10.
    """
    check_positive(beta=beta, radius=radius)
    check_reading(counts, ("excess", "termination"))
    size = 8.0 * beta * radius**2
    ends = counts == "termination"
    return Promise(
        "T2-termination" if ends else "T2",
        {"beta": beta, "radius": radius},
        excess_of(lambda k: size / (k + 3.0)),
        steps_of(lambda epsilon: (2.0 if ends else 1.0) * size / epsilon),
    )


def theorem3(beta: float, l1_norm: float) -> Promise:
    """Fully corrective selection: excess <= 2 beta ||wbar||_1^2 / (k + 3) for k >= 1 and any wbar.

    The report has k >= 2 beta ||wbar||_1^2 / epsilon.

    Parameters
    ----------
    beta : float > 0
    l1_norm : float >= 0
        ||wbar||_1.

    Raises
    ------
    ValueError
        When a value is out of its range.

    References
    ----------
    Theorem 3; Lemmas 7 and 10.
    """
    check_positive(beta=beta)
    if not l1_norm >= 0.0:
        raise ValueError(f"l1_norm must be >= 0, but is {l1_norm!r}.")
    size = 2.0 * beta * l1_norm**2
    return Promise(
        "T3",
        {"beta": beta, "l1_norm": l1_norm},
        # R(w_0) is R(wbar) where wbar is zero.
        excess_of(lambda k: size / (k + 3.0), start=1 if l1_norm else 0),
        steps_of(lambda epsilon: size / epsilon),
    )


def theorem4(
    beta: float, lam: float, n_features: int, span: float, *, most_steps: float = np.inf
) -> Promise:
    """Fully corrective selection, strong convexity: excess <= span (1 - lam / (beta n))^k.

    n = ||wbar||_0, and lam is that of R between each w_k and wbar, as (k + n, lam)-sparse strong
    convexity has it. The report has k >= n beta / lam log(span / epsilon).

    Parameters
    ----------
    beta : float > 0
    lam : float >= 0
        Nothing is promised where it is zero.
    n_features : int >= 0
        n.
    span : float
        R(0) - R(wbar).
    most_steps : float >= 0
        The last k that lam is known to serve. No promise goes beyond; but the risk never rises, so
        the excess stays below the bound reached there.

    Raises
    ------
    ValueError
        When a value is out of its range.

    References
    ----------
    Theorem 4; Lemma 7 and Section A.6, whose last line lacks lambda.
    """
    _check_strong(beta, lam, n_features, span)
    least = max(span, 0.0)
    # A single feature may have lam = beta, and rounding more.
    rate = min(lam / (beta * n_features), 1.0) if n_features else 1.0

    def excess(k: np.ndarray) -> np.ndarray:
        return least * (1.0 - rate) ** np.minimum(k, most_steps)

    def needed(epsilon: np.ndarray) -> np.ndarray:
        k = np.ceil(np.log(np.maximum(least / epsilon, 1.0)) / rate)
        return np.where(k <= most_steps, k, np.inf)

    return Promise(
        "T4",
        {"beta": beta, "lam": lam, "n_features": n_features, "span": span},
        excess_of(excess if lam > 0.0 else no_promise, start=0),
        steps_of(needed if lam > 0.0 else no_promise),
    )


def theorem5(
    beta: float,
    lam: float,
    n_features: int,
    *,
    features: int,
    first_gap: float,
    span: float,
) -> Promise:
    """Replacement steps: excess <= first_gap (1 - alpha)^t, alpha = 2 beta / (lam (k + 1 - n)).

    n = ||wbar||_0, and steps t are replacements. The report has
    t >= lam (k + 1 - n) / (2 beta) log(span / epsilon) where k + 1 >= n (1 + 4 beta^2 / lam^2), and
    lam of (k + 1 + n, lam)-sparse strong convexity. When the procedure ends by itself before, the
    excess is not positive. The proof serves selection by the objective or by the gradient, with the
    refit; nothing is proved of the simple variant.

    Its comparison point wtilde (Lemma 8) minimises R over F and S = supp(wbar), but is compared
    with w', which may have the new feature r beyond them. With the minimiser over r too the lemma
    follows wherever r or a feature of F is in S. Where neither is, the same condition on k does it.
    Let D = R(w) - R(w'), delta what the replacement lowers R by, g = max_j |grad_j R(w)|,
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
        k, the size of the support. Nothing is promised where it is too small.
    first_gap, span : float
        R(w^(0)) - R(wbar) before the first replacement, and R(0) - R(wbar), no less but for
        rounding.

    Raises
    ------
    ValueError
        When a value is out of its range.

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
    # Without a feature there is no gap to close, and alpha may exceed one.
    alpha = min(2.0 * beta / (lam * room), 1.0) if given else 0.0

    def needed(epsilon: np.ndarray) -> np.ndarray:
        return np.log(np.maximum(least / epsilon, 1.0)) / alpha

    return Promise(
        "T5",
        {
            "beta": beta,
            "lam": lam,
            "n_features": n_features,
            "features": features,
            "first_gap": first_gap,
            "span": span,
        },
        excess_of((lambda t: first * (1.0 - alpha) ** t) if given else no_promise, start=0),
        steps_of(needed if given else no_promise),
    )


def why_nothing(promise: Promise) -> str:
    """Why a promise is infinite at every step, a clause; empty when it is not."""
    if np.isfinite(promise.excess(np.array([1.0]))).all():
        return ""
    known = promise.constants
    if known.get("lam") == 0.0:
        return "it needs strong convexity, but R has none on the supports met; a ridge gives it"
    if "features" in known:
        return (
            f"it needs more than {known['features']:g} features for a reference of "
            f"{known['n_features']:g} where the smoothness is {known['beta'] / known['lam']:.3g}"
            " times the strong convexity; a larger ridge brings them closer"
        )
    return "it needs a loss with a finite constant"


def _check_strong(beta: float, lam: float, n_features: int, span: float) -> None:
    check_positive(beta=beta)
    if not lam >= 0.0 or n_features < 0 or np.isnan(span):
        raise ValueError("lam and n_features must be >= 0, and span a number.")
