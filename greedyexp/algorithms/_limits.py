"""Limits that the shape of the data sets to parameters: one rule for experiments and for fits."""

from __future__ import annotations

from collections.abc import Callable

from greedyexp.core.errors import ConfigError
from greedyexp.problems.problem import Problem


def enforce(check: Callable[..., None], problem: Problem, **parameters) -> None:
    """Apply the check that an algorithm is registered with to a problem.

    Raises
    ------
    ConfigError
        When the check refuses.
    """
    try:
        check(problem.shape, **parameters)
    except ValueError as error:
        raise ConfigError(str(error)) from None


def check_max_support(shape: dict, *, max_support: int | None, **_) -> None:
    """Refuse a limit that no estimate of p features and r tasks could exceed.

    Raises
    ------
    ValueError
        With a sentence.
    """
    if max_support is not None and max_support > shape["n_features"] * shape["n_tasks"]:
        raise ValueError(
            f"max_support = {max_support} is more than the number of coefficients,"
            f" {shape['n_features'] * shape['n_tasks']}."
        )
