"""Selections among columns of very different sizes, and at the end of precision."""

from itertools import pairwise

import numpy as np
import pytest
from foba_problems import RULES, steps_of

from greedyexp.algorithms.foba.gain import foba_obj
from greedyexp.algorithms.foba.gradient import foba_gdt, forward_gdt
from greedyexp.losses.crf import CrfLoss
from greedyexp.problems.chains import as_chains
from greedyexp.problems.problem import as_problem

SELECTIONS = [pytest.param(fast, id=fast.__name__) for rule in RULES.values() for fast in rule[:2]]
APART = [300.0, 3e4, 3e6]


def two_features(loss):
    """Both matter, the first more; the second most of what the first leaves."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 2))
    y = 2 * X[:, 0] + X[:, 1] + 0.1 * rng.standard_normal(50)
    return X, y if loss == "squared" else np.sign(y + 2 * rng.standard_normal(50))


def tagged(seed, r=3, n=300):
    """Chains of binary features in which every move between classes is seen."""
    rng = np.random.default_rng(seed)
    X = (rng.random((n, 5)) < 0.5).astype(float)
    weights = np.vstack([rng.standard_normal((3, r)), np.zeros((2, r))])
    labels = (X @ weights + rng.gumbel(size=(n, r))).argmax(axis=1)
    return X, labels, np.full(n // 10, 10)


def resized(X, apart, small, large):
    sizes = np.ones(X.shape[1])
    sizes[small], sizes[large] = 1.0 / apart, apart
    return X * sizes


@pytest.mark.parametrize("fast", SELECTIONS)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_small_column_is_not_lost_beside_a_large_one(fast, loss):
    X, y = two_features(loss)
    plain = fast(as_problem(X, y), loss=loss, max_features=2)
    for apart in APART:
        path = fast(as_problem(resized(X, apart, 1, 0), y), loss=loss, max_features=2)
        assert path.objective[-1] == pytest.approx(plain.objective[-1], rel=1e-8)
        assert len(path) == 3
        uneven = fast in (foba_gdt, forward_gdt)
        assert path.message.startswith("The norms of the columns differ by" if uneven else "")


def test_norms_that_are_similar_cause_no_remark():
    X, y = two_features("squared")
    assert foba_gdt(as_problem(X, y), max_features=2).message == ""


@pytest.mark.parametrize("seed", range(2))
def test_gains_of_chains_do_not_depend_on_the_units_of_features(seed):
    X, labels, chains = tagged(seed)
    plain = foba_obj(as_chains(X, labels, chains), loss="crf", max_features=6)
    assert 0 in plain.history["feature"]
    for apart in APART:
        problem = as_chains(resized(X, apart, 0, 3), labels, chains)
        path = foba_obj(problem, loss="crf", max_features=6)
        assert steps_of(path) == steps_of(plain)
        np.testing.assert_allclose(path.objective, plain.objective, rtol=1e-9)


@pytest.mark.parametrize("fast", SELECTIONS)
def test_copies_of_small_and_large_columns_are_never_taken(fast):
    X, labels, chains = tagged(0)
    X = resized(X, 3e4, 0, 3)
    path = fast(as_chains(np.column_stack([X, X]), labels, chains), loss="crf", max_features=20)
    assert "nothing is left to gain after 10 features" in path.message
    assert path.converged.all()
    assert not path.coef[:, 5:].any()
    X, y = two_features("logistic")
    X = resized(X, 3e6, 1, 0)
    path = fast(as_problem(np.column_stack([X, X]), y), loss="logistic", max_features=4)
    assert np.flatnonzero(path.coef[-1]).tolist() == [0, 1]
    assert "nothing is left to gain after 2 features" in path.message


@pytest.mark.parametrize("fast", SELECTIONS)
def test_an_exact_fit_ends_a_run_whatever_the_sizes_of_other_columns(fast):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 40)) * 10.0 ** rng.integers(-8, 9, 40)
    X[:, :4] = rng.standard_normal((30, 4)) * [1e6, 1.0, 1e-6, 1e3]
    y = X[:, :4] @ [4e-6, 3.0, 2e6, 1e-3]
    path = fast(as_problem(X[:, :4], y), max_features=4)
    assert len(path) == 5
    if fast in RULES["obj"][:2]:
        path = fast(as_problem(X, y))
        assert path.objective[-1] <= 1e-18 * path.objective[0]
        assert "nothing is left to gain" in path.message
    # The rule by gradient takes columns by their size, and ends once all is fitted.
    wide = np.column_stack([X[:, :4], rng.standard_normal((30, 6)) * [1e-6, 1e-3, 1, 1e3, 1e5, 1]])
    path = fast(as_problem(wide, y), max_features=10)
    assert np.isin(range(4), np.flatnonzero(path.coef[-1].any(axis=1))).all()
    assert len(steps_of(path)) < 40


def test_derivatives_are_at_most_what_is_said_of_them():
    X, labels, chains = tagged(1)
    rng = np.random.default_rng(2)
    for ridge in (0.0, 0.1):
        loss = CrfLoss(X, labels, chains, n_classes=3, ridge=ridge)
        for size in (0.0, 1.0, 30.0):
            params = size * rng.standard_normal(loss.size + loss.n_dense)
            most = loss.steepest(loss.value(params))
            assert (np.abs(loss.gradient(params)[: loss.size]) <= most).all()


def test_a_feature_whose_gain_would_be_rounding_is_passed_over():
    """A large column that is all but orthogonal to what is left has the larger derivative."""
    n = 40
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((n, 3)))[0] * np.sqrt(n)
    large = 1e3 * (basis[:, 1] + 1e-9 * basis[:, 2])
    X = np.column_stack([basis[:, 0], large, 1e-8 * basis[:, 2]])
    y = 3 * basis[:, 0] + basis[:, 2]
    path = RULES["gdt"][1](as_problem(X, y), max_features=3)
    assert np.flatnonzero(path.coef[2]).tolist() == [0, 2]
    assert path.objective[-1] <= 1e-15


def test_the_feature_just_taken_is_never_the_first_to_go():
    for seed in (17, 341, 519):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((15, 8))
        y = X[:, 2] + X[:, 3] + 0.01 * rng.standard_normal(15)
        X[:, 1] = y + 0.3 * rng.standard_normal(15)
        path = foba_obj(as_problem(X, y), judge="refit", backward_ratio=1.0, max_features=8)
        steps = steps_of(path)
        assert len(path) == 9
        assert all(
            later != ("remove", unit)
            for (action, unit), later in pairwise(steps)
            if action == "add"
        )
