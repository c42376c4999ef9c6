"""Problems of known answer for the tests of the greedy method."""

import numpy as np

from greedyexp.problems.problem import Problem, as_problem


def three_unequal_entries():
    """One row that matters, with gains 1, 0.4 and 0.4; columns are orthogonal."""
    Y = np.zeros((4, 3))
    Y[0] = np.sqrt(8 * np.array([1.0, 0.4, 0.4]))
    return as_problem(2.0 * np.eye(4), Y)


def two_tasks(seed, n=80, p=40, s=4, noise=0.1):
    rng = np.random.default_rng(seed)
    truth = np.zeros((p, 2))
    order = rng.permutation(p)
    truth[order[:s], 0] = rng.choice([-1.0, 1.0], s)
    truth[order[s // 2 : s // 2 + s], 1] = rng.choice([-1.0, 1.0], s)
    X = tuple(rng.standard_normal((n, p)) for _ in range(2))
    y = tuple(x @ b + noise * rng.standard_normal(n) for x, b in zip(X, truth.T, strict=True))
    return Problem(X, y, truth, noise, s)
