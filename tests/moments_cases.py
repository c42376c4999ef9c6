"""Distributions of finitely many equally likely rows, and their moments by the package."""

import itertools

import numpy as np

from greedyexp.problems.moments import DenseMoments, SpreadMoments


def all_signs(d, truth, noise):
    """Independent signs and y = <truth, x> + noise times one more sign: X, y, moments."""
    rows = np.array(list(itertools.product((-1.0, 1.0), repeat=d + 1)))
    X, y = rows[:, :d], rows[:, :d] @ truth + noise * rows[:, d]
    return X, y, SpreadMoments(np.ones(d), np.zeros(d), truth, truth @ truth + noise**2)


def spread_label(d):
    """Signs that agree with the label y in three of four cases: X, y, moments with a = 1/2."""
    given = np.array(list(itertools.product((1.0, 1.0, 1.0, -1.0), repeat=d)))
    X, y = np.vstack((given, -given)), np.repeat((1.0, -1.0), len(given))
    return X, y, SpreadMoments(np.full(d, 0.75), np.full(d, 0.5), np.full(d, 0.5), 1.0)


def copied(d, truth, noise):
    """``all_signs`` with the first feature twice more, once with its sign turned."""
    X, y, _ = all_signs(d, truth, noise)
    X = np.column_stack((X, X[:, 0], -X[:, 0]))
    alpha, u = np.ones(d + 2), np.zeros(d + 2)
    alpha[[0, d, d + 1]], u[[0, d, d + 1]] = 0.0, (1.0, 1.0, -1.0)
    return X, y, SpreadMoments(alpha, u, X.T @ y / len(y), float(y @ y) / len(y))


def dense(X, y):
    """The moments of equally likely rows as a matrix."""
    return DenseMoments(X.T @ X / len(y), X.T @ y / len(y), float(y @ y) / len(y))


TRUTH = np.array([0.5, -0.3, 0.0, 0.8, 0.1])


def cases():
    """Name, rows, responses and moments of each distribution, in both forms."""
    made = {
        "signs": all_signs(5, TRUTH, 0.7),
        "noiseless": all_signs(5, TRUTH, 0.0),
        "label": spread_label(5),
        "copied": copied(4, TRUTH[:4], 0.4),
    }
    for name, (X, y, moments) in made.items():
        yield name, X, y, moments
        yield f"{name}, dense", X, y, dense(X, y)
