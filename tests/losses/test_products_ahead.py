"""Products computed ahead change no selection, and gradients keep their digits."""

import numpy as np
import pytest

from greedyexp.algorithms.foba.gain import foba_obj
from greedyexp.algorithms.foba.gradient import foba_gdt
from greedyexp.kernels.column_basis import Basis
from greedyexp.losses import products_ahead
from greedyexp.losses.squared import CentredData, SquaredLoss
from greedyexp.problems.problem import as_problem


def correlated(seed, n=80, p=300):
    """Correlated columns with copies and near copies, of different sizes and far from centred."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + rng.standard_normal((n, 1)) + rng.uniform(-2, 2, p)
    X[:, 40:60] = -X[:, :20]
    X[:, 60:80] = X[:, :20] + 1e-3 * rng.standard_normal((n, 20))
    X *= rng.uniform(0.5, 2.0, p)
    return X, X[:, :15] @ rng.choice([-1.0, 1.0], 15) + 0.3 * rng.standard_normal(n)


@pytest.fixture
def calls(monkeypatch):
    """Compute products ahead for small designs, too; count them."""
    made = []
    look = products_ahead.ProductsAhead._look_ahead

    def counted(self, feature, scores):
        made.append(feature)
        look(self, feature, scores)

    monkeypatch.setattr(products_ahead, "LARGE", 0)
    monkeypatch.setattr(products_ahead.ProductsAhead, "_look_ahead", counted)
    return made


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_gradients_are_those_of_the_residual(calls, monkeypatch, seed, intercept):
    monkeypatch.setattr(products_ahead, "WORTH", 0)
    X, y = correlated(seed)
    fit = SquaredLoss(X, y, intercept=intercept).fit()
    for step in range(45):
        fit.add([int(np.argmax(fit.gains()))])
        if step in (12, 30):
            fit.remove([fit.support[3]])
        design = np.column_stack([X[:, fit.support], np.ones((len(X), int(intercept)))])
        residual = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
        exact = -X.T @ residual / len(y)
        barred = fit.full_gradient[: X.shape[1]] == 0.0
        scale = np.linalg.norm(X, axis=0) * np.linalg.norm(y) / len(y)
        error = np.abs(fit.full_gradient[: X.shape[1]] - exact) / scale
        assert error[~barred].max() < 1e-12
    assert 5 < len(calls) < 40


@pytest.mark.parametrize("algorithm", [foba_gdt, foba_obj])
@pytest.mark.parametrize("seed", range(10))
def test_selections_are_those_of_single_products(calls, monkeypatch, algorithm, seed):
    monkeypatch.setattr(products_ahead, "WORTH", 0)
    problem = as_problem(*correlated(seed))
    ahead = algorithm(problem, max_features=40)
    assert calls
    monkeypatch.setattr(products_ahead, "LARGE", 10**9)
    alone = algorithm(problem, max_features=40)
    assert ahead.history["feature"].tolist() == alone.history["feature"].tolist()
    np.testing.assert_allclose(ahead.coef, alone.coef, rtol=1e-9, atol=1e-11)
    assert ahead.message == alone.message


def test_products_that_are_not_used_end_the_looking_ahead(calls):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 400))
    fit = SquaredLoss(X, rng.standard_normal(50)).fit()
    for feature in rng.permutation(400)[:20]:
        fit.add([int(feature)])
    assert len(calls) == 2


def test_a_column_near_those_taken_since_gets_a_product_of_its_own(calls):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50, 40))
    X[:, 1] = X[:, 0] + 1e-6 * X[:, 2]
    data = CentredData(X, X[:, 0], center=False)
    basis = Basis(X[:, 0], X.T @ X[:, 0], data.powers, 0.0)
    ahead = products_ahead.ProductsAhead(data, basis)
    for feature in (0, 1):
        vector = basis.stage(X[:, feature])
        row = ahead.row(feature, X[:, feature], vector, np.arange(40.0, 0.0, -1.0))
        np.testing.assert_allclose(row, X.T @ vector, rtol=0, atol=1e-13)
        basis.take(row)
    assert calls == [0]
