"""The stopping thresholds that theory prescribes for a greedy selection."""

from __future__ import annotations

import numpy as np

from greedyexp.algorithms._loss_settings import Model
from greedyexp.algorithms.foba._rules import Rule, gain_rule, slope_rule
from greedyexp.algorithms.foba._run import Pursuit, Stops
from greedyexp.core.errors import ConfigError, DataError
from greedyexp.losses.binding import bind
from greedyexp.losses.loss import Fit
from greedyexp.problems.problem import Problem

# A goodness computed along another way differs in this part at the most.
MARGIN = 1e-6
# The theorems ask for more than the threshold.
BEYOND = 1e-6
# What the proofs know of the cost of a feature, as part of the recorded decrease.
RATIO = 0.5


def gradient_theory(
    problem: Problem,
    *,
    loss: str,
    ridge: float,
    intercept: bool,
    unit: str,
    backward_ratio: float = RATIO,
    stop: str = "optimum",
    **_,
) -> dict[str, np.ndarray]:
    """epsilon = ||grad Q(b)||_inf at the best fit b on the true support, or that of Theorem 2."""
    model = Model(loss, ridge, intercept)
    return {"epsilon": _prescribed(problem, model, slope_rule(unit), backward_ratio, stop)}


def gain_theory(
    problem: Problem,
    *,
    loss: str,
    ridge: float,
    intercept: bool,
    judge: str,
    prune: bool,
    backward_ratio: float = RATIO,
    stop: str = "optimum",
    **_,
) -> dict[str, np.ndarray]:
    """delta that leaves nothing to gain at the best fit on the true support, or of Theorem 1."""
    model = Model(loss, ridge, intercept)
    return {"delta": _prescribed(problem, model, gain_rule(judge, prune), backward_ratio, stop)}


def _prescribed(
    problem: Problem, model: Model, rule: type[Rule], ratio: float, stop: str
) -> np.ndarray:
    if stop == "theorem":
        return np.array([threshold_of_theorem(problem, model, rule, ratio=ratio)])
    return np.array([goodness_of_truth(problem, model, rule)])


def goodness_of_truth(problem: Problem, model: Model, rule: type[Rule]) -> float:
    """The best goodness at the minimiser on the true support, and a little more.

    So little that it only makes up for rounding: a run that comes to the true support ends there.

    Raises
    ------
    DataError
        When the truth is unknown, or the loss has no minimum on its support.
    """
    fit = _fit_of_truth(problem, model)
    return rule(fit.loss).best(fit)[1] * (1.0 + MARGIN)


def threshold_of_theorem(
    problem: Problem, model: Model, rule: type[Rule], *, ratio: float = RATIO
) -> float:
    """delta of Theorem 1 or epsilon of Theorem 2, with rho_- measured where the run ends.

    What bounds the errors of an estimate needs rho_- between it and the best fit on the true
    support only (see ``theory.forward_backward``). Each state of a run, which does not depend on
    where it ends, therefore has a threshold of its own; this is that of the first state whose best
    goodness is below it. A run with it ends there or before: an earlier state at which it ends has
    a goodness below this threshold, and above its own, which then is the smaller one, so that the
    bounds hold for it too.

    Parameters
    ----------
    problem : Problem
        With the true coefficients.
    model : Model
    rule : subclass of Rule
        One with a ``threshold``: those of ``foba_obj`` (delta) and ``foba_gdt`` (epsilon).
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
    threshold = rule.threshold
    if threshold is None or ratio < RATIO:
        raise ConfigError(
            "the theorems are of single features, judged alone, and of backward_ratio >= 1/2.",
            remedy="Use stop: optimum.",
        )
    best = _fit_of_truth(problem, model)
    loss, true = best.loss, np.flatnonzero(problem.truth)
    slope = float(np.abs(best.gradient).max())
    single = float(loss.smoothness[: loss.size].max())
    # rho_- is at most rho_+, so that no state has a smaller threshold.
    run = Pursuit(loss, rule(loss), ratio).pursue(Stops(threshold(single, single, slope)))
    for state in run.states:
        lower = loss.strong_convexity(np.union1d(state.support, true))
        if lower > 0.0 and state.goodness < threshold(single, lower, slope):
            return (1.0 + BEYOND) * threshold(single, lower, slope)
    raise DataError(
        f"the theorems do not apply: {' '.join(run.said) or 'the loss is not strongly convex.'}",
        remedy="Use stop: optimum, a ridge, or more rows than features.",
    )


def _fit_of_truth(problem: Problem, model: Model) -> Fit:
    """The fit on the true support.

    Raises
    ------
    DataError
        When the truth is unknown, or the fit has no certificate.
    """
    if problem.truth is None:
        raise DataError(
            "the stopping threshold of theory needs the true coefficients.",
            remedy="Give max_features or a threshold.",
        )
    fit = bind(model.loss, problem, ridge=model.ridge, intercept=model.intercept).fit()
    fit.add(np.flatnonzero(problem.truth).tolist())
    if not fit.converged:
        raise DataError(f"the fit on the true support has no certificate: {fit.message}")
    return fit
