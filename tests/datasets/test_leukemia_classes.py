"""Leukemia classes as labels: rows, scaling, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from greedyexp.core import registry
from greedyexp.core.errors import DataError
from greedyexp.datasets import leukemia as dataset
from greedyexp.datasets import places
from greedyexp.generators import leukemia as _leukemia
from greedyexp.generators.leukemia import leukemia_classes

real = pytest.mark.skipif(
    places.find(dataset.DATASET) is None, reason="leukemia is neither in GREEDYEXP_DATA nor fetched"
)

# Seeds that draw two samples of different classes, and of one.
ONE_OF_EACH, ONE_CLASS = 0, 1


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.fixture
def expression(monkeypatch) -> dataset.Expression:
    """Samples and classes as the real ones, in thirty genes."""
    labels = np.where(np.isin(np.arange(1, 73), dataset.AML), -1.0, 1.0)
    X = np.round(rng(5).normal(800.0, 5000.0, (72, 30)) + 900 * labels[:, None])
    X[:, 0], X[:, 1] = 900 * labels + np.arange(72), np.arange(72)
    data = dataset.Expression(X, labels, tuple(f"G{j}_at" for j in range(1, 31)))
    monkeypatch.setattr(_leukemia, "load", lambda: data)
    return data


def test_all_samples_are_standardised_and_keep_their_labels(expression):
    stream = rng()
    problem = leukemia_classes(stream, p=20)
    scaled = StandardScaler().fit_transform(expression.X[:, :20])
    np.testing.assert_allclose(problem.X[0], scaled, atol=1e-12)
    assert np.array_equal(problem.y[0], expression.labels)
    assert stream.random() == rng().random()
    assert registry.find("generator", "leukemia_classes").traits({}) == {"labels", "two_values"}


def test_fewer_samples_keep_their_labels(expression):
    problem = leukemia_classes(rng(1), n_samples=30, p=30)
    X, y = problem.X[0], problem.y[0]
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose((X**2).mean(axis=0), 1.0, rtol=1e-12)
    # The first gene is above its mean in one class, the second tells the number of the sample.
    assert np.array_equal(y, np.sign(X[:, 0]))
    assert (np.diff(X[:, 1]) > 0).all()
    assert not np.array_equal(X, leukemia_classes(rng(2), n_samples=30, p=30).X[0])


def test_rows_of_one_class_are_refused(expression):
    leukemia_classes(rng(ONE_OF_EACH), n_samples=2, p=2)
    with pytest.raises(DataError, match="the 2 samples drawn are all of one class"):
        leukemia_classes(rng(ONE_CLASS), n_samples=2, p=2)


@real
def test_the_real_classes_and_genes():
    problem = leukemia_classes(rng())
    assert problem.X[0].shape == (72, 7129)
    assert np.bincount((problem.y[0] > 0).astype(int)).tolist() == [25, 47]
    np.testing.assert_allclose((problem.X[0] ** 2).mean(axis=0), 1.0, rtol=1e-12)
