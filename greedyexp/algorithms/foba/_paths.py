"""Paths of greedy selections: the answer for every stop, out of one run."""

from __future__ import annotations

import sys

import numpy as np

from greedyexp.algorithms._limits import enforce
from greedyexp.algorithms._loss_settings import Model
from greedyexp.algorithms.foba._rules import Rule
from greedyexp.algorithms.foba._run import Pursuit, Run, Stops
from greedyexp.algorithms.foba._settings import Limits, check
from greedyexp.core.errors import ConfigError
from greedyexp.estimates.path import Path
from greedyexp.losses.binding import bind
from greedyexp.losses.loss import Loss
from greedyexp.problems.problem import Problem


def greedy_path(
    problem: Problem,
    model: Model,
    rule: type[Rule],
    limits: Limits,
    *,
    ratio: float,
    grid: dict[str, np.ndarray] | None,
    **options: str,
) -> Path:
    """The path of a selection; a run does not depend on where it ends, so that one serves all.

    Parameters
    ----------
    rule : subclass of Rule
    ratio : float in [0, 1]
        Zero for a selection without backward steps.
    grid : dict of one array, optional
        ``max_features``, ``max_groups`` or the threshold of ``limits``: one estimate for each of
        its values, which then stand for that limit. Without it one for each number of features, or
        of groups when ``max_groups`` is given or groups are taken whole.
    **options : str
        ``unit`` or ``judge``, which not all problems and losses have.

    Raises
    ------
    ConfigError
        When a limit or an option is impossible for this problem or loss, or the grid is no grid of
        this selection.
    DataError
        When the loss does not take the data.
    """
    enforce(
        check,
        problem,
        loss=model.loss,
        intercept=model.intercept,
        max_features=limits.max_features,
        max_groups=limits.max_groups,
        **options,
    )
    loss = bind(model.loss, problem, ridge=model.ridge, intercept=model.intercept)
    ruling = rule(loss)
    if grid is None:
        run = Pursuit(loss, ruling, ratio).pursue(_stops(loss, ruling, limits))
        by_groups = limits.max_groups is not None or ruling.by_row
        name = "max_groups" if by_groups else "max_features"
        reach = _reach(run, name, ruling)
        asked = np.arange(reach.max())
        chosen, answered = _answers(reach, asked)
        # The end may be smaller than an earlier point, and is the answer for the limits as given.
        if run.failed or not len(chosen) or chosen[-1] != len(run.states) - 1:
            asked = np.append(asked, len(asked))
            chosen, answered = _answers(reach, asked)
    else:
        name, asked = _asked(grid, limits.name)
        run = Pursuit(loss, ruling, ratio).pursue(_stops_for(name, asked, limits))
        if name == limits.name:
            chosen, answered = _answers(-_goodness(run), -asked)
        else:
            chosen, answered = _answers(_reach(run, name, ruling), asked)
    return _path(loss, ruling, run, {name: asked.astype(float)}, chosen, answered)


def _stops(loss: Loss, rule: Rule, limits: Limits) -> Stops:
    """As given; half as many features as samples and coefficients allow when nothing is."""
    most = limits.max_features
    if most is None and limits.threshold is None and limits.max_groups is None:
        most = max(rule.width, min(loss.n_samples, loss.size) // 2)
    return Stops(
        limits.threshold or 0.0,
        sys.maxsize if most is None else most,
        sys.maxsize if limits.max_groups is None else limits.max_groups,
    )


def _stops_for(name: str, asked: np.ndarray, limits: Limits) -> Stops:
    """The limits given, with the loosest of the values asked for in place of its own."""
    given = {
        limits.name: limits.threshold,
        "max_features": limits.max_features,
        "max_groups": limits.max_groups,
    }
    given[name] = asked.min() if name == limits.name else int(asked.max())
    features, groups = given["max_features"], given["max_groups"]
    return Stops(
        float(given[limits.name] or 0.0),
        sys.maxsize if features is None else features,
        sys.maxsize if groups is None else groups,
    )


def _asked(grid: dict[str, np.ndarray], threshold: str) -> tuple[str, np.ndarray]:
    """The name of the grid and its values.

    Raises
    ------
    ConfigError
        When it is not one of ours, or a value is impossible.
    """
    names = (threshold, "max_features", "max_groups")
    if len(grid) != 1 or not set(grid) <= set(names):
        raise ConfigError(f"the grid must hold values of one of {', '.join(names)}.")
    ((name, values),) = grid.items()
    values = np.atleast_1d(np.asarray(values, dtype=float))
    if values.size == 0 or not (np.isfinite(values) & (values >= 0)).all():
        raise ConfigError(f"the grid of {name} must hold numbers >= 0.")
    if name != threshold and (values % 1 != 0).any():
        raise ConfigError(f"the grid of {name} must hold whole numbers >= 0.")
    return name, values


def _reach(run: Run, name: str, rule: Rule) -> np.ndarray:
    """How many features, or rows, there would be after the next step from each state."""
    if name == "max_features":
        return np.array([len(state.support) + rule.width for state in run.states])
    return np.array([state.n_rows + state.opens for state in run.states])


def _goodness(run: Run) -> np.ndarray:
    """Of the best step from each state, infinite where it was not looked for."""
    goodness = np.array([state.goodness for state in run.states])
    return np.where(np.isnan(goodness), np.inf, goodness)


def _answers(reach: np.ndarray, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first state whose reach is beyond each value asked for, the last where there is none.

    Returns
    -------
    chosen : array of int
        States.
    answered : array of bool
        Whether there is one.
    """
    highest = np.maximum.accumulate(reach)
    chosen = np.searchsorted(highest, asked, side="right")
    answered = chosen < len(reach)
    return np.minimum(chosen, len(reach) - 1), answered


def _path(loss: Loss, rule: Rule, run: Run, grid, chosen, answered) -> Path:
    states = [run.states[index] for index in chosen]
    coef = np.zeros((len(states), loss.size))
    for row, state in zip(coef, states, strict=True):
        row[state.support] = state.values
    certified = np.array([state.certified for state in states])
    return Path(
        coef=coef.reshape(-1, *loss.shape),
        grid=grid,
        objective=np.array([state.objective for state in states]),
        converged=certified & (answered | (not run.failed)),
        message=" ".join(run.said),
        loss=loss,
        dense=np.array([state.dense for state in states]),
        facts={
            "additions": np.array([state.additions for state in states]),
            "removals": np.array([state.removals for state in states]),
        },
        history=_history(run, rule),
    )


def _history(run: Run, rule: Rule) -> dict[str, np.ndarray]:
    """One entry for each step; ``task`` when a row has several coefficients and one is taken."""
    units = np.array([step.unit for step in run.steps], dtype=np.int64)
    r = rule.loss.shape[1]
    told = {"step": np.arange(1, len(units) + 1), "action": [step.action for step in run.steps]}
    if r > 1 and not rule.by_row:
        told |= {"feature": units // r, "task": units % r}
    else:
        told["feature"] = units
    for name in ("objective", "goodness", "n_features", "n_rows"):
        told[name] = [getattr(step, name) for step in run.steps]
    return {name: np.asarray(values) for name, values in told.items()}
