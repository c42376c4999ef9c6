"""Find a loss by its name and bind it to the data of a problem.

Each loss is a module of this package that is named after it and defines ``KIND``. The module is
imported when the loss is first used. Code that works with any loss therefore does not depend on any
particular loss.
"""

from __future__ import annotations

from importlib import import_module

from greedyexp.core.errors import ConfigError
from greedyexp.losses.loss import Loss, LossKind
from greedyexp.problems.checks import check_feature_sizes
from greedyexp.problems.problem import Problem

MOST_RIDGE = 1e150

# The dotted name of the module of each loss.
MODULES = {
    name: f"{__package__}.{name}" for name in ("absolute", "crf", "hinge", "logistic", "squared")
}


def module_of(name: str) -> str:
    """Return the dotted name of the module that defines a loss, without importing it.

    Raises
    ------
    ConfigError
        If there is no such loss.
    """
    if name not in MODULES:
        raise ConfigError(f"unknown loss '{name}'.", remedy=f"Use {', '.join(MODULES)}.")
    return MODULES[name]


def kind_of(name: str) -> LossKind:
    """Return the ``KIND`` of a loss.

    Raises
    ------
    ConfigError
        If there is no such loss.
    """
    return import_module(module_of(name)).KIND


def names(*, smoothed: bool) -> list[str]:
    """Return the names of the losses that need smoothing, or of the others."""
    return [name for name in MODULES if kind_of(name).smoothed is smoothed]


def bind(name: str, problem: Problem, *, ridge: float = 0.0, intercept: bool = False) -> Loss:
    """Return a smooth loss over the rows of a problem.

    Parameters
    ----------
    name : {"squared", "logistic", "crf"}
        ``squared`` and ``logistic`` take one task. The response of ``logistic`` has two values:
        the higher counts as 1, the lower as -1. ``crf`` takes chains of labelled words.
    problem : Problem
    ridge : float >= 0
    intercept : bool
        Whether the model has an intercept, which is not penalised; ``crf`` has none.

    Raises
    ------
    ConfigError
        If there is no such loss, the ridge is negative or above 1e150, or the loss has no
        intercept.
    DataError
        If the loss does not accept these responses, tasks or chains, or if sums of squares of a
        feature or the response would overflow or underflow.
    """
    if name not in MODULES or kind_of(name).smoothed:
        known = ", ".join(names(smoothed=False))
        raise ConfigError(f"unknown loss '{name}'.", remedy=f"Use {known}.")
    kind = kind_of(name)
    check_ridge(ridge)
    refusal = kind.refusal(n_tasks=problem.n_tasks, intercept=intercept)
    if refusal is not None:
        raise refusal
    check_feature_sizes(problem.X[0], problem.feature_names)
    return kind.build(problem, ridge=ridge, intercept=intercept)


def check_ridge(ridge: float) -> None:
    """Raise ConfigError if the ridge is negative, too large or not a number."""
    if not 0 <= ridge <= MOST_RIDGE:
        raise ConfigError(
            f"ridge must be a number >= 0 and at most {MOST_RIDGE:g}, but is {ridge!r}."
        )
