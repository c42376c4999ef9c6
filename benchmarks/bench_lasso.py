"""Time a Lasso path, scikit-learn's coordinate descent and its homotopy, on one thread.

Times include the Gram matrix and are the shortest of several repeats. All three methods end at the
same smallest lam.
Run: python benchmarks/bench_lasso.py
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.linear_model import lars_path, lasso_path
from threadpoolctl import threadpool_limits

from greedyexp.algorithms.lasso.lasso import lasso
from greedyexp.problems.problem import as_problem

N_SAMPLES, N_FEATURES, N_NONZERO = 400, 512, 50
N_LAMS, LAM_MIN_RATIO = 100, 0.01
TOL = 1e-6
REPEATS = 7


def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_SAMPLES, N_FEATURES))
    truth = np.zeros(N_FEATURES)
    truth[rng.choice(N_FEATURES, N_NONZERO, replace=False)] = rng.choice([-1.0, 1.0], N_NONZERO)
    return X, X @ truth + 0.5 * rng.standard_normal(N_SAMPLES)


def least_time(action):
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        result = action()
        times.append(time.perf_counter() - start)
    return min(times), result


def objective(X, y, coef, lams):
    residual = y - coef @ X.T
    return (residual**2).sum(axis=1) / (2 * len(y)) + lams * np.abs(coef).sum(axis=1)


def main():
    X, y = data()
    with threadpool_limits(1):
        settings = {"n_lams": N_LAMS, "lam_min_ratio": LAM_MIN_RATIO, "tol": TOL}
        own, path = least_time(lambda: lasso(as_problem(X, y), **settings))
        lams = path.grid["lam"]
        descent, found = least_time(lambda: lasso_path(X, y, alphas=lams, tol=TOL))
        homotopy, bends = least_time(
            lambda: lars_path(X, y, method="lasso", alpha_min=lams[-1], Gram="auto")
        )
    alphas, _, corners = bends
    exact = np.stack([np.interp(lams, alphas[::-1], line[::-1]) for line in corners], axis=1)
    reached = objective(X, y, path.coef[:, :, 0], lams)
    null = (y @ y) / (2 * len(y))
    rows = [
        ("greedyexp lasso", own, path.coef[:, :, 0]),
        ("sklearn lasso_path", descent, found[1].T),
        ("sklearn lars_path", homotopy, exact),
    ]
    print(f"{N_SAMPLES} x {N_FEATURES}, {N_LAMS} lam down to {LAM_MIN_RATIO} of the largest")
    for name, seconds, coef in rows:
        above = (objective(X, y, coef, lams) - reached).max() / null
        print(
            f"{name:20s} {1e3 * seconds:8.2f} ms  {seconds / own:6.2f} times ours"
            f"  worst objective above ours {above:9.1e}"
        )
    support = np.count_nonzero(path.coef[-1])
    print(f"support at the end: {support}; certified points: {path.converged.sum()} of {N_LAMS}")


if __name__ == "__main__":
    main()
