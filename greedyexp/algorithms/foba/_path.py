"""Paths of greedy selections, all points from one run, and the stopping thresholds of theory."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np

from greedyexp.algorithms import _parameters as param
from greedyexp.core.errors import ConfigError, DataError
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.losses.binding import bind, kind_of
from greedyexp.losses.loss import Fit, Loss
from greedyexp.problems.problem import Problem
from greedyexp.solvers.greedy_rules import BoundedGain, Gain, Rule, Slope, gain_rule, slope_rule
from greedyexp.solvers.greedy_selection import Pursuit, Run, Stops, path_of
from greedyexp.theory.forward_backward import gain_threshold, gradient_threshold

Function = TypeVar("Function", bound=Callable[..., Path])
SIZES = ("max_features", "max_groups")

# Relative difference between two ways to compute a goodness.
_MARGIN = 1e-6
# The theorems require a value strictly above the threshold.
BEYOND = 1e-6
# Lower bound on the cost of a feature in the proofs, as a fraction of the recorded decrease.
RATIO = 0.5
# The least goodness for which the theorems hold, from rho_+(1), rho_- and ||grad Q(bbar)||_inf.
_THRESHOLDS: dict[type[Rule], Callable[[float, float, float], float]] = {
    Slope: gradient_threshold,
    Gain: gain_threshold,
    BoundedGain: gain_threshold,
}


class Limits(NamedTuple):
    """The parameters that end a selection; None where there is no limit.

    Parameters
    ----------
    name : {"delta", "epsilon"}
        Name of the threshold.
    threshold : float >= 0, optional
    max_features, max_groups : int, optional
    """

    name: str
    threshold: float | None
    max_features: int | None
    max_groups: int | None

    def stops(self) -> Stops:
        """Return the stops of a run; limits that are None never end it."""
        most = (sys.maxsize if size is None else size for size in self[2:])
        return Stops(self.threshold or 0.0, *most)

    def extended(self, beyond: int | None) -> Limits:
        """Return the limits with more features and groups: ``beyond``, or as many again."""
        sizes = {name: getattr(self, name) for name in SIZES}
        return self._replace(
            **{
                name: size + (size if beyond is None else beyond)
                for name, size in sizes.items()
                if size is not None
            }
        )


def selection(
    name: str, *, threshold: str, title: str, paper: str
) -> Callable[[Function], Function]:
    """Return the decorator that registers a selection with a threshold of this name."""
    return algorithm(
        name,
        title=title,
        paper=paper,
        requires=param.needs,
        check=check,
        theory=_gradient_theory if threshold == "epsilon" else _gain_theory,
        theory_requires=("truth",),
        takes_sparse=True,
        takes_population=True,
        stops=(threshold, *SIZES),
    )


def check(
    shape: dict,
    *,
    loss: str,
    max_features: int | None,
    judge: str = "coordinate",
    unit: str = "feature",
    **others,
) -> None:
    """Raise ValueError if parameters are impossible for this loss or data of this shape."""
    param.check_loss(shape, loss=loss, max_features=max_features, **others)
    if judge == "refit" and not kind_of(loss).least_squares:
        raise ValueError(f"judge refit is for the squared loss, not for {loss}.")
    width = param.coefficients_per_row(shape, loss) if unit == "group" else 1
    if max_features is not None and 0 < max_features < width:
        raise ValueError(
            f"max_features = {max_features} is too small for a group of {width} coefficients."
        )


def bound_loss(
    problem: Problem, limits: Limits, *, loss: str, ridge: float, intercept: bool, **options: str
) -> Loss:
    """Return the loss of a selection after a check of its parameters.

    Parameters
    ----------
    **options
        ``unit`` or ``judge``, for ``check``.

    Raises
    ------
    ConfigError
        If a limit or an option is impossible for this problem or loss.
    DataError
        If the loss does not accept the data.
    """
    sizes = {"max_features": limits.max_features, "max_groups": limits.max_groups}
    param.enforce(check, problem, loss=loss, intercept=intercept, **sizes, **options)
    return bind(loss, problem, ridge=ridge, intercept=intercept)


def greedy_path(
    loss: Loss,
    rule: type[Rule],
    limits: Limits,
    *,
    grid: dict[str, np.ndarray] | None,
    ratio: float = 0.0,
    visit: str = "first",
    beyond: int | None = None,
) -> Path:
    """Return the path of a selection.

    All points come from one run, since limits only end a run and do not change its steps.

    Parameters
    ----------
    loss : Loss
    rule : subclass of Rule
    limits : Limits
        If there are no limits, the selection ends at half as many features as there are samples or
        coefficients, whichever is smaller.
    grid : dict of one array, optional
        Values of one of the limits: one estimate for each value, which replaces that limit. Without
        it, one estimate for each number of features, or of groups if ``max_groups`` is given or
        groups are taken whole.
    ratio : float in [0, 1]
        Zero for a selection without backward steps.
    visit : {"last", "first"}
        The estimate for a limit on the size: the state of least loss among all that satisfy the
        limit, or the state at which a run with this limit would end.
    beyond : int, optional
        How far beyond a limit on the size the run goes with visit ``last``; by default, as many
        features or groups again.

    Raises
    ------
    ConfigError
        If the grid has other names or impossible values.
    """
    ruling = rule(loss)
    pursuit = Pursuit(loss, ruling, ratio)
    if grid is None:
        if limits[1:] == (None, None, None):
            half = min(loss.n_samples, loss.size) // 2
            limits = limits._replace(max_features=max(ruling.width, half))
        by_groups = limits.max_groups is not None or ruling.by_row
        name, asked = "max_groups" if by_groups else "max_features", None
    else:
        name, asked = _asked(grid, limits.name)
        loosest = asked.min() if name == limits.name else asked.max()
        limits = limits._replace(**{"threshold" if name == limits.name else name: loosest.item()})
    run = pursuit.pursue(limits.stops())
    if visit == "last" and run.limited:
        pursuit.look_ahead(limits.extended(beyond).stops())
    answers = _Answers(run, ruling, limits, visit)
    if asked is None:
        asked, chosen, answered = answers.of_all_sizes(name)
    elif name == limits.name:
        chosen, answered = answers.of_thresholds(asked)
    else:
        chosen, answered = answers.of_sizes(name, asked)
    states = [run.states[index] for index in chosen]
    return path_of(
        loss,
        states,
        answered,
        grid={name: asked.astype(float)},
        message=" ".join(run.remarks),
        facts={
            count: np.array([getattr(state, count) for state in states])
            for count in ("additions", "removals")
        },
        history=_history(run, ruling, max(state.additions + state.removals for state in states)),
    )


class _Answers:
    """The states of a run that are the estimates for limits.

    Parameters
    ----------
    run : Run
    rule : Rule
    limits : Limits
        The limits of the run, before it was extended.
    visit : {"last", "first"}
    """

    def __init__(self, run: Run, rule: Rule, limits: Limits, visit: str):
        states = run.states
        self._failed, self._visit, self._last = run.failed, visit, len(states) - 1
        self._losses = np.array([state.objective for state in states])
        goodness = np.array([state.goodness for state in states])
        # It is infinite where it was not computed.
        self._goodness = np.where(np.isnan(goodness), np.inf, goodness)
        features = np.array([len(state.support) for state in states])
        rows = np.array([state.n_rows for state in states])
        opens = np.array([state.opens for state in states])
        self._sizes = dict(zip(SIZES, (features, rows), strict=True))
        # Numbers of features and rows after the next step from each state.
        self._reaches = dict(zip(SIZES, (features + rule.width, rows + opens), strict=True))
        # Which states are within the limits on the size, and whether a step exceeds one of them.
        self._allowed, self._exceeded = np.ones(len(states), dtype=bool), False
        for name in SIZES:
            most = getattr(limits, name)
            if most is not None:
                self._allowed &= self._sizes[name] <= most
                self._exceeded |= bool(self._reaches[name].max() > most)

    def of_all_sizes(self, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return all sizes up to the largest within the limits, and ``of_sizes`` for them.

        One more is added for an answer to the limits that is not yet among them: a smaller state at
        which the threshold ended the run, or the last state before a fit without a certificate.
        """
        asked = np.arange(self._sizes[name][self._allowed].max() + 1)
        chosen, answered = self.of_sizes(name, asked)
        unanswered = self._failed and answered[-1]
        if unanswered or (chosen[-1] != self._last and not self._exceeded):
            chosen, answered = np.append(chosen, self._last), np.append(answered, not self._failed)
            asked = np.append(asked, len(asked))
        return asked, chosen, answered

    def of_sizes(self, name: str, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the states for limits on the size.

        If the run exceeds the limit, this is the state of least loss within it, the most recent one
        of equal states, or with visit ``first`` the one before the limit was first exceeded.
        Otherwise it is the end of the run.

        Parameters
        ----------
        name : {"max_features", "max_groups"}
        asked : array of int (m,)
            At most the limits of the run.

        Returns
        -------
        chosen : array of int (m,)
            Indices of the states.
        answered : array of bool (m,)
            Whether the state is the answer, and not the last state before a fit without a
            certificate.
        """
        reach = np.maximum.accumulate(self._reaches[name])
        exceeded = reach[-1] > asked
        if self._visit == "first":
            chosen = np.minimum(np.searchsorted(reach, asked, side="right"), self._last)
        else:
            exceeded |= self._exceeded
            within = self._allowed & (self._sizes[name] <= asked[:, None])
            chosen = np.where(exceeded, self._least(within), self._last)
        return chosen, exceeded | (not self._failed)

    def of_thresholds(self, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the states for thresholds: the first whose goodness is less, or the end.

        A state beyond a limit on the size is replaced by that of least loss within it until then.

        Returns
        -------
        chosen, answered : arrays (m,)
            See ``of_sizes``.
        """
        falling = np.minimum.accumulate(self._goodness)
        first = np.searchsorted(-falling, -asked, side="right")
        ends = np.minimum(first, self._last)
        until = self._allowed & (np.arange(self._last + 1) <= ends[:, None])
        chosen = np.where(self._allowed[ends], ends, self._least(until))
        return chosen, (first <= self._last) | (not self._failed)

    def _least(self, allowed: np.ndarray) -> np.ndarray:
        """Return the allowed state of least loss in each row, the most recent one if tied."""
        losses = np.where(allowed, self._losses, np.inf)
        return self._last - np.argmin(losses[..., ::-1], axis=-1)


def _asked(grid: dict[str, np.ndarray], threshold: str) -> tuple[str, np.ndarray]:
    """Return the one name of the grid and its values; raise ConfigError if they are invalid."""
    names = (threshold, *SIZES)
    if len(grid) != 1 or not set(grid) <= set(names):
        raise ConfigError(f"the grid must hold values of one of {', '.join(names)}.")
    (name,) = grid
    return name, param.grid_values(grid, name, whole=name != threshold)


def _history(run: Run, rule: Rule, count: int) -> dict[str, np.ndarray]:
    """Return one entry for each of the first steps, with ``task`` if rows have several entries."""
    steps = run.steps[:count]
    units = np.array([step.unit for step in steps], dtype=np.int64)
    r = rule.loss.shape[1]
    history = {
        "step": np.arange(1, len(units) + 1),
        "action": np.asarray([step.action for step in steps]),
    }
    if r > 1 and not rule.by_row:
        history |= {"feature": units // r, "task": units % r}
    else:
        history["feature"] = units
    for name in ("objective", "goodness", "n_features", "n_rows"):
        history[name] = np.asarray([getattr(step, name) for step in steps])
    return history


def _gradient_theory(problem: Problem, *, unit: str, **params) -> dict[str, np.ndarray]:
    """epsilon = ||grad Q(b)||_inf at the best fit b on the true support, or that of Theorem 2."""
    return {"epsilon": _prescribed(problem, slope_rule(unit), **params)}


def _gain_theory(problem: Problem, *, judge: str, prune: bool, **params) -> dict[str, np.ndarray]:
    """delta that leaves no gain at the best fit on the true support, or that of Theorem 1."""
    return {"delta": _prescribed(problem, gain_rule(judge, prune), **params)}


def _prescribed(
    problem: Problem,
    rule: type[Rule],
    *,
    loss: str,
    ridge: float,
    intercept: bool,
    backward_ratio: float = RATIO,
    stop: str = "optimum",
    **_,
) -> np.ndarray:
    bound = bind(loss, problem, ridge=ridge, intercept=intercept)
    if stop == "theorem":
        return np.array([threshold_of_theorem(problem, bound, rule, ratio=backward_ratio)])
    # The best goodness on the true support, and a margin for rounding: a run that reaches the true
    # support ends there.
    fit = _fit_of_truth(problem, bound)[0]
    return np.array([rule(bound).best(fit)[1] * (1.0 + _MARGIN)])


def threshold_of_theorem(
    problem: Problem, loss: Loss, rule: type[Rule], *, ratio: float = RATIO
) -> float:
    """Return delta of Theorem 1 or epsilon of Theorem 2, with rho_- measured at the end of the run.

    The bounds on the errors of an estimate need rho_- only between it and the best fit on the true
    support (see ``theory.forward_backward``). Each state of a run therefore has its own threshold.
    A threshold only ends a run and does not change its steps. This function returns the threshold
    of the first state whose best goodness is below its threshold. A run with this threshold ends at
    that state or at an earlier one. The goodness of an earlier state is below this threshold and at
    least its own threshold, which is then the smaller one, so the bounds hold for that state too.

    Parameters
    ----------
    problem : Problem
        A problem with the true coefficients.
    loss : Loss
        The loss, bound to the problem.
    rule : subclass of Rule
        One of ``_THRESHOLDS``: those of ``foba_obj`` (delta) and ``foba_gdt`` (epsilon).
    ratio : float in [1/2, 1]

    Raises
    ------
    ConfigError
        If features are scored by another rule, or dropped at a smaller ratio.
    DataError
        If the truth is unknown, the loss has no certified minimum on its support or is not strongly
        convex on the supports of the run, or the run ends without a certificate.

    References
    ----------
    Liu, Fujimaki & Ye (2014), Theorems 1, 2, 4 and 5.
    """
    threshold = _THRESHOLDS.get(rule)
    if threshold is None or ratio < RATIO:
        raise ConfigError(
            "the theorems require single features, judge: coordinate and backward_ratio >= 1/2.",
            remedy="Use stop: optimum.",
        )
    best, true = _fit_of_truth(problem, loss)
    slope = float(np.abs(best.gradient).max())
    single = float(loss.smoothness[: loss.size].max())
    if np.isinf(single):
        raise DataError(
            "the theorems do not apply: the second derivative of the loss has no upper bound.",
            remedy="Use stop: optimum.",
        )
    # rho_- is at most rho_+, so no state has a smaller threshold.
    run = Pursuit(loss, rule(loss), ratio).pursue(Stops(threshold(single, single, slope)))
    for state in run.states:
        lower = loss.strong_convexity(np.union1d(state.support, true).astype(np.int64).tolist())
        if lower > 0.0 and state.goodness < threshold(single, lower, slope):
            return (1.0 + BEYOND) * threshold(single, lower, slope)
    reason = " ".join(run.remarks) or "the loss is not strongly convex."
    raise DataError(
        f"the theorems do not apply: {reason}",
        remedy="Use stop: optimum, a ridge, or more rows than features.",
    )


def _fit_of_truth(problem: Problem, loss: Loss) -> tuple[Fit, np.ndarray]:
    """Return the fit on the true support, and this support.

    Raises
    ------
    DataError
        If the truth is unknown, or the fit has no certificate.
    """
    if problem.truth is None:
        raise DataError(
            "the theoretical stopping threshold needs the true coefficients.",
            remedy="Give max_features or a threshold.",
        )
    fit = loss.fit()
    support = np.flatnonzero(problem.truth)
    fit.add(support.tolist())
    if not fit.converged:
        raise DataError(f"the fit on the true support has no certificate: {fit.message}")
    return fit, support
