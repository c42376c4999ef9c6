"""Compare iterations of the first-order methods with products P^T r by NumPy.

P is the design and r the residual. Times include the set-up of a method (Gram matrix, singular
values).
Run: python benchmarks/bench_matching_pursuit.py
"""

from __future__ import annotations

import numpy as np
from _measuring import Comparison, cpu_seconds, report

from greedyexp.algorithms.matching_pursuit.coordinate_descent import (
    gs_coordinate_descent,
    proximal_gs_coordinate_descent,
    rmp,
)
from greedyexp.algorithms.matching_pursuit.gradient_descent import (
    gradient_descent,
    proximal_gradient,
)
from greedyexp.problems.problem import as_problem

SHAPES = [(50, 1000), (500, 100), (50, 500), (50, 4000)]
ITERATIONS = 10_000
LAM = 0.05
ROUNDS = 5

METHODS = {
    "gradient_descent": gradient_descent,
    "gs_coordinate_descent": gs_coordinate_descent,
    "proximal_gradient": lambda problem: proximal_gradient(problem, lam=LAM),
    "proximal_gs_coordinate_descent": lambda problem: proximal_gs_coordinate_descent(
        problem, lam=LAM
    ),
    "rmp": lambda problem: rmp(problem, lam=LAM),
}


def data(n, p):
    rng = np.random.default_rng(0)
    P = rng.standard_normal((n, p))
    truth = np.zeros(p)
    truth[rng.choice(p, 8, replace=False)] = rng.choice([-1.0, 1.0], 8)
    return as_problem(P, P @ truth + 0.5 * rng.standard_normal(n))


def products(problem):
    P, r = problem.X[0], problem.y[0].copy()
    for _ in range(ITERATIONS):
        P.T @ r


def runner(method, problem):
    """Run all iterations with a target that is just missed, so that objectives are computed."""
    ahead = method(problem)
    first = ahead.objective
    ahead.advance(ITERATIONS)
    target = ahead.objective - 1e-9 * first

    return lambda _: method(problem).advance(ITERATIONS, target)


def comparisons():
    for n, p in SHAPES:
        problem = data(n, p)
        runs = [runner(method, problem) for method in METHODS.values()]
        theirs, *ours = cpu_seconds(
            lambda problem=problem: products(problem),
            *(lambda run=run, problem=problem: run(problem) for run in runs),
            repeats=ROUNDS,
        )
        for name, own in zip(METHODS, ours, strict=True):
            what = f"{name}, {n} x {p}, {ITERATIONS} iterations"
            yield Comparison(what, "products P^T r by NumPy", own, theirs)


if __name__ == "__main__":
    report(comparisons, __doc__)
