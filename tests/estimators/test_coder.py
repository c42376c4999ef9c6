"""Sparse codes of signals: those of scikit-learn, in the same interface."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import SparseCoder
from sklearn.linear_model import orthogonal_mp
from sklearn.pipeline import make_pipeline

from greedyexp.estimators import OMPCoder


@pytest.fixture
def signals():
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((40, 24))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    codes = rng.standard_normal((60, 40)) * (rng.random((60, 40)) < 0.08)
    return atoms, codes @ atoms + 0.01 * rng.standard_normal((60, 24))


@pytest.mark.parametrize("n_jobs", [None, 2, -1])
def test_codes_are_those_of_scikit_learn(signals, n_jobs):
    atoms, X = signals
    theirs = SparseCoder(atoms, transform_algorithm="omp", transform_n_nonzero_coefs=4)
    ours = OMPCoder(atoms, n_nonzero_coefs=4, n_jobs=n_jobs)
    expected = theirs.fit(X).transform(X)
    np.testing.assert_allclose(ours.fit(X).transform(X), expected, atol=1e-12)
    sparse = clone(ours).set_params(sparse_output=True).transform(X)
    assert sparse.shape == (60, 40)
    np.testing.assert_array_equal(sparse.toarray(), ours.transform(X))


def test_codes_end_at_a_norm_of_the_residual(signals):
    atoms, X = signals
    tol = 0.05
    codes = OMPCoder(atoms, tol=tol).transform(X)
    assert (((X - codes @ atoms) ** 2).sum(axis=1) <= tol).all()
    # Otherwise, scikit-learn takes an atom although none is needed.
    large = (X**2).sum(axis=1) > tol
    expected = orthogonal_mp(atoms.T, X.T, tol=tol).T
    np.testing.assert_allclose(codes[large], expected[large], atol=1e-10)
    assert not codes[~large].any()
    few = OMPCoder(atoms, tol=tol, n_nonzero_coefs=2).transform(X)
    assert np.count_nonzero(few, axis=1).max() == 2


def test_the_default_is_a_tenth_of_the_features(signals):
    atoms, X = signals
    codes = make_pipeline(OMPCoder(atoms)).fit_transform(X)
    assert np.count_nonzero(codes, axis=1).tolist() == [2] * len(X)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"n_nonzero_coefs": 0}, "n_nonzero_coefs"),
        ({"n_nonzero_coefs": 41}, "n_nonzero_coefs = 41 is more than the 40"),
        ({"tol": -1.0}, "tol must be"),
        ({"tol": float("nan")}, "tol must be"),
        ({"judge": "best"}, "judge must be"),
        ({"n_jobs": 0}, "n_jobs must be at least 1"),
    ],
)
def test_bad_parameters_are_named(signals, params, said):
    atoms, X = signals
    with pytest.raises(ValueError, match=said):
        OMPCoder(atoms, **params).fit(X).transform(X)


def test_bad_signals_are_named(signals):
    atoms, X = signals
    with pytest.raises(ValueError, match="25 features, but OMPCoder is expecting 24"):
        OMPCoder(atoms).transform(np.ones((3, 25)))
    bad = X.copy()
    bad[3, 4] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        OMPCoder(atoms).transform(bad)
    with pytest.raises(ValueError, match="dictionary"):
        OMPCoder(np.full((40, 24), np.inf)).transform(X)
