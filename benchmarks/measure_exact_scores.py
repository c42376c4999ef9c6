"""Time the exact scores of least squares: the decrease after a refit or of a single step.

Prints, for orthogonal matching pursuit and for forward-backward selection, milliseconds with either
score and their ratio, in alternating runs; then the time for the exact cost of all removals and the
time for fits without each feature. On one thread.
Run: python benchmarks/measure_exact_scores.py
"""

from __future__ import annotations

import numpy as np
from _measuring import cpu_seconds
from threadpoolctl import threadpool_limits

from greedyexp.algorithms.foba.gain import foba_obj
from greedyexp.algorithms.pursuit.omp import omp
from greedyexp.losses.squared import SquaredLoss
from greedyexp.problems.problem import Problem, as_problem

SIZES = ((100, 500, 14), (1000, 5000, 30), (2000, 512, 100))  # rows, features, nonzeros
REPEATS = 15
BUDGET = 1.2


def data(n, p, nonzeros):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p)) + 0.5 * rng.standard_normal((n, 1))
    truth = np.zeros(p)
    truth[rng.choice(p, nonzeros, replace=False)] = rng.standard_normal(nonzeros)
    return as_problem(X, X @ truth + 0.1 * rng.standard_normal(n))


def pursuit(problem: Problem, nonzeros, judge):
    return omp(problem, grid={"n_atoms": [nonzeros]}, judge=judge)


def selection(problem: Problem, nonzeros, judge):
    return foba_obj(problem, max_features=nonzeros, judge=judge)


def scores(solve, n, p, nonzeros):
    problem = data(n, p, nonzeros)
    _ = problem.gram, problem.correlation, problem.response_power
    single, refit = cpu_seconds(
        lambda: solve(problem, nonzeros, "coordinate"),
        lambda: solve(problem, nonzeros, "refit"),
        repeats=REPEATS,
    )
    print(
        f"{solve.__name__:9s} {n:5d} {p:5d} {nonzeros:4d} {1e3 * single:10.2f} {1e3 * refit:8.2f}"
        f" {refit / single:6.2f}"
    )


def removals(n, p, nonzeros):
    problem = data(n, p, nonzeros)
    loss = SquaredLoss(problem.X[0], problem.y[0])
    fit = loss.fit()
    fit.add(range(nonzeros))

    def anew():
        support = fit.support
        return [loss.minimise([s for s in support if s != i]).value - fit.value for i in support]

    worst = np.abs(fit.refit_removal_costs() / anew() - 1.0).max()
    exact, fits = cpu_seconds(fit.refit_removal_costs, anew, repeats=REPEATS)
    print(
        f"{nonzeros} features of {n} rows: {1e3 * exact:.3f} ms, fits {1e3 * fits:.1f} ms,"
        f" {fits / exact:.0f} times; largest relative difference {worst:.0e}"
    )


def main():
    with threadpool_limits(1):
        print(f"{'':9s} {'n':>5} {'p':>5} {'k':>4} {'single ms':>10} {'refit ms':>8} {'ratio':>6}")
        for solve in (pursuit, selection):
            for size in SIZES:
                scores(solve, *size)
        print(f"budget: a ratio of at most {BUDGET}")
        print("cost of each removal, the others fitted again:")
        for size in SIZES:
            removals(*size)


if __name__ == "__main__":
    main()
