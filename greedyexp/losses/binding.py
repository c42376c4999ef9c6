"""Bind a loss, which is found by its name, to the data of a problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from greedyexp.core import registry
from greedyexp.core.errors import ConfigError
from greedyexp.core.parts import LossKind
from greedyexp.losses.loss import Loss
from greedyexp.problems.checks import check_feature_sizes
from greedyexp.problems.problem import Problem

MOST_RIDGE = 1e150

# What an algorithm may need of its loss.
Suits = Callable[[LossKind], bool]


def is_smooth(kind: LossKind) -> bool:
    """Return True for a loss that can be bound by ``bind``."""
    return not kind.smoothed


def has_risk(kind: LossKind) -> bool:
    """Return True for a loss of one response, which ``risk.bind_risk`` can bind."""
    return not kind.per_class


def has_kernel(kind: LossKind) -> bool:
    """Return True for a loss with a kernel, as methods on an l1 ball need."""
    return kind.has_kernel


def needs_smoothing(kind: LossKind) -> bool:
    """Return True for a loss with a kink."""
    return kind.smoothed


def kind_of(name: str, suits: Suits = lambda kind: True) -> LossKind:
    """Return the registered loss of a name.

    Raises
    ------
    ConfigError
        If there is no such loss, or it does not suit.
    """
    kind = registry.lookup("loss", name)
    if kind is not None and suits(kind):
        return kind
    fault = f"unknown loss '{name}'" if kind is None else f"loss '{name}' does not suit this method"
    raise ConfigError(f"{fault}.", remedy=f"Use {', '.join(names(suits))}.")


def names(suits: Suits) -> list[str]:
    """Return the names of the losses that suit, sorted."""
    return [name for name, kind in registry.parts("loss").items() if suits(kind)]


def loss_of(params: Mapping[str, Any]) -> LossKind | None:
    """Return the registered loss that the parameters of an algorithm name; None if there is none.

    An algorithm of a plugin may have losses of its own.
    """
    name = params.get("loss")
    return registry.lookup("loss", name) if isinstance(name, str) else None


def minimises_squares(params: Mapping[str, Any]) -> bool:
    """Return True if an algorithm with these parameters minimises the squared loss.

    So do all algorithms without a parameter ``loss``.
    """
    loss = loss_of(params)
    return "loss" not in params or (loss is not None and loss.least_squares)


def bind(name: str, problem: Problem, *, ridge: float = 0.0, intercept: bool = False) -> Loss:
    """Return a smooth loss over the rows of a problem.

    Parameters
    ----------
    name : str
        Name of a registered loss that is smooth, such as "squared". If the response has two values,
        the higher counts as 1 and the lower as -1.
    problem : Problem
    ridge : float >= 0
    intercept : bool
        Whether the model has an intercept, which is not penalised.

    Raises
    ------
    ConfigError
        If there is no such loss, the ridge is negative or above 1e150, or the loss has no
        intercept.
    DataError
        If the loss does not accept these responses, tasks or chains, or if sums of squares of a
        feature or the response would overflow or underflow.
    """
    kind = kind_of(name, is_smooth)
    check_ridge(ridge)
    refusal = kind.refusal(n_tasks=problem.n_tasks, intercept=intercept, ridge=ridge)
    if refusal is not None:
        raise refusal
    if problem.X[0].shape[0]:
        check_feature_sizes(problem.X[0], problem.feature_names, problem.columns[0])
    return kind.function(problem, ridge=ridge, intercept=intercept)


def check_ridge(ridge: float) -> None:
    """Raise ConfigError if the ridge is negative, too large or not a number."""
    if not 0 <= ridge <= MOST_RIDGE:
        raise ConfigError(
            f"ridge must be a number >= 0 and at most {MOST_RIDGE:g}, but is {ridge!r}."
        )
