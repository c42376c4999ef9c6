"""Fully corrective selection improved by replacing features."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Field

from greedyexp.algorithms import _parameters as param
from greedyexp.algorithms.sparsity import _risk
from greedyexp.algorithms.sparsity._corrective import covered, rule_for
from greedyexp.algorithms.sparsity._risk import needs, step_grid
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.losses.loss import TIE, Fit
from greedyexp.losses.risk import bind_risk
from greedyexp.problems.problem import Problem
from greedyexp.solvers.greedy_rules import ROUNDING, Rule, Slope
from greedyexp.solvers.greedy_selection import Pursuit, Run, State, Stops, path_of
from greedyexp.theory.sparsity_bounds import smoothness_of_risk, theorem5
from greedyexp.theory.theorems import Reference, RiskBound


def check(shape: dict, *, features: int, **others) -> None:
    """Raise ValueError if the risk or k is impossible for data of this shape."""
    _risk.check(shape, **others)
    if features > shape["n_features"]:
        raise ValueError(f"features = {features} is more than the {shape['n_features']} features.")


def theorems(path: Path, reference: Reference, *, rule: str, variant: str, **_) -> list[RiskBound]:
    """Return T5 for a path of ``replacement_steps``; none for the simple variant.

    lam is the least strong convexity of R on the sets F' of the run, each united with the support
    of the reference. The theorem promises nothing if there are fewer features than it requires.
    """
    loss, history = path.loss, path.history
    if loss is None or history is None or variant == "simple":
        return []
    if np.isinf(loss.beta) or not covered(rule, loss):
        return []
    started = history["step"] == 0
    if not started.any():
        return []
    known = np.flatnonzero(reference.params)
    lam = min(
        loss.strong_convexity(np.union1d(support, known).astype(np.int64).tolist())
        for support in _enlarged_supports(history)
    )
    return [
        theorem5(
            smoothness_of_risk(loss),
            lam,
            reference.n_features,
            features=int(started.sum()),
            first_gap=float(history["objective"][started][-1]) - reference.value,
            span=loss.value(np.zeros(loss.size)) - reference.value,
        )
    ]


@algorithm(
    "replacement_steps",
    title="Replacement steps",
    paper="Shalev-Shwartz, Srebro & Zhang (2009), Algorithm 4",
    requires=needs,
    check=check,
    takes_sparse=True,
    takes_population=True,
    theorems=theorems,
)
def replacement_steps(
    problem: Problem,
    *,
    features: Annotated[int, Field(ge=1, description="k, the number of features at all times")],
    loss: param.RiskLoss = "squared",
    beta: param.Beta = None,
    ridge: param.Ridge = 0.0,
    risk: param.Risk = "sample",
    steps: param.Steps = 1000,
    rule: param.Selection = "objective",
    variant: Annotated[
        Literal["refit", "simple"],
        Field(
            description="refit between taking and dropping, or take the largest derivative and drop"
            " at once"
        ),
    ] = "refit",
    start: Annotated[
        Literal["best", "worst"],
        Field(description="the first k features: at each step the one of largest or least gain"),
    ] = "best",
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Greedy selection of k features, then replacements of one feature while they lower the risk.

    ``fully_corrective`` takes k features F by ``rule``. With ``variant: refit`` a step then takes
    the feature r outside F that ``rule`` prefers, minimises R over F' = F + r, to w', and drops the
    feature q of F' with the smallest |w'_q| if R(w' - w'_q e_q), the others as they are, is below
    R(w): F becomes F' - q, with a refit. With ``variant: simple`` a step takes the feature r
    outside F with the largest |grad_r R(w)|, whatever the rule, drops the feature q of F with the
    smallest |w_q|, and keeps F + r - q if the minimum of R over it is below R(w). Otherwise, or
    after ``steps`` replacements, the run ends.

    Parameters
    ----------
    problem : Problem
        A problem with one task; for ``risk: population`` its moments must be known.
    features : int in [1, d]
        k, which the replacements do not change.
    loss, beta, ridge, risk
        The risk R, as in ``fully_corrective``.
    steps : int >= 1
        Maximum number of replacements.
    rule : {"objective", "gradient", "residual"}
        As in ``fully_corrective``, for the first k features and, with ``variant: refit``, for the
        feature that a replacement takes. The listing has ``objective``.
    variant : {"refit", "simple"}
        The variant, as above. The report does not say when ``simple`` ends; here it ends when a
        step does not lower R.
    start : {"best", "worst"}
        ``worst`` takes, at each of the first k steps, the feature of least gain by ``rule`` among
        those with something to gain. Theorem 5 holds from any k features; from the best ones there
        is often nothing left to replace.
    grid : dict with array ``steps``, optional
        One estimate for each number of replacements, in this order, from one run.

    Returns
    -------
    Path
        Estimates after 0, 1, ... replacements; with ``start: best`` the first is that of
        ``fully_corrective``. Points beyond the end repeat the last. ``objective`` is R, smoothed
        if L is. ``facts`` are the number of replacements as ``steps`` and the size of the support
        as ``features``. ``history`` has the first k features, as step 0 with nothing (-1) dropped,
        then each replacement: ``taken``, ``dropped``, R after it and whether it was ``accepted``.
        The last replacement may be rejected; its R is then the value that was compared.

    Raises
    ------
    ConfigError
        If parameters are impossible together or for this problem, or the grid is not one of steps.
    DataError
        If the loss does not accept the data.

    Notes
    -----
    *Ties* (equal to a relative precision of 1e-10): the lowest feature. *Rounding*: R must fall by
    more than 1e-14 of itself. Every run ends, since each new set of k features has a lower minimum.

    *Converged* means that an estimate minimises R over its support. When ``steps`` ends a run,
    further replacements may lower R.

    *Fewer than k features*: if nothing is left to gain before k features, no replacement is tried.
    *Fits without a certificate* (separable classes and no ridge) end the run at the last fit that
    has one. Estimates for more steps are not converged; if this happens before there are k
    features, no estimate is converged.

    For the squared loss the method is known as orthogonal matching pursuit with replacement, which
    usually adds and drops features by a gradient step of a given length.

    References
    ----------
    S. Shalev-Shwartz, N. Srebro, T. Zhang, Trading accuracy for sparsity, TTIC-TR-2009-3,
    Algorithm 4, Theorem 5.
    P. Jain, A. Tewari, I. S. Dhillon, Orthogonal matching pursuit with replacement, 2011.
    """
    param.enforce(check, problem, features=features, loss=loss, beta=beta, risk=risk)
    bound = bind_risk(loss, problem, ridge=ridge, beta=beta, population=risk == "population")
    asked = None if grid is None else step_grid(grid, steps).steps
    most = steps if asked is None else int(asked.max())
    ruling = rule_for(rule, bound, problem, risk)
    first = ruling if start == "best" else Least(ruling)
    pursuit = Pursuit(bound, first, ratio=0.0, kept=(features,))
    begun = pursuit.pursue(Stops(max_features=features))
    run = Exchange(pursuit.fit, ruling, refit=variant == "refit")
    if len(begun.states[-1].support) == features:
        run.replace(most)
    else:
        run.states, run.failed = begun.states[-1:], begun.failed
    end = len(run.states) - 1
    if asked is None:
        asked = np.arange(end + 1 + (run.failed and not begun.failed))
    states = [run.states[step] for step in np.minimum(asked, end)]
    return path_of(
        bound,
        states,
        (not begun.failed) & ((asked <= end) | (not run.failed)),
        grid={"steps": asked.astype(float)},
        message=" ".join([*begun.remarks, *run.remarks]),
        facts={
            "steps": np.minimum(asked, end),
            "features": np.array([len(state.support) for state in states]),
        },
        history=_history(begun, run),
    )


