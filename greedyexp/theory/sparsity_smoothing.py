"""Bounds for Lipschitz losses, which forward greedy selection meets by smoothing.

A rho-Lipschitz loss L is replaced by the beta-smooth Ls(a) = inf_v beta / 2 v^2 + L(a - v), with
0 <= L - Ls <= rho^2 / (2 beta), and the risk of Ls is minimised. beta is that of the 2009 report;
the 2008 report writes the same with v^2 / (2 beta), so its beta is the inverse of this one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greedyexp.theory.promise import Promise
from greedyexp.theory.sparsity_forms import check_positive, check_reading, excess_of, steps_of

CONVENTIONS = ("2009", "2008")


@dataclass(frozen=True)
class Reading:
    """What an accuracy in all means for the smoothing and for the steps.

    Parameters
    ----------
    sharpness : float
        beta is this times rho^2 / epsilon.
    share : float
        What the smoothed risk, or its gap, is to reach is this times epsilon.
    """

    sharpness: float
    share: float


# Corollary 2 as it is proved and as it is printed; Figure 2 of the 2008 report.
READINGS = {
    "corrected": Reading(1.0, 0.5),
    "2009": Reading(1.0, 1.0),
    "2008": Reading(2.0, 0.5),
}


def smoothing_error(rho: float, beta: float, *, convention: str = "2009") -> float:
    """What Ls is below L at most: rho^2 / (2 beta), or beta rho^2 / 2 in the convention of 2008.

    The absolute and the hinge loss reach it, at |a - y| >= 1 / beta and 1 - y a >= 1 / beta.

    Parameters
    ----------
    rho, beta : float > 0
    convention : {"2009", "2008"}
        Whose beta it is.

    Raises
    ------
    ValueError
        When a value is out of its range.

    References
    ----------
    Shalev-Shwartz, Srebro & Zhang (2009), Lemma 2; Shalev-Shwartz & Srebro (2008), Lemma 3.
    """
    check_positive(rho=rho, beta=beta)
    check_reading(convention, CONVENTIONS)
    return rho**2 / (2.0 * beta) if convention == "2009" else beta * rho**2 / 2.0


def certified_error(rho: float, beta: float) -> float:
    """rho^2 / (4 beta): R(w) - R(u) <= gap + this, the gap being the one of the smoothed risk at w.

    Half of what adding ``smoothing_error`` to the gap gives, for every u of the l1 ball. Let v
    minimise in Ls(a) and g = beta v. Then g is the derivative of Ls at a, and a subgradient of L at
    a - v, so that L(b) >= L(a - v) + g v + g (b - a) for all b, and
    L(a) - L(b) <= g (a - b) + rho |v| - beta v^2 <= g (a - b) + rho^2 / (4 beta). In the mean the
    first term is <grad Rs(w), w - u>, at most the gap. Convex terms such as a ridge change nothing.

    Parameters
    ----------
    rho, beta : float > 0

    Raises
    ------
    ValueError
        When a value is out of its range.
    """
    return smoothing_error(rho, beta) / 2.0


def corollary2(
    rho: float,
    radius: float,
    *,
    ridge: float = 0.0,
    epsilon: float | None = None,
    reading: str = "corrected",
) -> Promise:
    """Forward greedy selection on a risk smoothed with beta = rho^2 / epsilon, excess before it.

    * ``corrected``: smoothing costs epsilon / 2, so the smoothed risk is minimised to epsilon / 2:
      k >= 16 rho^2 B1^2 / epsilon^2.
    * ``printed``: it is minimised to epsilon, k >= 8 rho^2 B1^2 / epsilon^2, and the total is said
      to be epsilon too, which is false. When the algorithm stops the excess is at most 5/4 epsilon
      (``certified_error``), and no less can be said: with one feature and the absolute loss, let
      <w, x> reach y = epsilon / 2 at w = B1 in a share p of the rows, and go a length
      (1 - p / 4) epsilon / (1 - p) towards a far y in the others. The gap at 0 is epsilon, and the
      excess (1 + p / 4) epsilon.

    A ridge adds to the smoothness: rho^2 / epsilon + ridge in place of rho^2 / epsilon.

    Parameters
    ----------
    rho : float > 0
        ``lipschitz_of_risk``, rho M. The loss itself is smoothed with beta = rho^2 / epsilon, which
        leaves its risk (rho M)^2 / epsilon smooth.
    radius : float > 0
        B1.
    ridge : float >= 0
    epsilon : float > 0, optional
        The accuracy a run smooths for. ``excess`` is then that of this run (proven, whatever the
        reading): 8 (rho^2 / epsilon + ridge) B1^2 / (k + 3) + epsilon / 2. Without it each k has
        the epsilon whose ``steps`` are k.
    reading : {"corrected", "printed"}

    Raises
    ------
    ValueError
        When a value is out of its range.

    References
    ----------
    Shalev-Shwartz, Srebro & Zhang (2009), Corollary 2; Theorem 2 and Lemma 2.
    """
    check_reading(reading, ("corrected", "printed"))
    corrected = reading == "corrected"
    return _smoothed(
        "C2" if corrected else "C2-printed",
        (rho, radius, ridge, epsilon),
        READINGS["corrected" if corrected else "2009"],
    )


def theorem2_2008(
    rho: float, radius: float, *, ridge: float = 0.0, epsilon: float | None = None
) -> Promise:
    """Forward greedy selection on a smoothed risk: k >= 32 rho^2 B^2 / epsilon^2.

    The report gives the order only. With its beta = epsilon / (2 rho^2), here 2 rho^2 / epsilon,
    and accuracy epsilon / 2 for the smoothed risk its Theorem 1 needs
    8 (2 rho^2 / epsilon) B^2 / (epsilon / 2) steps. The proof spends epsilon / 4 + epsilon / 2 +
    epsilon / 4; the last term is not positive, as smoothing only lowers a loss, so the excess is
    at most 3/4 epsilon.

    Parameters
    ----------
    rho, radius, ridge, epsilon : see ``corollary2``
        With epsilon ``excess`` is 8 (2 rho^2 / epsilon + ridge) B^2 / (k + 3) + epsilon / 4.

    Raises
    ------
    ValueError
        When a value is out of its range.

    References
    ----------
    Shalev-Shwartz & Srebro (2008), Theorem 2 and Figure 2.
    """
    return _smoothed(
        "S08-T2",
        (rho, radius, ridge, epsilon),
        READINGS["2008"],
    )


def theorem1_2008(beta: float, radius: float, *, convention: str = "2009") -> Promise:
    """Forward greedy selection over the l1 ball, as the report of 2008 counts its steps.

    1 + 8 beta B^2 / epsilon, or 1 + 8 B^2 / (beta epsilon) in its own convention: the second phase
    of its proof. The first phase, said to take O(1) steps, takes one (after a step with eta = 1 the
    excess is at most 2 beta B^2), and is that 1. Definition 1 of the report has beta where its
    equation 3 and all that follows need the inverse.

    Parameters
    ----------
    beta : float > 0
    radius : float > 0
        B.
    convention : {"2009", "2008"}
        Whose beta it is.

    Raises
    ------
    ValueError
        When a value is out of its range.

    References
    ----------
    Shalev-Shwartz & Srebro (2008), Theorem 1 and Lemma 9.
    """
    check_positive(beta=beta, radius=radius)
    check_reading(convention, CONVENTIONS)
    size = 8.0 * (beta if convention == "2009" else 1.0 / beta) * radius**2
    return Promise(
        "S08-T1",
        {"beta": beta, "radius": radius},
        # Iteration t = k + 1 of the report has made k steps.
        excess_of(lambda k: size / (k + 2.0)),
        steps_of(lambda epsilon: 1.0 + size / epsilon),
    )


def _smoothed(name: str, values: tuple, reading: Reading) -> Promise:
    """The promise of a reading."""
    sharpness, share = reading.sharpness, reading.share
    rho, radius, ridge, fixed = values
    check_positive(rho=rho, radius=radius)
    if not ridge >= 0.0:
        raise ValueError(f"ridge must be >= 0, but is {ridge!r}.")
    constants = {"rho": rho, "radius": radius, "ridge": ridge}
    slow = 8.0 * sharpness / share * (rho * radius) ** 2
    fast = 8.0 / share * ridge * radius**2

    def of_any(k: np.ndarray) -> np.ndarray:
        # The epsilon at which slow / epsilon^2 + fast / epsilon = k.
        return (fast + np.sqrt(fast**2 + 4.0 * slow * k)) / (2.0 * k)

    def of_one(k: np.ndarray) -> np.ndarray:
        return share * (slow / fixed + fast) / (k + 3.0) + fixed / (2.0 * sharpness)

    if fixed is not None:
        check_positive(epsilon=fixed)
        constants["epsilon"] = fixed
    return Promise(
        name,
        constants,
        excess_of(of_any if fixed is None else of_one),
        steps_of(lambda epsilon: slow / epsilon**2 + fast / epsilon),
        original=True,
    )
