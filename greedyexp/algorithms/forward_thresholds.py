"""The stopping threshold with which the theorems of forward-backward selection hold."""

from __future__ import annotations

import numpy as np

from greedyexp.algorithms.forward_backward import Pursuit, Stops
from greedyexp.algorithms.forward_judges import Gain, Judge, Slope
from greedyexp.algorithms.forward_settings import Model
from greedyexp.errors import ConfigError, DataError
from greedyexp.losses.binding import bind
from greedyexp.problem import Problem
from greedyexp.theory.forward_backward import gain_threshold, gradient_threshold
from greedyexp.theory.restricted_convexity import convexity

# The theorems ask for more than the threshold.
BEYOND = 1e-6
# What the proofs know of the cost of a feature, as part of the recorded decrease.
RATIO = 0.5
# By how features are judged.
RULES = {Slope: gradient_threshold, Gain: gain_threshold}


def threshold_of_theorem(
    problem: Problem, model: Model, judge: type[Judge], *, ratio: float = RATIO
) -> float:
    """delta of Theorem 1 or epsilon of Theorem 2, with rho_- measured where the run ends.

    What bounds the errors of an estimate needs rho_- between it and the best fit on the true
    support only (see ``theory.forward_backward``). Each state of a run, which does not depend on
    where it ends, therefore has a threshold of its own; this is that of the first state whose best
    goodness is below it. A run with it ends there: an earlier state at which it would end has a
    goodness below this threshold, and above its own, which then is the smaller one.

    Parameters
    ----------
    problem : Problem
        With the true coefficients.
    model : Model
    judge : {Gain, Slope}
        The rules of ``foba_obj`` (delta) and ``foba_gdt`` (epsilon).
    ratio : float in [1/2, 1]

    Raises
    ------
    ConfigError
        When features are judged otherwise, or dropped at a smaller ratio.
    DataError
        When the truth is unknown, the loss has no certified minimum on its support, is not strongly
        convex on the supports met, or the run ends without a certificate.

    References
    ----------
    Liu, Fujimaki & Ye (2014), Theorems 1, 2, 4 and 5.
    """
    if judge not in RULES or ratio < RATIO:
        raise ConfigError(
            "the theorems are of single features, judged alone, and of backward_ratio >= 1/2.",
            remedy="Use stop: optimum.",
        )
    if problem.truth is None:
        raise DataError(
            "the stopping threshold of theory needs the true coefficients.",
            remedy="Give max_features or a threshold.",
        )
    loss = bind(model.loss, problem, ridge=model.ridge, intercept=model.intercept)
    true = np.flatnonzero(problem.truth)
    best = loss.minimise(true)
    if not best.converged:
        raise DataError(f"the fit on the true support has no certificate: {best.message}")
    slope = float(np.abs(best.gradient[: loss.size]).max())
    single = float(loss.smoothness[: loss.size].max())
    rule = RULES[judge]
    # rho_- is at most rho_+, so that no state has a smaller threshold.
    run = Pursuit(loss, judge(loss), ratio).pursue(Stops(rule(single, single, slope)))
    for state in run.states:
        lower = convexity(loss, np.union1d(state.support, true))
        if lower > 0.0 and state.goodness < rule(single, lower, slope):
            return (1.0 + BEYOND) * rule(single, lower, slope)
    raise DataError(
        f"the theorems do not apply: {' '.join(run.said) or 'the loss is not strongly convex.'}",
        remedy="Use stop: optimum, a ridge, or more rows than features.",
    )
