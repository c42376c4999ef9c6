"""Find a loss by its name and bind it to the data of a problem.

Each loss is one file in this package that is named after it and defines ``KIND``. The file is
imported when the loss is first used. Code that works with any loss therefore depends on none in
particular.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path

from greedyexp.core.errors import ConfigError
from greedyexp.losses.loss import Loss, LossKind
from greedyexp.problems.checks import check_feature_sizes
from greedyexp.problems.problem import Problem

MOST_RIDGE = 1e150

_ROOT = Path(__file__).resolve().parent
_DEFINITION = re.compile(r"^KIND\b", re.MULTILINE)


@cache
def modules() -> dict[str, str]:
    """Map the name of each loss to the dotted name of its module."""
    found = {}
    for path in sorted(_ROOT.rglob("*.py")):
        if _DEFINITION.search(path.read_text(encoding="utf-8")):
            inside = path.relative_to(_ROOT).with_suffix("").parts
            found[path.stem] = ".".join((__package__, *inside))
    return found


def module_of(name: str) -> str:
    """Return the dotted name of the module that defines a loss, without importing it.

    Raises
    ------
    ConfigError
        If there is no such loss.
    """
    if name not in modules():
        raise ConfigError(f"unknown loss '{name}'.", remedy=f"Use {_listed(modules())}.")
    return modules()[name]


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
    return [name for name in modules() if kind_of(name).smoothed is smoothed]


def bind(name: str, problem: Problem, *, ridge: float = 0.0, intercept: bool = False) -> Loss:
    """Return a smooth loss over the rows of a problem.

    Parameters
    ----------
    name : {"squared", "logistic", "crf"}
        ``squared`` and ``logistic`` take one task. The response of ``logistic`` has two values; the
        higher stands for 1 and the lower for -1. ``crf`` takes chains of labelled words.
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
    if name not in modules() or kind_of(name).smoothed:
        raise ConfigError(
            f"unknown loss '{name}'.", remedy=f"Use {_listed(names(smoothed=False))}."
        )
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


def _listed(known) -> str:
    return ", ".join(known)
