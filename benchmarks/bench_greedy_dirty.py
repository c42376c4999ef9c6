"""Compare a path of the greedy dirty model with one run for each threshold, as in the paper.

A path has one w and all epsilon, at the phase transition; Gram matrices are computed before.
Run: python benchmarks/bench_greedy_dirty.py
"""

from __future__ import annotations

import math

import numpy as np
from _measuring import Comparison, cpu_seconds, report

from greedyexp.algorithms.dirty.greedy_dirty import greedy_dirty
from greedyexp.problems.problem import Problem

# p, kappa, theta
SIZES = ((128, 2 / 3, 1.0), (512, 2 / 3, 1.0), (512, 2 / 3, 0.5), (2048, 2 / 3, 1.0))
WEIGHT = 1.5
N_THRESHOLDS = 50


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


def each_threshold(problem: Problem):
    unit = problem.sparsity * math.log(problem.n_features) / problem.n_samples.min()
    for epsilon in unit * np.geomspace(1e-4, 10, N_THRESHOLDS):
        greedy_dirty(problem, w=WEIGHT, epsilon=epsilon)


def comparisons():
    for p, kappa, theta in SIZES:
        problem = two_tasks(p, kappa, theta)
        problem.gram, problem.correlation, problem.response_power  # noqa: B018  computed once
        path = greedy_dirty(problem, w=WEIGHT)
        found = (np.sign(path.coef) == np.sign(problem.truth)).all(axis=(1, 2)).any()
        ours, theirs = cpu_seconds(
            lambda problem=problem: greedy_dirty(problem, w=WEIGHT),
            lambda problem=problem: each_threshold(problem),
            repeats=5 if p <= 512 else 1,
        )
        what = f"greedy dirty model, p = {p}, n = {problem.n_samples[0]}, theta = {theta}"
        peer = f"one run for each of {N_THRESHOLDS} thresholds"
        remark = f"{len(path)} estimates, truth {'on' if found else 'not on'} the path"
        yield Comparison(what, peer, ours, theirs, remark)


if __name__ == "__main__":
    report(comparisons, __doc__)
