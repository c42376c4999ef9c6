"""Penalised paths on designs that can nearly reach the response: finite, prompt and certified."""

import time

import numpy as np
import pytest
from row_oracles import conic_optimum, objective, penalty

from greedyexp.algorithms.dirty.dirty_lasso import dirty_lasso
from greedyexp.algorithms.lasso.group_lasso import group_lasso, group_lasso_l2
from greedyexp.algorithms.lasso.lasso import lasso
from greedyexp.problems.problem import as_problem

# lam_b / lam_s of the methods with such prices, for three tasks.
RATIO = {group_lasso: 1.0, dirty_lasso: 1.5, lasso: 3.0}
METHODS = [*RATIO, group_lasso_l2]


def nearly_degenerate(seed, closeness):
    """Three tasks whose features are orthogonal to the response up to ``closeness``."""
    rng = np.random.default_rng(seed)
    designs, responses = [], []
    for n in (12, 15, 12):
        X, y = rng.normal(size=(n, 100)), rng.normal(size=n)
        X -= np.outer(y, y @ X) / (y @ y)
        designs.append(X + closeness * rng.normal(size=X.shape))
        responses.append(y)
    return as_problem(designs, responses)


def path_of(method, problem, **options):
    if method is dirty_lasso:
        options["ratio"] = RATIO[method]
    return method(problem, **options)


def certificate(method, problem, coef, lam):
    """Objective and duality gap of the residuals, from the designs."""
    left = [y - X @ b for X, y, b in zip(problem.X, problem.y, coef.T, strict=True)]
    grad = np.stack([X.T @ u / len(u) for X, u in zip(problem.X, left, strict=True)])
    if method is group_lasso_l2:
        steepest = np.linalg.norm(grad, axis=0).max() / lam
        priced = lam * np.linalg.norm(coef, axis=1).sum()
    else:
        ratio = RATIO[method]
        steepest = max(np.abs(grad).max(), np.abs(grad).sum(axis=0).max() / ratio) / lam
        priced = penalty(coef, lam, ratio * lam)
    primal = sum(u @ u / (2 * len(u)) for u in left) + priced
    t = 1 / max(1, steepest)
    pairs = zip(problem.y, left, strict=True)
    return primal, primal - sum((t * (u @ y) - t**2 * (u @ u) / 2) / len(y) for y, u in pairs)


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.deep) for seed in (2, 3, 4))]
)
@pytest.mark.parametrize("method", METHODS)
def test_estimates_are_finite_and_no_worse_than_zero(method, seed):
    problem = nearly_degenerate(seed, 1e-7)
    path = path_of(method, problem, n_lams=2, lam_min_ratio=1e-4, max_sweeps=200)
    assert np.isfinite(path.coef).all()
    assert path.converged[0]
    null = 0.5 * problem.response_power.sum()
    for coef, lam, value in zip(path.coef, path.grid["lam"], path.objective, strict=True):
        assert value == pytest.approx(certificate(method, problem, coef, lam)[0], rel=1e-6)
        assert value <= null * (1 + 1e-9)


@pytest.mark.parametrize("closeness", [1e-3, 1e-4, 3e-5, 1e-5, 1e-7])
@pytest.mark.parametrize("method", METHODS)
def test_converged_estimates_have_the_gap_that_was_asked_for(method, closeness):
    problem = nearly_degenerate(1, closeness)
    path = path_of(method, problem, n_lams=6, lam_min_ratio=1e-4)
    tolerance = 0.5e-7 * problem.response_power.sum()
    for coef, lam in zip(path.coef[path.converged], path.grid["lam"][path.converged], strict=True):
        # At 3e-5 the rounding of a residual changes the gap by about the tolerance.
        assert certificate(method, problem, coef, lam)[1] <= 2 * tolerance
    assert path.converged.all() == (closeness > 5e-5)


@pytest.mark.parametrize(
    "method",
    [
        lasso,
        *(pytest.param(one, marks=pytest.mark.deep) for one in METHODS if one is not lasso),
    ],
)
def test_a_path_that_rounding_stops_takes_no_minutes(method):
    before = time.process_time()
    path = path_of(method, nearly_degenerate(0, 1e-7), lam_min_ratio=1e-4)
    assert time.process_time() - before < 10
    assert "did not reach a duality gap" in path.message


@pytest.mark.parametrize("closeness", [1e-3, 1e-4, 1e-5, 1e-7])
@pytest.mark.parametrize("method", RATIO)
def test_converged_estimates_reach_the_optimum_of_a_conic_solver(method, closeness):
    problem = nearly_degenerate(0, closeness)
    path = path_of(method, problem, n_lams=4, lam_min_ratio=1e-3)
    assert path.converged[: 1 if closeness < 1e-4 else 4].all()
    # In units in which the conic solver finds coefficients near one.
    scaled = as_problem([X / closeness for X in problem.X], problem.y)
    ratio, tolerance = RATIO[method], 0.5e-7 * problem.response_power.sum()
    for coef, lam, converged in zip(path.coef, path.grid["lam"], path.converged, strict=True):
        best = conic_optimum(scaled, lam / closeness, ratio * lam / closeness)
        value = objective(problem, coef, lam, ratio * lam)
        assert value >= best - 1e-9
        if converged:
            assert value <= best + tolerance