def _history(begun: Run, run: Exchange) -> dict[str, np.ndarray]:
    """Return one entry for each of the first features, and for each replacement."""
    first = [Replacement(0, step.unit, -1, step.objective, True) for step in begun.steps]
    kinds = {"step": int, "taken": int, "dropped": int, "objective": float, "accepted": bool}
    return {
        name: np.array([getattr(one, name) for one in first + run.attempts], dtype=kind)
        for name, kind in kinds.items()
    }


class Least(Rule):
    """A rule that takes the unit which another rule would take last."""

    def __init__(self, rule: Rule):
        super().__init__(rule.loss)
        self.rule = rule

    def goodness(self, fit: Fit) -> np.ndarray:
        return self.rule.goodness(fit)

    def best(self, fit: Fit) -> tuple[int, float]:
        """Return the unit of least goodness above rounding and this goodness, 0 if there is none.

        Ties go to the lowest unit.
        """
        gains = self._slopes(fit) > self._noise(fit)
        if not gains.any():
            return 0, 0.0
        scores = np.where(gains, self.goodness(fit), np.inf)
        unit = int((scores <= scores.min() * (1.0 + TIE)).argmax())
        return unit, float(scores[unit])


class Replacement(NamedTuple):
    """One attempt to replace a feature.

    Parameters
    ----------
    step : int
        Number of the attempt; zero for the first features, which replace nothing.
    taken, dropped : int
    objective : float
        R after the replacement; if it is rejected, the value of R that was compared; if the fit has
        no certificate, R before it.
    accepted : bool
    """

    step: int
    taken: int
    dropped: int
    objective: float
    accepted: bool


