"""Small problems for checks, with the traits that an algorithm requires."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from greedyexp.core.errors import ConfigError
from greedyexp.problems.moments import DenseMoments
from greedyexp.problems.pairs import pair_problem
from greedyexp.problems.problem import Problem

# Traits of the problems made here.
_MADE = (
    *("truth", "noise_std", "test_rows", "rows", "multi_task", "one_response"),
    *("labels", "two_values", "counts", "classes", "chains", "moments", "covariance"),
)
_NOISE = 0.5
_WORDS_OF_A_CHAIN = 5


class Given(NamedTuple):
    """A problem and words for it."""

    problem: Problem
    words: str


def refuse_unknown(needs: Collection[str]) -> None:
    """Raise ``ConfigError`` for a trait of which no problems are made here."""
    unknown = sorted(set(needs) - set(_MADE))
    if unknown:
        raise ConfigError(
            f"the checks have no problems with the trait '{unknown[0]}'.",
            remedy=f"Known: {', '.join(_MADE)}.",
        )


def given(
    needs: Collection[str],
    n: int = 40,
    p: int = 12,
    *,
    tasks: int = 0,
    shared: bool = True,
    seed: int = 0,
    design: Callable[[np.ndarray], np.ndarray] | None = None,
    about: str = "",
) -> Given:
    """Return a problem with n rows and p features, three of which count, and these traits.

    Parameters
    ----------
    tasks : int
        Number of tasks; 0 for the least that the traits allow.
    shared : bool
        Whether all tasks have one design. Otherwise each has one row more than the one before.
    design : callable, optional
        Changes the design before the responses are computed.
    about : str
        What the words add.
    """
    rng = np.random.default_rng([seed, n, p, tasks])
    several = {"multi_task", "chains", "classes"} & set(needs)
    r = tasks or (2 if several else 1)
    truth = np.zeros((p, r))
    truth[: min(p, 3)] = rng.choice([-1.0, 1.0], size=(min(p, 3), r))
    lengths = [n] * r if shared else [n + j for j in range(r)]
    designs = [rng.standard_normal((m, p)) for m in (lengths[:1] if shared else lengths)]
    designs = [X if design is None else design(X) for X in designs]
    X = tuple(designs * r if shared else designs)
    y = tuple(Xj @ truth[:, j] + _NOISE * rng.standard_normal(len(Xj)) for j, Xj in enumerate(X))
    if {"labels", "two_values"} & set(needs):
        y = tuple(np.where(yj > np.median(yj), 1.0, -1.0) for yj in y)
    if "counts" in needs:
        y = tuple(rng.poisson(np.exp(yj / 2)).astype(float) for yj in y)
    if "classes" in needs:
        y = tuple((np.argmax(y, axis=0) == j).astype(float) for j in range(r))
    problem = Problem(X, y, truth, _NOISE, min(p, 3), X_test=X, y_test=y)
    if "chains" in needs:
        problem = _chained(problem)
    if "covariance" in needs:
        # One pair needs two variables.
        variables = np.hstack([X[0], np.flip(X[0])])[:, : max(p, 2)]
        truth = np.eye(max(p, 2)) + 0.1 * np.eye(max(p, 2), k=1)
        problem = pair_problem(variables, truth=truth)
    if "moments" in needs:
        problem = replace(problem, moments=_moments(problem))
    return Given(problem, f"{_size(problem)}{about}")


def edited(one: Given, about: str, **changes) -> Given:
    """Return a problem with other fields, and add to its words."""
    return Given(replace(one.problem, **changes), one.words + about)


def frozen(problem: Problem) -> Problem:
    """Make the arrays of a problem read-only, as a run does, and return it."""
    for array in arrays(problem):
        array.flags.writeable = False
    return problem


def arrays(problem: Problem) -> list[np.ndarray]:
    """Return the arrays of a problem with dense designs."""
    truth = [] if problem.truth is None else [problem.truth]
    return [*problem.X, *problem.X_test, *problem.y, *problem.y_test, *truth]


def _chained(problem: Problem) -> Problem:
    """Return the problem with words of two classes for rows, in chains."""
    first = (problem.y[0] > np.median(problem.y[0])).astype(float)
    n = len(first)
    full, rest = divmod(n, _WORDS_OF_A_CHAIN)
    lengths = np.array([_WORDS_OF_A_CHAIN] * full + [rest] * bool(rest))
    y = (first, 1.0 - first)
    return replace(problem, y=y, chains=lengths, X_test=(), y_test=())


def _moments(problem: Problem) -> DenseMoments:
    """Return the moments of the rows, with features divided so that none has E[x^2] > 1."""
    X, y = problem.X[0], problem.y[0]
    X = X / max(1.0, 1.01 * float(np.sqrt((X**2).mean(axis=0)).max()))
    matrix = X.T @ X / len(X)
    return DenseMoments((matrix + matrix.T) / 2, X.T @ y / len(X), float((y**2).mean()))


def _size(problem: Problem) -> str:
    n = problem.n_samples
    rows = f"{n[0]} rows" if n.min() == n.max() else f"{n.min()} to {n.max()} rows"
    p, r = problem.n_features, problem.n_tasks
    return f"{rows}, {p} feature{'s' * (p > 1)} and {r} task{'s' * (r > 1)}"
