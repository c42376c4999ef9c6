"""Compare OMP and group OMP with scikit-learn and NumPy: CPU times on one thread.

The times of greedyexp are those of ``solve`` and include all checks of the data.
Run: python benchmarks/bench_omp.py
"""

from __future__ import annotations

import numpy as np
from _measuring import Comparison, cpu_seconds, report
from sklearn.linear_model import OrthogonalMatchingPursuit

import greedyexp


def data(n_samples, n_features, n_targets, n_atoms, *, shared_support=False):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_samples, n_features))
    X /= np.linalg.norm(X, axis=0)
    truth = np.zeros((n_features, n_targets))
    support = rng.choice(n_features, n_atoms, replace=False)
    for column in truth.T:
        if not shared_support:
            support = rng.choice(n_features, n_atoms, replace=False)
        column[support] = rng.standard_normal(n_atoms)
    return X, X @ truth + 0.01 * rng.standard_normal((n_samples, n_targets))


def ours(X, Y, n_atoms):
    y = Y[:, 0] if Y.shape[1] == 1 else Y
    return greedyexp.solve("omp", X, y, n_atoms=n_atoms).coef.reshape(X.shape[1], -1)


def loop_over_scikit_learn(X, Y, n_atoms):
    model = OrthogonalMatchingPursuit(n_nonzero_coefs=n_atoms, fit_intercept=False)
    return np.stack([model.fit(X, y).coef_ for y in Y.T], axis=1)


def ours_in_groups(X, Y, n_rows):
    return greedyexp.solve("group_omp", X, Y, n_rows=n_rows).coef


def numpy_groups(X, Y, n_rows):
    """Return the fit of group OMP with an orthonormal basis that grows by one column a step."""
    norms = np.linalg.norm(X, axis=0)
    residual, rows = Y.copy(), []
    basis = np.empty((len(X), n_rows))
    for k in range(n_rows):
        scores = ((X.T @ residual) ** 2).sum(axis=1) / norms**2
        scores[rows] = 0.0
        rows.append(int(scores.argmax()))
        column = X[:, rows[-1]].copy()
        for _ in range(2):
            column -= basis[:, :k] @ (basis[:, :k].T @ column)
        basis[:, k] = column / np.linalg.norm(column)
        residual -= np.outer(basis[:, k], basis[:, k] @ residual)
    coef = np.zeros((X.shape[1], Y.shape[1]))
    coef[rows] = np.linalg.lstsq(X[:, rows], Y, rcond=None)[0]
    return coef


def compare(what, peer, fit, other, X, Y, n_atoms, repeats):
    worst = np.abs(fit(X, Y, n_atoms) - other(X, Y, n_atoms)).max()
    ours, theirs = cpu_seconds(
        lambda: fit(X, Y, n_atoms), lambda: other(X, Y, n_atoms), repeats=repeats
    )
    return Comparison(what, peer, ours, theirs, f"coefficients at most {worst:.1e} apart")


def comparisons():
    # The smallest shows what solve adds to a kernel: checks and the result.
    for (n, p, r, k), repeats in (
        ((60, 20, 1, 5), 100),
        ((400, 512, 1, 50), 20),
        ((400, 512, 100, 50), 3),
        ((2000, 20_000, 1, 100), 3),
    ):
        what = f"OMP, {n} x {p}, {r} target{'s' if r > 1 else ''}, {k} atoms"
        X, Y = data(n, p, r, k)
        yield compare(what, "scikit-learn", ours, loop_over_scikit_learn, X, Y, k, repeats)
    for (n, p, r, k), repeats in (((400, 512, 10, 50), 10), ((2000, 20_000, 10, 50), 3)):
        what = f"group OMP, {n} x {p}, {r} targets, {k} rows"
        X, Y = data(n, p, r, k, shared_support=True)
        yield compare(what, "NumPy", ours_in_groups, numpy_groups, X, Y, k, repeats)


if __name__ == "__main__":
    report(comparisons, __doc__)
