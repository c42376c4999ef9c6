"""Paths of greedy selections: the answer for every stop, out of one run."""

from __future__ import annotations

import sys

import numpy as np

from greedyexp.algorithms.forward_backward import Pursuit, Run, Stops
from greedyexp.algorithms.forward_judges import Judge
from greedyexp.algorithms.forward_settings import Limits, Model
from greedyexp.errors import ConfigError, DataError
from greedyexp.losses.binding import bind
from greedyexp.losses.loss import Loss
from greedyexp.path import Path
from greedyexp.problem import Problem

# A goodness computed along another way differs in this part at the most.
MARGIN = 1e-6


def greedy_path(
    problem: Problem,
    model: Model,
    judge: type[Judge],
    limits: Limits,
    *,
    ratio: float,
    grid: dict[str, np.ndarray] | None,
) -> Path:
    """The path of a selection; a run does not depend on where it ends, so that one serves all.

    Parameters
    ----------
    judge : subclass of Judge
    ratio : float in [0, 1]
        Zero for a selection without backward steps.
    grid : dict of one array, optional
        ``max_features``, ``max_groups`` or the threshold of ``limits``: one estimate for each of
        its values, which then stand for that limit. Without it one for each number of features, or
        of groups when ``max_groups`` is given or groups are taken whole.

    Raises
    ------
    ConfigError
        When the grid is no grid of this selection.
    DataError
        When the loss does not take the data.
    """
    loss = bind(model.loss, problem, ridge=model.ridge, intercept=model.intercept)
    judging = judge(loss)
    if grid is None:
        run = Pursuit(loss, judging, ratio).pursue(_stops(loss, judging, limits))
        by_groups = limits.max_groups is not None or judging.by_row
        name = "max_groups" if by_groups else "max_features"
        reach = _reach(run, name, judging)
        asked = np.arange(reach.max())
        chosen, answered = _answers(reach, asked)
        if run.failed or not len(chosen) or chosen[-1] != len(run.states) - 1:
            asked = np.append(asked, len(asked))
            chosen, answered = _answers(reach, asked)
    else:
        name, asked = _asked(grid, limits.name)
        run = Pursuit(loss, judging, ratio).pursue(_stops_for(name, asked, limits))
        if name == limits.name:
            chosen, answered = _answers(-_goodness(run), -asked)
        else:
            chosen, answered = _answers(_reach(run, name, judging), asked)
    return _path(loss, judging, run, {name: asked.astype(float)}, chosen, answered)


def goodness_of_truth(problem: Problem, model: Model, judge: type[Judge]) -> float:
    """The best goodness at the minimiser on the true support, and a little more.

    So little that it only makes up for rounding: a run that comes to the true support ends there.

    Raises
    ------
    DataError
        When the truth is unknown, or the loss has no minimum on its support.
    """
    if problem.truth is None:
        raise DataError(
            "the stopping threshold of theory needs the true coefficients.",
            remedy="Give max_features or a threshold.",
        )
    loss = bind(model.loss, problem, ridge=model.ridge, intercept=model.intercept)
    fit = loss.fit()
    fit.add(np.flatnonzero(problem.truth).tolist())
    if not fit.converged:
        raise DataError(f"the fit on the true support has no certificate: {fit.message}")
    return judge(loss).best(fit, ())[1] * (1.0 + MARGIN)


def _stops(loss: Loss, judge: Judge, limits: Limits) -> Stops:
    """As given; half as many features as samples and coefficients allow when nothing is."""
    most = limits.max_features
    if most is None and limits.threshold is None and limits.max_groups is None:
        most = max(judge.width, min(loss.n_samples, loss.size) // 2)
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


def _reach(run: Run, name: str, judge: Judge) -> np.ndarray:
    """How many features, or rows, there would be after the next step from each state."""
    if name == "max_features":
        return np.array([len(state.support) + judge.width for state in run.states])
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


def _path(loss: Loss, judge: Judge, run: Run, grid, chosen, answered) -> Path:
    states = [run.states[index] for index in chosen]
    coef = np.zeros((len(states), loss.size))
    for row, state in zip(coef, states, strict=True):
        row[state.support] = state.values
    certified = np.array([state.certified for state in states])
    return Path(
        coef.reshape(-1, *loss.shape),
        grid,
        np.array([state.objective for state in states]),
        certified & (answered | (not run.failed)),
        " ".join(run.said),
        loss,
        np.array([state.dense for state in states]),
        {
            "additions": np.array([state.additions for state in states]),
            "removals": np.array([state.removals for state in states]),
        },
        _history(run, judge),
    )


def _history(run: Run, judge: Judge) -> dict[str, np.ndarray]:
    """One entry for each step; ``task`` when a row has several coefficients and one is taken."""
    units = np.array([step.unit for step in run.steps], dtype=np.int64)
    r = judge.loss.shape[1]
    told = {"step": np.arange(1, len(units) + 1), "action": [step.action for step in run.steps]}
    if r > 1 and not judge.by_row:
        told |= {"feature": units // r, "task": units % r}
    else:
        told["feature"] = units
    for name in ("objective", "goodness", "n_features", "n_rows"):
        told[name] = [getattr(step, name) for step in run.steps]
    return {name: np.asarray(values) for name, values in told.items()}
