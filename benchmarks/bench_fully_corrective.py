"""Time fully corrective selection, and compare it with scikit-learn's pursuit.

On rows, each rule is compared with ``orthogonal_mp``, which selects the same features by the
gradient. For a distribution given by its moments, a selection is compared with its fits alone, that
is, with the features known.
Run: python benchmarks/bench_fully_corrective.py
"""

from __future__ import annotations

import numpy as np
from _measuring import Comparison, cpu_seconds, report
from sklearn.linear_model import orthogonal_mp

from greedyexp.algorithms.sparsity.fully_corrective import fully_corrective
from greedyexp.losses.risk import bind_risk
from greedyexp.problems.moments import SpreadMoments
from greedyexp.problems.problem import Problem, as_problem

RULES = ("objective", "gradient", "residual")
SIZES = ((500, 200, 30), (2000, 500, 100), (1000, 5000, 100))  # rows, features, taken
SPREAD = ((2_000, 1_000), (20_000, 4_000))  # features, taken
REPEATS = 7


def rows(n, d):
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (n, d))
    return as_problem(X, X @ rng.standard_normal(d) + rng.standard_normal(n))


def spread(d, a=0.1):
    """Moments of signs that agree with a label with probability (1 + a) / 2."""
    moments = SpreadMoments(np.full(d, 1 - a * a), np.full(d, a), np.full(d, a), 1.0)
    return Problem((np.zeros((0, d)),), (np.zeros(0),), moments=moments)


def on_rows(n, d, k):
    problem = rows(n, d)
    X, y, grid = problem.X[0], problem.y[0], {"steps": [k]}
    calls = [lambda rule=rule: fully_corrective(problem, rule=rule, grid=grid) for rule in RULES]
    theirs, *ours = cpu_seconds(
        lambda: orthogonal_mp(X, y, n_nonzero_coefs=k), *calls, repeats=REPEATS
    )
    for rule, own in zip(RULES, ours, strict=True):
        what = f"fully corrective by {rule}, {n} x {d}, {k} features"
        yield Comparison(what, "scikit-learn", own, theirs)


def on_moments(d, k):
    problem, grid = spread(d), {"steps": [k]}

    def bare():
        fit = bind_risk("squared", problem, population=True).fit()
        for feature in range(k):
            fit.add([feature])

    calls = [
        lambda rule=rule: fully_corrective(problem, risk="population", rule=rule, grid=grid)
        for rule in RULES
    ]
    alone, *ours = cpu_seconds(bare, *calls, repeats=1)
    for rule, own in zip(RULES, ours, strict=True):
        what = f"fully corrective by {rule}, {d} features by moments, {k} selected"
        yield Comparison(what, "fits alone", own, alone)


def comparisons():
    for size in SIZES:
        yield from on_rows(*size)
    for size in SPREAD:
        yield from on_moments(*size)


if __name__ == "__main__":
    report(comparisons, __doc__)
