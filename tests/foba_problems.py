"""Problems for the tests of greedy selections, and what their paths tell."""

from __future__ import annotations

import numpy as np

from greedyexp.algorithms.foba.gain import foba_obj, forward_obj
from greedyexp.algorithms.foba.gradient import foba_gdt, forward_gdt
from greedyexp.problems.problem import Problem

RULES = {"obj": (foba_obj, forward_obj, "delta"), "gdt": (foba_gdt, forward_gdt, "epsilon")}


def confounded(seed, n=40, p=14, noise=0.3, triples=3):
    """Designs where a column nearly is the sum of two true ones, which makes removals happen."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * rng.uniform(0.7, 1.5, p)
    truth = np.zeros(p)
    for k in range(triples):
        one, two, both = 3 * k, 3 * k + 1, 3 * k + 2
        X[:, both] = X[:, one] + X[:, two] + 0.3 * rng.standard_normal(n)
        truth[[one, two]] = rng.uniform(1, 2, 2)
    return X, X @ truth + noise * rng.standard_normal(n), truth


def classes(seed, n=60, p=9, noise=1.5):
    X, y, truth = confounded(seed, n, p, noise=noise, triples=2)
    return X, np.where(y > 0, 1.0, -1.0), truth


def words(seed, r=3, p=5, n_chains=20):
    """Chains with binary features, some of which tell the class."""
    rng = np.random.default_rng(seed)
    chains = rng.integers(1, 7, n_chains)
    X = (rng.random((chains.sum(), p)) < 0.5).astype(float)
    weights = 2 * rng.standard_normal((p, r))
    weights[p // 2 :] *= 0.1
    labels = (X @ weights + rng.gumbel(size=(len(X), r))).argmax(axis=1)
    labels[:r] = np.arange(r)
    y = tuple((labels == k).astype(float) for k in range(r))
    return Problem((X,) * r, y, chains=chains)


def steps_of(path):
    """The steps of a history as the oracle has them."""
    features = path.history["feature"]
    if "task" in path.history:
        features = features * path.coef.shape[2] + path.history["task"]
    return list(zip(path.history["action"].tolist(), features.tolist(), strict=True))


def agrees(path, slow, places=8):
    assert steps_of(path) == [step[:2] for step in slow.steps]
    np.testing.assert_allclose(
        path.history["objective"], [step[2] for step in slow.steps], atol=10.0**-places
    )
    np.testing.assert_allclose(path.coef[-1].ravel(), slow.coef, atol=10.0 ** (2 - places))
