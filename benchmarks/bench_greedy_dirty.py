"""Time a path of the greedy dirty model, on one thread.

A path has one w and all epsilon, at the phase transition; Gram matrices are computed before. The
time is compared with that of one run for each threshold of a grid, as in the paper's search.
Run: python benchmarks/bench_greedy_dirty.py
"""

from __future__ import annotations

import math
import time

import numpy as np
from threadpoolctl import threadpool_limits

from greedyexp.algorithms.dirty.greedy_dirty import greedy_dirty
from greedyexp.problems.problem import Problem

# p, kappa, theta, budget in milliseconds
SIZES = (
    (128, 2 / 3, 1.0, None),
    (512, 2 / 3, 1.0, 10.0),
    (512, 2 / 3, 0.5, None),
    (2048, 2 / 3, 1.0, 1500.0),
    (2048, 2 / 3, 0.6, 1500.0),
)
WEIGHT = 1.5
REPEATS = 7
GRID_SIZE = 50


def two_tasks(p: int, kappa: float, theta: float) -> Problem:
    """The synthetic experiment of section 4.1 with values +-1 and noise 0.1."""
    rng = np.random.default_rng(1)
    s = round(p / 10)
    n = math.ceil(theta * s * math.log(p - (2 - kappa) * s))
    order, shared = rng.permutation(p), round(kappa * s)
    truth = np.zeros((p, 2))
    truth[order[:s], 0] = rng.choice([-1.0, 1.0], s)
    truth[np.r_[order[:shared], order[s : 2 * s - shared]], 1] = rng.choice([-1.0, 1.0], s)
    X = tuple(rng.standard_normal((n, p)) for _ in range(2))
    y = tuple(X[j] @ truth[:, j] + 0.1 * rng.standard_normal(n) for j in range(2))
    return Problem(X, y, truth, 0.1, s)


def seconds(work) -> float:
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def main():
    greedy_dirty(two_tasks(128, 0.5, 1.0))
    for p, kappa, theta, budget in SIZES:
        problem = two_tasks(p, kappa, theta)
        problem.gram, problem.correlation, problem.response_power  # noqa: B018  computed once
        path = greedy_dirty(problem, w=WEIGHT)
        elapsed = seconds(lambda problem=problem: greedy_dirty(problem, w=WEIGHT))
        found = (np.sign(path.coef) == np.sign(problem.truth)).all(axis=(1, 2)).any()
        limit = f" (budget {budget:g} ms)" if budget else ""
        print(
            f"p = {p}, n = {problem.n_samples[0]}, theta = {theta}: {1e3 * elapsed:.2f} ms{limit},"
            f" {len(path)} estimates, truth {'on' if found else 'not on'} the path"
        )
        if p == 512:
            print(f"  one run per threshold: {each_threshold(problem) / elapsed:.1f} times as long")


def each_threshold(problem: Problem) -> float:
    unit = problem.sparsity * math.log(problem.n_features) / problem.n_samples.min()
    thresholds = unit * np.geomspace(1e-4, 10, GRID_SIZE)
    return seconds(lambda: [greedy_dirty(problem, w=WEIGHT, epsilon=e) for e in thresholds])


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
