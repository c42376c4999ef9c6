"""Where theory places the phase transition of each method, in units of theta.

Two tasks, Gaussian designs with identity covariance, s nonzeros per task of which a fraction kappa
is shared, theta = n / (s log(p - (2 - kappa) s)). These are asymptotic statements (p, s, n to
infinity); finite problems cross 50% success nearby, not on the line. Those that reward shared rows
further need shared coefficients of nearly one size in both tasks: uneven ones move the transition
of the l1/linf group lasso far to the right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Threshold:
    """A predicted transition.

    Parameters
    ----------
    theta : callable
        kappa in [0, 1] to the predicted theta.
    proved : bool
        False for a conjecture.
    even_values : bool
        Whether it is stated for shared coefficients of one size only.
    """

    theta: Callable[[float], float]
    proved: bool = True
    even_values: bool = False


TWO_TASKS = {
    # Wainwright (2009).
    "lasso": Threshold(lambda kappa: 2.0),
    # Negahban & Wainwright (2008).
    "group_lasso": Threshold(lambda kappa: 4.0 - 3.0 * kappa, even_values=True),
    # Jalali, Ravikumar, Sanghavi & Ruan (2010).
    "dirty_lasso": Threshold(lambda kappa: 2.0 - kappa, even_values=True),
    # Jalali & Sanghavi (2012), Conjecture 1.
    "greedy_dirty": Threshold(lambda kappa: 1.0 - kappa / 2.0, proved=False),
}