class Exchange:
    """Algorithm 4 of the 2009 report, starting from a fit.

    Parameters
    ----------
    fit : Fit
        The minimiser over the first features; it is modified.
    rule : Rule
        Scores the feature to take; without ``refit`` the largest derivative is taken instead.
    refit : bool
        Whether all coefficients are refitted between taking and dropping, as in the listing.

    Attributes
    ----------
    states : list of State
        The state before the first replacement and after each replacement.
    attempts : list of Replacement
        All accepted replacements, and the rejected one if it ended the run.
    failed : bool
        Whether the run ended because a fit has no certificate.
    remarks : list of str
        Messages for the user.
    """

    def __init__(self, fit: Fit, rule: Rule, refit: bool):
        self.fit = fit
        self.rule = rule if refit else Slope(rule.loss)
        self.refit = refit
        self.states = [State.of(fit)]
        self.attempts: list[Replacement] = []
        self.failed = False
        self.remarks: list[str] = []

    def replace(self, most: int) -> None:
        """Replace features until R no longer decreases, or ``most`` times."""
        attempt = self._through_refit if self.refit else self._at_once
        while len(self.states) <= most:
            if not len(self.fit.support):
                self.remarks.append("there is no feature to replace.")
                break
            unit, best = self.rule.best(self.fit)
            if best <= 0.0:
                self._remark("nothing is left to gain")
                break
            if not attempt(unit):
                break

    def _through_refit(self, unit: int) -> bool:
        """Add a feature, refit, and drop the smallest coefficient if R without it is lower."""
        before = self.fit.value
        self.fit.add([unit])
        if not self._certified(unit, unit):
            return False
        place, dropped = _smallest(self.fit)
        after = self.fit.value + float(self.fit.removal_costs()[place])
        if before - after <= ROUNDING * abs(before):
            return self._reject(unit, dropped, after)
        self.fit.remove([dropped])
        return self._certified(unit, dropped) and self._accept(unit, dropped, before)

    def _at_once(self, unit: int) -> bool:
        """Drop the smallest coefficient, add a feature, refit, and accept if R is lower."""
        before = self.fit.value
        dropped = _smallest(self.fit)[1]
        self.fit.remove([dropped])
        if not self._certified(unit, dropped):
            return False
        self.fit.add([unit])
        return self._certified(unit, dropped) and self._accept(unit, dropped, before)

    def _accept(self, taken: int, dropped: int, before: float) -> bool:
        """Accept the present fit if R fell by more than rounding."""
        if before - self.fit.value <= ROUNDING * abs(before):
            return self._reject(taken, dropped, self.fit.value)
        self._note(taken, dropped, self.fit.value, True)
        self.states.append(State.of(self.fit))
        return True

    def _reject(self, taken: int, dropped: int, after: float) -> bool:
        self._note(taken, dropped, after, False)
        self._remark("no replacement lowers the risk")
        return False

    def _certified(self, taken: int, dropped: int) -> bool:
        """Return whether the present fit has its certificate; if not, end the run with a remark."""
        if self.fit.converged:
            return True
        self.failed = True
        self._note(taken, dropped, self.states[-1].objective, False)
        why = self.fit.message or "the fit has no certificate."
        self.remarks.append(f"the replacements end before {self.rule.name(taken)}: {why}")
        return False

    def _note(self, *attempt) -> None:
        self.attempts.append(Replacement(len(self.attempts) + 1, *attempt))

    def _remark(self, event: str) -> None:
        count = len(self.states) - 1
        self.remarks.append(f"{event} after {count} replacement{'' if count == 1 else 's'}.")


def _smallest(fit: Fit) -> tuple[int, int]:
    """Return place in the support, and index, of the smallest |coefficient|.

    Ties go to the lowest index.
    """
    support = np.array(fit.support, dtype=np.int64)
    sizes = np.abs(fit.params[support])
    equal = np.flatnonzero(sizes <= sizes.min() * (1.0 + TIE))
    place = int(equal[support[equal].argmin()])
    return place, int(support[place])


def _enlarged_supports(history: dict[str, np.ndarray]) -> Iterator[list[int]]:
    """Yield F with the feature taken, for each attempt to replace; F itself if there was none."""
    support = history["taken"][history["step"] == 0].tolist()
    tried = np.flatnonzero(history["step"] > 0)
    if not len(tried):
        yield support
    for at in tried:
        support = [*support, int(history["taken"][at])]
        yield support
        if history["accepted"][at]:
            support = [index for index in support if index != history["dropped"][at]]
