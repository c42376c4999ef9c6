"""Time the convex baselines on the data of the main experiment, on one thread.

Prints milliseconds for the whole tuning grid of each method, for each theta the mean over kappa,
with p = 512, two tasks, s = 51, values +-1 and noise 0.1. Gram matrices are computed before.
Run: python benchmarks/measure_dirty_path.py
"""

from __future__ import annotations

import time

import numpy as np
from threadpoolctl import threadpool_limits

from greedyexp.algorithms.dirty.dirty_lasso import dirty_lasso
from greedyexp.algorithms.lasso.group_lasso import group_lasso
from greedyexp.algorithms.lasso.lasso import lasso
from greedyexp.generators.multitask_overlap import multitask_overlap

P, KAPPAS = 512, (0.3, 2 / 3, 0.8)
THETAS = (0.4, 0.8, 1.2, 1.6, 2.0, 2.4, 2.8, 3.2, 3.6, 4.0, 4.4)
METHODS = {"lasso": (lasso, 10.0), "l1/linf": (group_lasso, 40.0), "dirty": (dirty_lasso, 200.0)}
REPEATS = 3


def problems(theta):
    for kappa in KAPPAS:
        problem = multitask_overlap(np.random.default_rng(1), p=P, kappa=kappa, theta=theta)
        _ = problem.gram, problem.correlation, problem.response_power
        yield problem


def milliseconds(method, problem, max_support):
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        path = method(problem, max_support=max_support)
        times.append(time.perf_counter() - start)
    if not path.converged.all():
        raise SystemExit(f"{method.__name__}: {path.message}")
    return 1e3 * min(times)


def table(max_support):
    print(f"{'theta':>6} {'n':>5} " + " ".join(f"{name:>9}" for name in METHODS))
    rows = []
    for theta in THETAS:
        cells = []
        for problem in problems(theta):
            cells.append([milliseconds(f, problem, max_support) for f, _ in METHODS.values()])
        rows.append(np.mean(cells, axis=0))
        numbers = " ".join(f"{value:9.2f}" for value in rows[-1])
        print(f"{theta:6.1f} {problem.n_samples[0]:5d} {numbers}")
    print(f"{'mean':>12} " + " ".join(f"{value:9.2f}" for value in np.mean(rows, axis=0)))


def main():
    with threadpool_limits(1):
        print("ms for 50 lam (dirty: for 5 ratios each), down to 0.01 of the largest")
        table(None)
        size = 3 * 2 * round(P / 10)
        print(f"the same with max_support = {size}, three times the true support")
        table(size)
    print("budget       " + " ".join(f"{budget:9.1f}" for _, budget in METHODS.values()))


if __name__ == "__main__":
    main()
