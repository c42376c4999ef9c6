"""Compare fits of sparse and of tall designs with loops in NumPy and SciPy, scikit-learn and celer.

CPU times on one thread; those of greedyexp include all checks of the data.
Run: python benchmarks/bench_designs.py
"""

from __future__ import annotations

import sys

import numpy as np
import scipy.sparse
from _measuring import Comparison, cpu_seconds, report
from sklearn.linear_model import orthogonal_mp_gram

import greedyexp

try:
    from celer import celer_path
except ModuleNotFoundError:
    celer_path = None


def sparse_data():
    rng = np.random.default_rng(0)
    shape, entries = (10_000, 100_000), {"format": "csr", "data_sampler": rng.standard_normal}
    X = scipy.sparse.random_array(shape, density=1e-3, rng=rng, **entries)
    truth = np.zeros(shape[1])
    truth[rng.choice(shape[1], 50, replace=False)] = rng.choice([-2.0, 2.0], 50)
    return X, X @ truth + 0.1 * rng.standard_normal(shape[0])


def scipy_pursuit(X, y, n_atoms):
    """Return the coefficients of OMP, with products by SciPy and least squares by NumPy."""
    columns, rows = X.tocsc(), X.T.tocsr()
    norms = np.sqrt(columns.multiply(columns).sum(axis=0))
    residual, support = y, []
    for _ in range(n_atoms):
        support.append(int((np.abs(rows @ residual) / np.where(norms > 0, norms, np.inf)).argmax()))
        dense = columns[:, support].toarray()
        values = np.linalg.lstsq(dense, y, rcond=None)[0]
        residual = y - dense @ values
    coef = np.zeros(X.shape[1])
    coef[support] = values
    return coef


def compare(what, peer, ours, theirs, repeats, most=1e-8):
    apart = np.abs(ours() - theirs()).max()
    assert apart <= most, f"{what}: the coefficients are {apart:.0e} apart"
    seconds = cpu_seconds(ours, theirs, repeats=repeats)
    return Comparison(what, peer, *seconds, f"coefficients at most {apart:.1e} apart")


def sparse_designs():
    X, y = sparse_data()
    size = "10000 x 100000, one entry of 1000"
    yield compare(
        f"OMP, {size}, 50 atoms",
        "SciPy",
        lambda: greedyexp.solve("omp", X, y, n_atoms=50).coef,
        lambda: scipy_pursuit(X, y, 50),
        3,
    )
    if celer_path is None:
        print("celer is not installed, so it is left out.", file=sys.stderr)
        return
    columns = X.tocsc()
    lams = np.geomspace(1.0, 0.05, 15) * np.abs(X.T @ y).max() / len(y)
    yield compare(
        f"Lasso, {size}, 15 lam down to 0.05",
        "celer",
        lambda: greedyexp.solve("lasso", X, y, lam=lams).coef,
        lambda: celer_path(columns, y, "lasso", alphas=lams, tol=1e-7)[1][:, -1],
        2,
        most=1e-2,
    )


def tall_designs():
    n, p, k = 1_000_000, 50, 10
    rng = np.random.default_rng(0)
    X, truth = rng.standard_normal((n, p)), np.zeros(p)
    truth[:k] = 1.0 + np.arange(k)
    y = X @ truth + rng.standard_normal(n)
    peer = "scikit-learn, from the Gram matrix"

    def theirs():
        return orthogonal_mp_gram(X.T @ X, X.T @ y, n_nonzero_coefs=k)

    for name, limits in (("omp", {"n_atoms": k}), ("foba_gdt", {"max_features": k})):
        yield compare(
            f"{name}, {n} x {p}, {k} features",
            peer,
            lambda name=name, limits=limits: greedyexp.solve(name, X, y, **limits).coef,
            theirs,
            3,
        )


def comparisons():
    yield from sparse_designs()
    yield from tall_designs()


if __name__ == "__main__":
    report(comparisons, __doc__)
