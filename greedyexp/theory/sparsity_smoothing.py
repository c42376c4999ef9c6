"""Bounds on forward greedy selection for Lipschitz losses, which it smooths.

A rho-Lipschitz loss L is replaced by the beta-smooth Ls(a) = inf_v beta / 2 v^2 + L(a - v), with
0 <= L - Ls <= rho^2 / (2 beta), and the risk of Ls is minimised. beta is that of the 2009
report. The 2008 report writes v^2 / (2 beta), so its beta is the inverse of this one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greedyexp.theory.theorems import (
    RiskBound,
    check_nonnegative,
    check_positive,
    check_reading,
    excess_form,
    steps_form,
    theorem,
)


@dataclass(frozen=True)
class Reading:
    """The smoothing and the accuracy of the minimisation for a total accuracy epsilon.

    Parameters
    ----------
    sharpness : float
        beta / (rho^2 / epsilon).
    share : float
        Accuracy of the smoothed risk, or its gap, divided by epsilon.
    """

    sharpness: float
    share: float


# Corollary 2 as proved and as printed; Figure 2 of the 2008 report.
READINGS = {
    "corrected": Reading(1.0, 0.5),
    "2009": Reading(1.0, 1.0),
    "2008": Reading(2.0, 0.5),
}


def smoothing_error(rho: float, beta: float) -> float:
    """Bound L - Ls: rho^2 / (2 beta).

    The absolute and the hinge loss attain it, at |a - y| >= 1 / beta and 1 - y a >= 1 / beta.

    Parameters
    ----------
    rho, beta : float > 0

    Raises
    ------
    ValueError
        If a value is out of range.

    References
    ----------
    Shalev-Shwartz, Srebro & Zhang (2009), Lemma 2; Shalev-Shwartz & Srebro (2008), Lemma 3.
    """
    check_positive(rho=rho, beta=beta)
    return rho**2 / (2.0 * beta)


def certified_error(rho: float, beta: float) -> float:
    """Return e = rho^2 / (4 beta) with R(w) - R(u) <= e + gap of the smoothed risk at w.

    It is half of ``smoothing_error`` and holds for every u of the l1 ball. Let v be the minimiser
    in Ls(a) and g = beta v. Then g is the derivative of Ls at a and a subgradient of L at
    a - v. Hence L(b) >= L(a - v) + g v + g (b - a) for all b, and
    L(a) - L(b) <= g (a - b) + rho |v| - beta v^2 <= g (a - b) + rho^2 / (4 beta). In the mean the
    first term is <grad Rs(w), w - u>, at most the gap. Convex terms such as a ridge do not matter.

    Parameters
    ----------
    rho, beta : float > 0

    Raises
    ------
    ValueError
        If a value is out of range.
    """
    return smoothing_error(rho, beta) / 2.0


@theorem("C2", "Corollary 2 (as proved)", order=22)
@theorem("C2-printed", "Corollary 2 (as printed)", order=23)
def corollary2(
    rho: float,
    radius: float,
    *,
    ridge: float = 0.0,
    epsilon: float | None = None,
    reading: str = "corrected",
) -> RiskBound:
    """Bound forward greedy selection on a risk smoothed with beta = rho^2 / epsilon.

    The bound is on the excess of the risk before smoothing.

    * ``corrected``: smoothing costs epsilon / 2, so the smoothed risk is minimised to epsilon / 2:
      k >= 16 rho^2 B1^2 / epsilon^2.
    * ``printed``: it is minimised to epsilon, k >= 8 rho^2 B1^2 / epsilon^2, and the total error is
      claimed to be epsilon too, which is false. When the algorithm stops, the excess is at most
      5/4 epsilon (``certified_error``). This is tight: with one feature and the absolute loss, let
      <w, x> reach y = epsilon / 2 at w = B1 in a share p of the rows, and move a distance of
      (1 - p / 4) epsilon / (1 - p) towards a far y in the others. The gap at 0 is epsilon, and the
      excess (1 + p / 4) epsilon.

    A ridge adds to the smoothness: rho^2 / epsilon + ridge in place of rho^2 / epsilon.

    Parameters
    ----------
    rho : float > 0
        ``lipschitz_of_risk``, rho M. The loss itself is smoothed with beta = rho^2 / epsilon; its
        risk is then (rho M)^2 / epsilon smooth.
    radius : float > 0
        B1.
    ridge : float >= 0
    epsilon : float > 0, optional
        The accuracy that sets the smoothing of a run. ``excess`` is then the proved bound for this
        run, for either reading: 8 (rho^2 / epsilon + ridge) B1^2 / (k + 3) + epsilon / 2. By
        default the bound at k is the epsilon for which ``steps`` is k.
    reading : {"corrected", "printed"}

    Raises
    ------
    ValueError
        If a value is out of range.

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


