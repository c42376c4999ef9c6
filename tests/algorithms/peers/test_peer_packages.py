"""celer, skglm, abess and skscope give what they give when called by hand.

They are installed by `make test-peers`, and imported inside the tests, which fail without them.
"""

import numpy as np
import pytest
from peer_problems import tasks_of, two_tasks

from greedyexp.algorithms.lasso.lasso import lasso
from greedyexp.algorithms.peers.abess_subsets import abess
from greedyexp.algorithms.peers.celer_lasso import celer_lasso
from greedyexp.algorithms.peers.skglm_nonconvex import skglm_mcp, skglm_scad
from greedyexp.algorithms.peers.skscope_subsets import skscope
from greedyexp.core import registry
from greedyexp.problems.problem import as_problem
from greedyexp.protocols import fitting
from greedyexp.solvers.lasso_active_set import duality_gap

pytestmark = pytest.mark.peers
PROBLEM = two_tasks()
LAMS = [0.5, 0.1, 0.03]
PACKAGES = ["celer_lasso", "skglm_mcp", "skglm_scad", "abess", "skscope"]


def test_celer():
    from celer import celer_path

    path = celer_lasso(PROBLEM, lam=LAMS[::-1], tol=1e-8)
    for j, X, y in tasks_of(PROBLEM):
        _, hand, _ = celer_path(X, y, "lasso", alphas=np.array(LAMS), tol=5e-9, max_iter=100)
        np.testing.assert_array_equal(path.coef[::-1, :, j], hand.T)
        for index, lam in enumerate(LAMS[::-1]):
            gap = duality_gap(X, y, lam, path.coef[index, :, j]).gap
            assert gap <= 1e-8 * (y @ y) / (2 * len(y))
    assert path.converged.all()
    np.testing.assert_allclose(path.coef, lasso(PROBLEM, lam=LAMS[::-1]).coef, atol=1e-3)


@pytest.mark.parametrize(("name", "gamma"), [("mcp", 3.0), ("scad", 3.7)])
def test_skglm(name, gamma):
    from skglm.datafits import Quadratic
    from skglm.estimators import GeneralizedLinearEstimator
    from skglm.penalties import SCAD, MCPenalty
    from skglm.solvers import AndersonCD

    ours = {"mcp": skglm_mcp, "scad": skglm_scad}[name]
    path = ours(PROBLEM, lam=LAMS, tol=1e-8)
    assert path.converged.all()
    for j, X, y in tasks_of(PROBLEM):
        scale = np.sqrt((X**2).mean(axis=0))
        penalty = {"mcp": MCPenalty, "scad": SCAD}[name](LAMS[0], gamma)
        solver = AndersonCD(tol=1e-9, max_iter=200, fit_intercept=False)
        model = GeneralizedLinearEstimator(Quadratic(), penalty, solver)
        hand = model.fit(np.asfortranarray(X / scale), y).coef_ / scale
        np.testing.assert_allclose(path.coef[0, :, j], hand, atol=1e-6)
        for index, lam in enumerate(LAMS):
            coef = path.coef[index, :, j]
            slope = (X / scale).T @ (y - X @ coef) / len(y)
            size = np.abs(coef * scale)
            expected = _derivative(name, size, lam, gamma) * np.sign(coef)
            np.testing.assert_allclose(slope[coef != 0], expected[coef != 0], atol=1e-6)
            assert (np.abs(slope[coef == 0]) <= lam + 1e-6).all()
    assert not ours(PROBLEM, lam=LAMS, tol=1e-14, max_iter=1).converged.all()


def _derivative(name, size, lam, gamma):
    """Return the derivative of the penalty at positive sizes."""
    if name == "mcp":
        return np.maximum(lam - size / gamma, 0)
    return np.where(size <= lam, lam, np.maximum(gamma * lam - size, 0) / (gamma - 1))


def test_abess():
    from abess.linear import LinearRegression

    path = abess(PROBLEM, n_atoms=5)
    for j, X, y in tasks_of(PROBLEM):
        for size in range(1, 6):
            model = LinearRegression(support_size=[size], fit_intercept=False, important_search=0)
            scale = np.sqrt((y**2).mean()) / 1e4
            hand = model.fit(X, y / scale).coef_ * scale
            np.testing.assert_array_equal(path.coef[size, :, j], hand)
            chosen = path.coef[size, :, j] != 0
            exact = np.linalg.lstsq(X[:, chosen], y, rcond=None)[0]
            np.testing.assert_allclose(path.coef[size, chosen, j], exact, atol=1e-8)
    assert path.sparse.sizes.tolist() == [0, 2, 4, 6, 8, 10]
    one = abess(PROBLEM, n_atoms=5, criterion="bic")
    assert len(one) == 1
    for j, X, y in tasks_of(PROBLEM):
        model = LinearRegression(
            support_size=range(6), fit_intercept=False, ic_type="bic", important_search=0
        )
        scale = np.sqrt((y**2).mean()) / 1e4
        np.testing.assert_array_equal(one.coef[0, :, j], model.fit(X, y / scale).coef_ * scale)
    assert one.sparse.sizes[0] < path.sparse.sizes[-1]


