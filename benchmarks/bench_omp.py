"""Time OMP for many targets with a shared design, and scikit-learn, on one thread.

Prints the wall times, which include the Gram matrix, and their ratios.
Run: python benchmarks/bench_omp.py
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.linear_model import orthogonal_mp, orthogonal_mp_gram
from threadpoolctl import threadpool_limits

from greedyexp.algorithms.pursuit.omp import omp
from greedyexp.problems.problem import Problem

N_SAMPLES, N_FEATURES, N_TARGETS, N_ATOMS = 400, 512, 100, 50
REPEATS = 7


def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_SAMPLES, N_FEATURES))
    X /= np.linalg.norm(X, axis=0)
    truth = np.zeros((N_FEATURES, N_TARGETS))
    for column in truth.T:
        column[rng.choice(N_FEATURES, N_ATOMS, replace=False)] = rng.standard_normal(N_ATOMS)
    return X, X @ truth + 0.01 * rng.standard_normal((N_SAMPLES, N_TARGETS))


def ours(X, Y):
    problem = Problem((X,) * Y.shape[1], tuple(np.ascontiguousarray(Y.T)))
    return omp(problem, grid={"n_atoms": [N_ATOMS]}).coef[0]


def loop(X, Y):
    return np.stack([orthogonal_mp(X, y, n_nonzero_coefs=N_ATOMS) for y in Y.T], axis=1)


def batch(X, Y):
    return orthogonal_mp(X, Y, n_nonzero_coefs=N_ATOMS, precompute=True)


def gram(X, Y):
    return orthogonal_mp_gram(X.T @ X, X.T @ Y, n_nonzero_coefs=N_ATOMS)


def main():
    X, Y = data()
    reference = loop(X, Y)
    seconds = {}
    for solve in (ours, loop, batch, gram):
        worst = np.abs(solve(X, Y) - reference).max()
        times = []
        for _ in range(REPEATS if solve is ours else 3):
            begin = time.perf_counter()
            solve(X, Y)
            times.append(time.perf_counter() - begin)
        seconds[solve.__name__] = min(times)
        print(f"{solve.__name__:6s} {1e3 * min(times):8.1f} ms   largest difference {worst:.1e}")
    for name in ("loop", "batch", "gram"):
        print(f"times faster than {name}: {seconds[name] / seconds['ours']:.1f}")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
