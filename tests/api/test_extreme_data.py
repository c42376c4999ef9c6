"""Data of any size: fitted alike up to a limit, refused in a sentence beyond."""

import numpy as np
import pytest
from scipy import sparse

from greedyexp import solve
from greedyexp.core.errors import ConfigError, DataError

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 12))
Y = X[:, :3] @ [3.0, -2.0, 1.0] + 0.1 * RNG.standard_normal(40)
SIGNS = np.where(Y > 0, 1.0, -1.0)
SIZES = 10.0 ** np.array([-70, -20, 9, 10, 20, 70])

FITS = [
    ("l1_path", {}),
    ("l1_path", {"intercept": True}),
    ("foba_obj", {"max_features": 3}),
    ("foba_gdt", {"max_features": 3}),
]


@pytest.mark.parametrize(("name", "given"), FITS)
# An ill-conditioned matrix is what its user would be told of in vain.
@pytest.mark.filterwarnings("error")
def test_least_squares_does_not_depend_on_units(name, given):
    plain = solve(name, X, Y, **given)
    assert plain.converged
    for size in SIZES:
        larger = solve(name, X, size * Y, **given)
        np.testing.assert_allclose(larger.coef / size, plain.coef, rtol=1e-7, atol=1e-7)
        assert larger.converged
        assert larger.message == plain.message
        finer = solve(name, X / size, Y, **given)
        np.testing.assert_allclose(finer.coef / size, plain.coef, rtol=1e-7, atol=1e-7)
        # The derivative by an intercept is in other units, and has a rounding of its own.
        if "intercept" not in given:
            assert finer.converged
            assert finer.message == plain.message


@pytest.mark.parametrize("name", ["foba_obj", "foba_gdt"])
def test_the_logistic_loss_does_not_depend_on_the_units_of_features(name):
    given = {"loss": "logistic", "max_features": 2}
    plain = solve(name, X, SIGNS, **given)
    for size in SIZES:
        other = solve(name, X / size, SIGNS, **given)
        assert other.converged
        np.testing.assert_allclose(other.coef / size, plain.coef, rtol=1e-7)


ONE_LARGE = X * np.where(np.arange(12) == 3, 1e160, 1.0)


@pytest.mark.parametrize(
    ("design", "y", "words"),
    [
        (X * 1e155, Y, "feature 0 .*too large"),
        (X * 1e-170, Y, "feature 0 .*too small"),
        (ONE_LARGE, Y, "feature 3 .*e.160, too large"),
        (-np.abs(ONE_LARGE), Y, "feature 3 .*e.160, too large"),
        (sparse.csr_array(-np.abs(ONE_LARGE)), Y, "feature 3 .*e.160, too large"),
        (X, Y * 1e200, "the responses .*too large"),
        (X, -np.abs(Y) * 1e-200, "the responses .*too small"),
    ],
)
@pytest.mark.parametrize("name", ["l1_path", "foba_obj", "foba_gdt"])
def test_what_cannot_be_squared_is_refused(name, design, y, words):
    with pytest.raises(DataError, match=words + ".*Use units in which it is between 1e-75 and"):
        solve(name, design, y)
    if "feature" in words:
        with pytest.raises(DataError, match=words):
            solve(name, design, SIGNS, loss="logistic", ridge=0.1)
    else:
        labels = np.where(SIGNS > 0, np.abs(y).max(), 0.0)
        with pytest.raises(DataError, match=words):
            solve(name, X, labels, loss="logistic", ridge=0.1)


def test_features_of_chains_are_refused_too():
    labels, design = RNG.integers(0, 2, 40), X * 1e-170
    with pytest.raises(DataError, match=r"feature 0 .*too small"):
        solve("foba_gdt", design, labels, chains=[20, 20], loss="crf", ridge=0.1)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_column_of_zeros_and_tiny_values_beside_others_are_no_trouble(loss):
    mixed = X.copy()
    mixed[:, 4] = 0.0
    mixed[:5, 5] = 1e-300
    assert solve("foba_gdt", mixed, SIGNS, loss=loss, ridge=0.1, max_features=3).converged


def test_a_ridge_that_overflows_is_refused():
    with pytest.raises(ConfigError, match=r"ridge must be .*at most 1e.150, but is 1e.308"):
        solve("l1_path", X, Y, ridge=1e308)
    assert np.abs(solve("l1_path", X, Y, ridge=1e150).coef).max() < 1e-148


@pytest.mark.parametrize("size", [1.0, 1e9, 1e50])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_constant_columns_beside_an_intercept_have_a_path_of_one_point(loss, size):
    constant = np.full((40, 2), 3.0 * np.sqrt(size))
    y = size * Y if loss == "squared" else SIGNS
    fit = solve("l1_path", constant, y, loss=loss, intercept=True)
    assert len(fit.history) == 1
    assert fit.converged
    assert not fit.coef.any()
    share = (SIGNS > 0).mean()
    expected = y.mean() if loss == "squared" else np.log(share / (1 - share))
    assert fit.intercept == pytest.approx(expected)
    asked = solve("l1_path", constant, y, loss=loss, intercept=True, lam=[1.0, 0.1])
    assert asked.history["converged"].all()
    assert not asked.coef.any()
