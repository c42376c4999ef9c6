"""Problems on which adapters are compared with their packages."""

import numpy as np

from greedyexp.problems.problem import Problem, as_problem


def two_tasks(n: int = 60, p: int = 15, *, seed: int = 5) -> Problem:
    """Return two tasks of different designs, with columns of different norms."""
    rng = np.random.default_rng(seed)
    X = [rng.standard_normal((n, p)) * rng.uniform(0.5, 2, p) for _ in range(2)]
    truth = np.zeros((p, 2))
    truth[[1, 4, 7], 0], truth[[1, 2], 1] = (1.0, -2.0, 1.5), (2.0, 1.0)
    y = [Xj @ bj + 0.5 * rng.standard_normal(n) for Xj, bj in zip(X, truth.T, strict=True)]
    return as_problem(X, y, truth=truth)


def tasks_of(problem: Problem):
    """Yield the index, the design and the response of each task."""
    for j, (X, y) in enumerate(zip(problem.X, problem.y, strict=True)):
        yield j, np.asfortranarray(X), y