def _mean_square(X, y):
    return lambda coef: ((y - X @ coef) ** 2).mean() / 2


@pytest.mark.parametrize("solver", ["scope", "foba"])
def test_skscope(solver):
    import jax.numpy as jnp
    from skscope import FobaSolver, ScopeSolver

    path = skscope(PROBLEM, solver=solver, n_atoms=4)
    kind = {"scope": ScopeSolver, "foba": FobaSolver}[solver]
    for j, X, y in tasks_of(PROBLEM):
        for size in (1, 3, 4):
            hand = kind(15, size).solve(_mean_square(jnp.array(X), jnp.array(y)))
            np.testing.assert_array_equal(path.coef[size, :, j] != 0, hand != 0)
            np.testing.assert_allclose(path.coef[size, :, j], hand, atol=1e-3)
            chosen = path.coef[size, :, j] != 0
            exact = np.linalg.lstsq(X[:, chosen], y, rcond=None)[0]
            np.testing.assert_allclose(path.coef[size, chosen, j], exact, atol=1e-10)
    assert path.sparse.sizes.tolist() == [0, 2, 4, 6, 8]


@pytest.mark.parametrize("name", PACKAGES)
def test_units_of_the_response_do_not_matter(name):
    path_of = registry.find("algorithm", name).function
    rng = np.random.default_rng(1)
    for _ in range(5):
        X = rng.standard_normal((30, 60)) @ (np.eye(60) + 0.2)
        y = X[:, :4] @ [1.0, -1.0, 1.0, -1.0] + 0.3 * rng.standard_normal(30)
        plain = path_of(as_problem(X, y))
        for unit in (2.0**-17, 2.0**17):
            other = path_of(as_problem(X, unit * y))
            # A coefficient may be zero up to rounding where it enters.
            atol = 1e-4 * np.abs(plain.coef).max()
            np.testing.assert_allclose(other.coef / unit, plain.coef, rtol=1e-4, atol=atol)


@pytest.mark.parametrize("name", PACKAGES)
def test_columns_of_zeros_are_no_trouble(name):
    path_of = registry.find("algorithm", name).function
    X, y = PROBLEM.X[0].copy(), PROBLEM.y[0]
    X[:, 2] = 0.0
    path, without = path_of(as_problem(X, y)), path_of(as_problem(np.delete(X, 2, axis=1), y))
    count = min(len(path), len(without))
    kept = np.delete(path.coef, 2, axis=1)[:count]
    np.testing.assert_allclose(kept, without.coef[:count], rtol=1e-4, atol=1e-4)
    assert not path.coef[:, 2].any()
    assert not path_of(as_problem(0 * X, y)).coef.any()


@pytest.mark.parametrize("name", PACKAGES)
def test_two_rows_are_enough(name):
    path_of = registry.find("algorithm", name).function
    path = path_of(as_problem(PROBLEM.X[0][:2], PROBLEM.y[0][:2]))
    assert path.sparse.sizes.max() > 0


@pytest.mark.parametrize("solver", ["scope", "foba"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, np.linalg.LinAlgError])
def test_an_exception_inside_skscope_is_raised(monkeypatch, solver, error):
    def fail(*_, **__):
        raise error("stop")

    monkeypatch.setattr(np.linalg, "lstsq", fail)
    with pytest.raises(error, match="stop"):
        skscope(PROBLEM, solver=solver, n_atoms=3)


@pytest.mark.parametrize("name", PACKAGES)
def test_paths_are_cross_validated_like_ours(name):
    part, rng = registry.find("algorithm", name), np.random.default_rng(0)
    part.prepare()
    path, chosen = fitting.cross_validated(part, PROBLEM, {}, folds=4, rng=rng)
    assert 0 < chosen < len(path)
    error = np.linalg.norm(path.coef[chosen] - PROBLEM.truth)
    assert error < 0.5 * np.linalg.norm(PROBLEM.truth)
    assert part.packages_of({})