@theorem("S08-T2", "Theorem 2 (2008)", order=25)
def theorem2_2008(
    rho: float, radius: float, *, ridge: float = 0.0, epsilon: float | None = None
) -> RiskBound:
    """Bound forward greedy selection on a smoothed risk: k >= 32 rho^2 B^2 / epsilon^2.

    The report gives only the order. With its beta = epsilon / (2 rho^2), here 2 rho^2 / epsilon,
    and accuracy epsilon / 2 for the smoothed risk its Theorem 1 needs
    8 (2 rho^2 / epsilon) B^2 / (epsilon / 2) steps. The proof adds errors of epsilon / 4,
    epsilon / 2 and epsilon / 4. The last term is not positive, as smoothing only lowers a loss, so
    the excess is at most 3/4 epsilon.

    Parameters
    ----------
    rho, radius, ridge, epsilon : see ``corollary2``
        With epsilon, ``excess`` is 8 (2 rho^2 / epsilon + ridge) B^2 / (k + 3) + epsilon / 4.

    Raises
    ------
    ValueError
        If a value is out of range.

    References
    ----------
    Shalev-Shwartz & Srebro (2008), Theorem 2 and Figure 2.
    """
    return _smoothed("S08-T2", (rho, radius, ridge, epsilon), READINGS["2008"])


@theorem("S08-T1", "Theorem 1 (2008)", order=24)
def theorem1_2008(beta: float, radius: float) -> RiskBound:
    """Bound forward greedy selection over the l1 ball with the step count of the 2008 report.

    The steps are 1 + 8 beta B^2 / epsilon: the second phase of the proof, plus one step for the
    first phase, for which the report states O(1) (after a step with eta = 1 the excess is at most
    2 beta B^2). Definition 1 of the report has beta where its equation 3 and everything after it
    need the inverse.

    Parameters
    ----------
    beta : float > 0
        beta as defined in the 2009 report.
    radius : float > 0
        B.

    Raises
    ------
    ValueError
        If a value is out of range.

    References
    ----------
    Shalev-Shwartz & Srebro (2008), Theorem 1 and Lemma 9.
    """
    check_positive(beta=beta, radius=radius)
    size = 8.0 * beta * radius**2
    return RiskBound(
        "S08-T1",
        {"beta": beta, "radius": radius},
        # Iteration t = k + 1 of the report has made k steps.
        excess_form(lambda k: size / (k + 2.0)),
        steps_form(lambda epsilon: 1.0 + size / epsilon),
    )


def _smoothed(name: str, values: tuple, reading: Reading) -> RiskBound:
    """Return the bound of a reading; ``values`` are rho, radius, ridge and epsilon."""
    sharpness, share = reading.sharpness, reading.share
    rho, radius, ridge, fixed = values
    check_positive(rho=rho, radius=radius)
    check_nonnegative(ridge=ridge)
    constants = {"rho": rho, "radius": radius, "ridge": ridge}
    slow = 8.0 * sharpness / share * (rho * radius) ** 2
    fast = 8.0 / share * ridge * radius**2

    def excess_over_epsilons(k: np.ndarray) -> np.ndarray:
        # The epsilon at which slow / epsilon^2 + fast / epsilon = k.
        return (fast + np.sqrt(fast**2 + 4.0 * slow * k)) / (2.0 * k)

    def excess_at_epsilon(k: np.ndarray) -> np.ndarray:
        return share * (slow / fixed + fast) / (k + 3.0) + fixed / (2.0 * sharpness)

    if fixed is not None:
        check_positive(epsilon=fixed)
        constants["epsilon"] = fixed
    return RiskBound(
        name,
        constants,
        excess_form(excess_over_epsilons if fixed is None else excess_at_epsilon),
        steps_form(lambda epsilon: slow / epsilon**2 + fast / epsilon),
        original=True,
    )
