"""Binding a loss, called by its name, to the data of a problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from greedyexp.core.errors import ConfigError, DataError, UserError
from greedyexp.losses.absolute import AbsoluteLoss
from greedyexp.losses.crf.loss import CrfLoss
from greedyexp.losses.hinge import HingeLoss
from greedyexp.losses.logistic import LogisticLoss
from greedyexp.losses.loss import Loss
from greedyexp.losses.population import PopulationSquaredLoss
from greedyexp.losses.squared import SquaredLoss
from greedyexp.problems.chains import classes_of
from greedyexp.problems.problem import Problem
from greedyexp.problems.scales import refuse_feature_sizes, refuse_response_size

MOST_RIDGE = 1e150
LEAST_BETA, MOST_BETA = 1e-100, 1e100


@dataclass(frozen=True)
class Kind:
    """What is known of a loss before there are data.

    Parameters
    ----------
    name : str
    build : callable
        From a problem and the keywords ridge and, where there can be one, intercept to the loss;
        one that is smoothed takes beta.
    traits : tuple of str
        What data must have.
    intercept : bool
        Whether there can be one.
    per_class : bool
        Whether tasks are classes, for each of which every feature has a coefficient. Another loss
        takes one task.
    smoothed : bool
        Whether it is not smooth as it is.
    """

    name: str
    build: Callable[..., Loss]
    traits: tuple[str, ...] = ()
    intercept: bool = True
    per_class: bool = False
    smoothed: bool = False

    def refusal(self, *, n_tasks: int, intercept: bool) -> UserError | None:
        """The error when data of so many tasks, or an intercept, cannot be; None when they can."""
        if intercept and not self.intercept:
            return ConfigError(
                f"the {self.name} loss has no intercept.", remedy="Leave intercept out."
            )
        if n_tasks > 1 and not self.per_class:
            return DataError(
                f"the {self.name} loss takes one response, but the data have {n_tasks}.",
                remedy="Give one of them.",
            )
        return None


def bind(name: str, problem: Problem, *, ridge: float = 0.0, intercept: bool = False) -> Loss:
    """A loss over the rows of a problem that are fitted to.

    Parameters
    ----------
    name : {"squared", "logistic", "crf"}
        ``squared`` and ``logistic`` take one task, the latter with two values as responses, of
        which the higher stands for 1 and the lower for -1; ``crf`` takes chains of labelled words.
    problem : Problem
    ridge : float >= 0
    intercept : bool
        Whether there is one, which nothing penalises and which is in every model; ``crf`` has none.

    Raises
    ------
    ConfigError
        When there is no such loss, ridge is negative or beyond 1e150, or the loss has no intercept.
    DataError
        When the loss cannot be that of these responses, tasks or chains, or a feature or the
        response is so large or small that sums of squares would overflow or underflow.
    """
    if name not in KINDS:
        raise ConfigError(f"there is no loss named '{name}'.", remedy=f"Use {', '.join(KINDS)}.")
    kind = KINDS[name]
    _refuse_ridge(ridge)
    refusal = kind.refusal(n_tasks=problem.n_tasks, intercept=intercept)
    if refusal is not None:
        raise refusal
    refuse_feature_sizes(problem.X[0], problem.feature_names)
    return kind.build(problem, ridge=ridge, intercept=intercept)


def _refuse_ridge(ridge: float) -> None:
    """Refuse a ridge that no loss takes."""
    if not 0 <= ridge <= MOST_RIDGE:
        raise ConfigError(
            f"ridge must be a number >= 0 and at most {MOST_RIDGE:g}, but is {ridge!r}."
        )


def _squared(problem: Problem, *, ridge: float, intercept: bool) -> Loss:
    refuse_response_size(problem.y[0])
    return SquaredLoss(problem.X[0], problem.y[0], ridge=ridge, intercept=intercept)


def _logistic(problem: Problem, *, ridge: float, intercept: bool) -> Loss:
    y = problem.y[0]
    values = _two_values(y, "logistic")
    return LogisticLoss(problem.X[0], y, ridge=ridge, intercept=intercept, values=values)


def _crf(problem: Problem, *, ridge: float, intercept: bool) -> Loss:
    labels, chains = _words(problem)
    return CrfLoss(problem.X[0], labels, chains, n_classes=problem.n_tasks, ridge=ridge)


def _absolute(problem: Problem, *, ridge: float, beta: float) -> Loss:
    refuse_response_size(problem.y[0])
    return AbsoluteLoss(problem.X[0], problem.y[0], beta=beta, ridge=ridge)


def _hinge(problem: Problem, *, ridge: float, beta: float) -> Loss:
    y = problem.y[0]
    values = _two_values(y, "hinge")
    return HingeLoss(problem.X[0], y, beta=beta, ridge=ridge, values=values)


def _two_values(y: np.ndarray, name: str) -> tuple[float, float]:
    """The lower and the higher of two values.

    One value is refused, although a ridge or an l1 ball would make a minimum exist: whether it
    means -1 or 1 is unknown, and the two estimates differ in sign.
    """
    values = np.unique(y)
    if len(values) == 1:
        raise DataError(
            f"all responses are {values[0]:g}: the {name} loss needs two classes, since one value"
            " does not say which of them it is.",
            remedy="Give rows of both classes.",
        )
    if len(values) > 2:
        raise DataError(
            f"the responses have {len(values)} values: the {name} loss takes two.",
            remedy="Give the labels of two classes, or use the squared loss.",
        )
    return float(values[0]), float(values[1])


def _words(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """The class of each word and the lengths of the chains."""
    if problem.chains is None:
        raise DataError(
            "the crf loss needs sequences of labelled words.",
            remedy="Give the lengths of the chains, or use another loss.",
        )
    indicators = np.stack(problem.y) if len(set(problem.n_samples)) == 1 else None
    if indicators is None or not problem.shared_design:
        raise DataError(
            "the classes of the words in chains must share one design.",
            remedy="Give every class the same array as X.",
        )
    if not (np.isin(indicators, (0.0, 1.0)).all() and (indicators.sum(axis=0) == 1.0).all()):
        raise DataError(
            "each word must be of exactly one class.",
            remedy="Give responses that are 1 where a word is of the class and 0 elsewhere.",
        )
    return classes_of(problem.y), problem.chains


KINDS = {
    kind.name: kind
    for kind in (
        Kind("squared", _squared),
        Kind("logistic", _logistic),
        Kind("crf", _crf, traits=("chains",), intercept=False, per_class=True),
    )
}


RISKS = {
    kind.name: kind
    for kind in (
        KINDS["squared"],
        KINDS["logistic"],
        Kind("absolute", _absolute, intercept=False, smoothed=True),
        Kind("hinge", _hinge, intercept=False, smoothed=True),
    )
}


def bind_risk(
    name: str,
    problem: Problem,
    *,
    ridge: float = 0.0,
    beta: float | None = None,
    population: bool = False,
) -> Loss:
    """A loss with its constants, over the rows of a problem or over its distribution.

    Parameters
    ----------
    name : {"squared", "logistic", "absolute", "hinge"}
        The latter two smoothed; ``logistic`` and ``hinge`` take two values as responses, of which
        the higher stands for 1 and the lower for -1.
    problem : Problem
        One task; of ``population`` one with moments.
    ridge : float >= 0
    beta : float > 0, optional
        Smoothness of ``absolute`` and ``hinge``; the others have their own.
    population : bool
        The expectation under the distribution, known for ``squared``.

    Raises
    ------
    ConfigError
        As ``bind``; when beta is missing, not positive and finite, or not wanted; when a population
        is asked for with a loss other than ``squared``.
    DataError
        As ``bind``; when a population is asked for whose moments are not known, or a mean over rows
        when there are none.
    """
    refusal = risk_refusal(
        name,
        beta=beta,
        population=population,
        n_tasks=problem.n_tasks,
        n_samples=problem.n_samples[0],
    )
    if refusal is not None:
        raise refusal
    kind = RISKS[name]
    _refuse_ridge(ridge)
    if population:
        return _population(problem, ridge)
    refuse_feature_sizes(problem.X[0], problem.feature_names)
    if kind.smoothed:
        return kind.build(problem, ridge=ridge, beta=beta)
    return kind.build(problem, ridge=ridge, intercept=False)


def risk_refusal(
    name: str, *, beta: float | None, population: bool, n_tasks: int, n_samples: int
) -> UserError | None:
    """The error when no problem of this shape can have such a risk; None when some can.

    Parameters
    ----------
    name, beta, population : see ``bind_risk``
    n_tasks, n_samples : int
        Of the problem.
    """
    if name not in RISKS:
        return ConfigError(
            f"there is no risk of a loss named '{name}'.", remedy=f"Use {', '.join(RISKS)}."
        )
    if population and name != "squared":
        return ConfigError(
            f"the expected {name} loss of a distribution is not known.",
            remedy="Use the squared loss, or take the mean over the rows.",
        )
    if not population and n_samples == 0:
        return DataError(
            "there are no rows to take a mean over.",
            remedy="Draw some, or give risk: population.",
        )
    kind = RISKS[name]
    return _beta_refusal(kind, beta) or kind.refusal(n_tasks=n_tasks, intercept=False)


def _beta_refusal(kind: Kind, beta: float | None) -> ConfigError | None:
    if kind.smoothed and beta is None:
        return ConfigError(
            f"the {kind.name} loss is not smooth.", remedy="Give beta, to which it is smoothed."
        )
    if not kind.smoothed and beta is not None:
        return ConfigError(f"the {kind.name} loss is smooth as it is.", remedy="Leave beta out.")
    if beta is not None and not LEAST_BETA <= beta <= MOST_BETA:
        return ConfigError(
            f"beta must be a number > 0, from {LEAST_BETA:g} to {MOST_BETA:g}, but is {beta!r}."
        )
    return None


def _population(problem: Problem, ridge: float) -> Loss:
    if problem.moments is None:
        raise DataError(
            "the moments of the distribution are not known.",
            remedy="Take the mean over the rows, or data that state their moments.",
        )
    return PopulationSquaredLoss(problem.moments, ridge=ridge)
