"""Time iterations of the first-order methods, and products P^T r, on one thread.

Times are the shortest of several alternating runs and include the set-up of a method (Gram matrix,
singular values).
Run: python benchmarks/bench_matching_pursuit.py
"""

from __future__ import annotations

import time

import numpy as np
from threadpoolctl import threadpool_limits

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


def main():
    for shape in SHAPES:
        problem = data(*shape)
        sides = {"products": products}
        sides |= {name: runner(method, problem) for name, method in METHODS.items()}
        least = dict.fromkeys(sides, np.inf)
        for _ in range(ROUNDS):
            for name, side in sides.items():
                begin = time.perf_counter()
                side(problem)
                least[name] = min(least[name], time.perf_counter() - begin)
        print(f"n = {shape[0]}, p = {shape[1]}, {ITERATIONS} iterations")
        for name, seconds in least.items():
            print(
                f"  {name:32s} {1e6 * seconds / ITERATIONS:8.2f} us each"
                f"  {seconds / least['products']:6.2f} times the products"
                f"  {seconds / least['gs_coordinate_descent']:6.2f} times GS-CD"
            )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
