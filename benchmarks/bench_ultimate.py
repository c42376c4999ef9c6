"""Compare a step of the ultimate method with the conic model of the paper.

The model is eq. 20 in 4 p + 1 variables, set up once per step and solved by the interior point
solver that the package uses as a fallback. Both alternate over the steps of one run of the package;
times are medians of processor times. The two inner loops have their default budgets.
Run: python benchmarks/bench_ultimate.py
"""

from __future__ import annotations

import time

import clarabel
import numpy as np
from _measuring import Comparison, report
from scipy import sparse

from greedyexp.algorithms.matching_pursuit.ultimate import (
    ultimate,
    ultimate_alternating,
    ultimate_ar_bcd,
)
from greedyexp.problems.problem import as_problem

N_SAMPLES, N_FEATURES, N_NONZERO, NOISE, LAM = 50, 500, 8, 0.5, 0.2
LEADING, STRIDE, STEPS = 3, 12, 16


def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_SAMPLES, N_FEATURES))
    truth = np.zeros(N_FEATURES)
    truth[rng.choice(N_FEATURES, N_NONZERO, replace=False)] = rng.choice([-1.0, 1.0], N_NONZERO)
    return X, X @ truth + NOISE * rng.standard_normal(N_SAMPLES)


def conic_model(P, y, lam):
    """The constant parts of the model: curvature, constraints, cones, settings."""
    n, p = P.shape
    curvature = np.zeros(4 * p + 1)
    curvature[-1] = (P**2).sum(axis=0).max() / n
    balance = np.hstack([-P, P, P, -P, np.zeros((n, 1))])
    length = np.concatenate([np.ones(2 * p), np.zeros(2 * p), [-1.0]])
    rows = sparse.vstack(
        [
            sparse.csc_matrix(balance),
            sparse.csc_matrix(length),
            sparse.hstack([-sparse.eye(4 * p), sparse.csc_matrix((4 * p, 1))]),
        ]
    ).tocsc()
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [clarabel.ZeroConeT(n), clarabel.NonnegativeConeT(4 * p + 1)]
    return sparse.diags(curvature).tocsc(), rows, cones, settings


def conic_step(P, y, lam, coef, model):
    """Return the representation of the next point."""
    n, p = P.shape
    curvature, rows, cones, settings = model
    gradient = P.T @ (P @ coef - y) / n
    price = np.full(p, lam)
    linear = np.concatenate([gradient, -gradient, price, price, [0.0]])
    bounds = np.concatenate([P @ coef, np.zeros(4 * p + 1)])
    parts = np.array(
        clarabel.DefaultSolver(curvature, linear, rows, bounds, cones, settings).solve().x
    )
    return parts[2 * p : 3 * p] - parts[3 * p : 4 * p]


def timed(action):
    start = time.thread_time()
    result = action()
    return time.thread_time() - start, result


def comparisons():
    X, y = data()
    problem = as_problem(X, y)
    model = conic_model(X, y, LAM)
    own_times, conic_times, apart = [], [], 0.0
    iteration = ultimate(problem, lam=LAM)
    iteration.advance(LEADING)
    for _ in range(STEPS):
        coef, k = iteration.coef, iteration.iteration
        seconds, found = timed(lambda coef=coef: conic_step(X, y, LAM, coef, model))
        conic_times.append(seconds)
        own_times.append(timed(lambda k=k: iteration.advance(k + 1))[0])
        apart = max(apart, np.abs(X @ (found - iteration.coef)).max())
        iteration.advance(k + STRIDE)
    own, conic = np.median(own_times), np.median(conic_times)
    remark = f"fits at most {apart:.1e} apart, our largest gap {iteration.certificate:.1e}"
    what = f"ultimate, {N_SAMPLES} x {N_FEATURES}, one step"
    yield Comparison(what, "Clarabel", own, conic, remark)
    for method in (ultimate_alternating, ultimate_ar_bcd):
        loop = method(problem, lam=LAM)
        seconds = timed(lambda loop=loop: loop.advance(50))[0] / 50
        yield Comparison(f"{method.__name__}, one step", "Clarabel", seconds, conic)


if __name__ == "__main__":
    report(comparisons, __doc__)
