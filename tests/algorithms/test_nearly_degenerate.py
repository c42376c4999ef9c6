"""Penalised paths on designs that can nearly reach the response: finite, prompt and certified."""

import time

import numpy as np
import pytest
from row_oracles import conic_optimum, objective

from greedyexp.algorithms.dirty.dirty_lasso import dirty_lasso
from greedyexp.algorithms.lasso.group_lasso import group_lasso
from greedyexp.algorithms.lasso.lasso import lasso
from greedyexp.problems.problem import as_problem

# lam_b / lam_s of each method for three tasks.
RATIO = {group_lasso: 1.0, dirty_lasso: 1.5, lasso: 3.0}


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


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("method", RATIO)
def test_estimates_are_finite_and_no_worse_than_zero(method, seed):
    problem = nearly_degenerate(seed, 1e-7)
    path = path_of(method, problem, n_lams=2, lam_min_ratio=1e-4, max_sweeps=200)
    assert np.isfinite(path.coef).all()
    assert path.converged[0]
    ratio, null = RATIO[method], 0.5 * problem.response_power.sum()
    assert (path.objective <= null * (1 + 1e-9)).all()
    for coef, lam in zip(path.coef, path.grid["lam"], strict=True):
        assert objective(problem, coef, lam, ratio * lam) <= null * (1 + 1e-9)


@pytest.mark.parametrize("method", RATIO)
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
