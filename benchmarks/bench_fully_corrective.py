"""Time fully corrective selection, and compare it with scikit-learn's pursuit.

Prints milliseconds of each rule on rows and the ratio to ``orthogonal_mp``, which selects the same
features by the gradient, in alternating runs; then, for a distribution given by its moments, the
ratio of a selection to a fit with known features. On one thread.
Run: python benchmarks/bench_fully_corrective.py
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.linear_model import orthogonal_mp
from threadpoolctl import threadpool_limits

from greedyexp.algorithms.sparsity.fully_corrective import fully_corrective
from greedyexp.losses.risk import bind_risk
from greedyexp.problems.moments import SpreadMoments
from greedyexp.problems.problem import Problem, as_problem

RULES = ("objective", "gradient", "residual")
SIZES = ((500, 200, 30), (2000, 500, 100), (1000, 5000, 100))  # rows, features, taken
SPREAD = ((2_000, 1_000), (20_000, 4_000))  # features, taken
ROWS_BUDGET, SPREAD_BUDGET, REPEATS = 2.5, 3.0, 7


def rows(n, d):
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (n, d))
    return as_problem(X, X @ rng.standard_normal(d) + rng.standard_normal(n))


def spread(d, a=0.1):
    """Moments of signs that agree with a label with probability (1 + a) / 2."""
    moments = SpreadMoments(np.full(d, 1 - a * a), np.full(d, a), np.full(d, a), 1.0)
    return Problem((np.zeros((0, d)),), (np.zeros(0),), moments=moments)


def in_turns(repeats, *calls):
    """Shortest time of each call in seconds, in alternating runs."""
    least = [np.inf] * len(calls)
    for _ in range(repeats):
        for k, call in enumerate(calls):
            start = time.perf_counter()
            call()
            least[k] = min(least[k], time.perf_counter() - start)
    return least


def on_rows(n, d, k):
    problem = rows(n, d)
    X, y, grid = problem.X[0], problem.y[0], {"steps": [k]}
    calls = [lambda rule=rule: fully_corrective(problem, rule=rule, grid=grid) for rule in RULES]
    peer, *ours = in_turns(REPEATS, lambda: orthogonal_mp(X, y, n_nonzero_coefs=k), *calls)
    told = "  ".join(f"{1e3 * t:8.1f} {t / peer:5.2f}" for t in ours)
    print(f"{n:5d} {d:5d} {k:4d} {1e3 * peer:8.1f}  {told}")


def on_moments(d, k):
    problem, grid = spread(d), {"steps": [k]}

    def bare():
        fit = bind_risk("squared", problem, population=True).fit()
        for feature in range(k):
            fit.add([feature])

    alone, *ours = in_turns(
        1,
        bare,
        *(
            lambda rule=rule: fully_corrective(problem, risk="population", rule=rule, grid=grid)
            for rule in RULES
        ),
    )
    told = "  ".join(f"{t:6.2f} {t / alone:5.2f}" for t in ours)
    print(f"{d:6d} {k:5d} {alone:6.2f}  {told}")


def main():
    with threadpool_limits(1):
        print(f"rows: n d k, ms of orthogonal_mp, then ms and ratio of {', '.join(RULES)}")
        for size in SIZES:
            on_rows(*size)
        print(f"budget: a ratio of at most {ROWS_BUDGET}")
        print(f"moments: d k, seconds of the fits alone, seconds and ratio of {', '.join(RULES)}")
        for size in SPREAD:
            on_moments(*size)
        print(f"budget: a ratio of at most {SPREAD_BUDGET}")


if __name__ == "__main__":
    main()
