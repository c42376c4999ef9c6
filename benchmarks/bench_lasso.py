"""Compare Lasso paths with scikit-learn and celer: CPU times on one thread.

All methods return the estimates at the same 100 values of lam. The times of greedyexp include all
checks of the data. Peers get the design in the order of memory that suits them.
Run: python benchmarks/bench_lasso.py
"""

from __future__ import annotations

import sys

import numpy as np
from _measuring import Comparison, cpu_seconds, report
from sklearn.linear_model import lars_path, lasso_path

from greedyexp.algorithms.lasso.lasso import lasso
from greedyexp.problems.problem import as_problem

try:
    from celer import celer_path
except ModuleNotFoundError:
    celer_path = None

N_NONZERO, N_LAMS = 50, 100
TOL = 1e-7


def data(n_samples, n_features):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_samples, n_features))
    truth = np.zeros(n_features)
    truth[rng.choice(n_features, N_NONZERO, replace=False)] = rng.choice([-1.0, 1.0], N_NONZERO)
    return X, X @ truth + 0.5 * rng.standard_normal(n_samples)


def worst_gap(X, y, coef, lams):
    """Return the largest duality gap of estimates (m, p), relative to the objective at zero."""
    n = len(y)
    residual = y - coef @ X.T
    grad = residual @ X / n
    t = np.minimum(1.0, lams / np.abs(grad).max(axis=1))
    slack = np.maximum(lams[:, None] * np.abs(coef) - t[:, None] * coef * grad, 0.0).sum(axis=1)
    gap = (residual**2).sum(axis=1) / (2 * n) * (1 - t) ** 2 + slack
    return gap.max() / ((y @ y) / (2 * n))


def homotopy(X, y, lams):
    alphas, _, corners = lars_path(X, y, method="lasso", alpha_min=lams[-1], Gram="auto")
    return np.stack([np.interp(lams, alphas[::-1], line[::-1]) for line in corners], axis=1)


def compare(n, p, lam_min_ratio, repeats):
    X, y = data(n, p)
    ordered = np.asfortranarray(X)

    def ours():
        settings = {"n_lams": N_LAMS, "lam_min_ratio": lam_min_ratio, "tol": TOL}
        return lasso(as_problem(X, y), **settings)

    path = ours()
    lams = path.grid["lam"]
    peers = {"scikit-learn": lambda: lasso_path(ordered, y, alphas=lams, tol=TOL)[1].T}
    if celer_path is not None:
        peers["celer"] = lambda: celer_path(ordered, y, "lasso", alphas=lams, tol=TOL)[1].T
    if p < 1000:
        peers["scikit-learn, homotopy"] = lambda: homotopy(X, y, lams)
    found = [
        worst_gap(X, y, coef, lams) for coef in (path.coef[:, :, 0], *(f() for f in peers.values()))
    ]
    seconds = cpu_seconds(ours, *peers.values(), repeats=repeats)
    support = np.count_nonzero(path.coef[-1])
    what = f"Lasso, {n} x {p}, {N_LAMS} lam down to {lam_min_ratio}"
    for peer, theirs, gap in zip(peers, seconds[1:], found[1:], strict=True):
        remark = f"largest gap {gap:.0e}, ours {found[0]:.0e}; {support} features at the end"
        yield Comparison(what, peer, seconds[0], theirs, remark)


def comparisons():
    if celer_path is None:
        print("celer is not installed, so it is left out.", file=sys.stderr)
    yield from compare(400, 512, 0.01, 7)
    yield from compare(2000, 20_000, 0.1, 2)
    yield from compare(2000, 20_000, 0.01, 2)


if __name__ == "__main__":
    report(comparisons, __doc__)
