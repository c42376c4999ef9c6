"""The ultimate method: its step against conic and linear programmes, its limit, its theorem."""

import numpy as np
import pytest
from gauge_oracle import (
    gauge,
    gaussian_data,
    lojasiewicz_l1,
    model_value,
    objective,
    primal_step,
    smoothness,
)
from sklearn.linear_model import Lasso

from greedyexp.algorithms.lasso.lasso import lasso
from greedyexp.algorithms.matching_pursuit.coordinate_descent import (
    gs_coordinate_descent,
    rmp,
)
from greedyexp.algorithms.matching_pursuit.ultimate import ultimate
from greedyexp.core.errors import ConfigError, DataError
from greedyexp.core.registry import find
from greedyexp.kernels import orthogonal_factor
from greedyexp.problems.problem import Problem, as_problem
from greedyexp.solvers import gauge as gauge_step
from greedyexp.solvers.gauge import conic_step
from greedyexp.theory.constants import Optimum


def begun_at(P, y, start):
    problem = as_problem(P, y)
    return Problem(problem.X, problem.y, start=np.asarray(start, dtype=float)[:, None])


def iterates(iteration, count):
    points = [iteration.coef]
    for k in range(1, count + 1):
        iteration.advance(k)
        points.append(iteration.coef)
    return points


def check_step(P, y, coef, estimate, lam):
    value, following = primal_step(P, y, coef, lam)
    x = P @ coef
    bound = smoothness(P) / 2 * gauge(P, P @ estimate - x) ** 2 + lam * np.abs(estimate).sum()
    own = (x - y) @ (P @ estimate - x) / len(y) + bound
    scale = max(1.0, abs(value))
    assert own == pytest.approx(value, abs=1e-8 * scale)
    assert P @ estimate == pytest.approx(following, abs=1e-6 * max(1.0, np.abs(x).max()))


@pytest.mark.parametrize(("n", "p"), [(5, 12), (8, 8), (12, 6), (10, 30)])
@pytest.mark.parametrize("lam", [0.003, 0.1, 0.8])
def test_a_step_from_any_point_minimises_the_printed_model(n, p, lam):
    rng = np.random.default_rng(n * p)
    for density in (0.15, 0.5, 1.0):
        P, y = gaussian_data(rng.integers(10**6), n, p)
        coef = rng.standard_normal(p) * (rng.random(p) < density)
        estimate = gauge_step.GaugeStep(P, y, lam)(coef).estimate
        check_step(P, y, coef, estimate, lam)


@pytest.mark.parametrize("lam", [0.01, 0.2])
def test_warm_steps_minimise_the_printed_model(lam):
    P, y = gaussian_data(1, 15, 45)
    points = iterates(ultimate(as_problem(P, y), lam=lam), 25)
    for k in (0, 1, 2, 3, 5, 8, 13, 20, 24):
        check_step(P, y, points[k], points[k + 1], lam)


def test_the_estimate_is_a_representation_of_least_norm():
    P, y = gaussian_data(2, 12, 40)
    for coef in iterates(ultimate(as_problem(P, y), lam=0.05), 40)[1::4]:
        assert np.abs(coef).sum() == pytest.approx(gauge(P, P @ coef), rel=1e-9)
        assert np.count_nonzero(coef) <= 12


@pytest.mark.parametrize(("n", "p", "lam"), [(20, 50, 0.1), (20, 50, 0.01), (40, 15, 0.05)])
def test_reaches_the_lasso(n, p, lam):
    P, y = gaussian_data(3, n, p)
    iteration = ultimate(as_problem(P, y), lam=lam)
    iteration.advance(3000)
    peer = Lasso(alpha=lam, fit_intercept=False, tol=1e-14, max_iter=10**6).fit(P, y).coef_
    own = lasso(as_problem(P, y), lam=lam, tol=1e-12).coef[0, :, 0]
    best = min(objective(P, y, peer, lam), objective(P, y, own, lam))
    assert iteration.objective == pytest.approx(best, abs=1e-10)
    assert iteration.coef == pytest.approx(own, abs=1e-4)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n", [2, 3])
def test_the_gap_falls_as_the_theorem_says(n, seed):
    lam = 0.02
    P, y = gaussian_data(seed, n, 9, sparsity=2)
    rate = 1 - lojasiewicz_l1(P) / smoothness(P)
    iteration = ultimate(begun_at(P, y, 0.2 * np.arange(9.0)), lam=lam)
    least = lasso(as_problem(P, y), lam=lam, tol=1e-13).objective[0]
    gap = iteration.objective - least
    bound = gap
    for k in range(1, 60):
        iteration.advance(k)
        bound *= rate
        assert iteration.objective - least <= bound + 1e-13


def test_never_ascends_and_is_certified():
    P, y = gaussian_data(4, 25, 80, sparsity=8)
    iteration = ultimate(as_problem(P, y), lam=0.05)
    values = [objective(P, y, coef, 0.05) for coef in iterates(iteration, 300)]
    assert np.diff(values).max() <= 1e-15
    assert iteration.certificate <= 1e-12
    assert iteration.trouble == ""


def test_is_rmp_where_columns_are_independent():
    P, y = gaussian_data(5, 30, 12)
    for start in (np.zeros(12), np.random.default_rng(0).standard_normal(12)):
        problem = begun_at(P, y, start)
        pairs = zip(
            iterates(ultimate(problem, lam=0.02), 80),
            iterates(rmp(problem, lam=0.02), 80),
            strict=True,
        )
        for one, other in pairs:
            assert one == pytest.approx(other, abs=1e-10)


def test_is_coordinate_descent_without_a_penalty():
    P, y = gaussian_data(6, 10, 30)
    problem = begun_at(P, y, np.random.default_rng(1).standard_normal(30))
    pairs = zip(
        iterates(ultimate(problem), 60), iterates(gs_coordinate_descent(problem), 60), strict=True
    )
    for one, other in pairs:
        assert np.array_equal(one, other)


def test_ties_without_a_penalty_are_broken_as_by_coordinate_descent():
    # Rounding tells the equal correlations of these columns apart; features must not depend on it.
    column = np.random.default_rng(0).standard_normal(9)
    P = np.column_stack([column, column * (1 + 1e-15), -column, np.roll(column, 4)])
    problem = as_problem(P, np.arange(9.0))
    pairs = zip(
        iterates(ultimate(problem), 8), iterates(gs_coordinate_descent(problem), 8), strict=True
    )
    for one, other in pairs:
        assert np.array_equal(one, other)
        assert not one[1:3].any()


def awkward_designs():
    P, y = gaussian_data(7, 12, 30)
    rng = np.random.default_rng(8)
    low = rng.standard_normal((12, 3)) @ rng.standard_normal((3, 30))
    centred = P - P.mean(axis=0)
    return {
        "duplicates": (np.hstack([P, P[:, :6], -P[:, 3:9]]), y),
        "zero columns": (np.hstack([np.zeros((12, 2)), P]), y),
        "low rank": (low, y),
        "centred": (centred / centred.std(axis=0), y - y.mean()),
        "signs": (np.sign(P), np.round(y)),
        "large": (1e5 * P, 1e5 * y),
        "orthogonal": (np.eye(12), y),
    }


@pytest.mark.parametrize("name", awkward_designs())
@pytest.mark.parametrize("share", [0.02, 0.3, 1.1])
def test_awkward_designs_reach_the_lasso(name, share):
    P, y = awkward_designs()[name]
    lam = share * np.abs(P.T @ y).max() / len(y)
    iteration = ultimate(as_problem(P, y), lam=lam)
    path = lasso(as_problem(P, y), lam=lam, tol=1e-12)
    scale = objective(P, y, np.zeros(P.shape[1]), lam)
    least = path.objective[0] + 1e-9 * scale
    iteration.advance(2500, target=least)
    assert iteration.objective <= least
    # Steps near the optimum are certified too, and do not lead away from it.
    iteration.advance(iteration.iteration + 200)
    assert iteration.objective <= least
    assert iteration.certificate <= 1e-11
    assert iteration.trouble == ""


def test_the_interior_point_method_stands_in(monkeypatch):
    P, y = gaussian_data(9, 10, 25)
    exact = ultimate(as_problem(P, y), lam=0.05)
    expected = iterates(exact, 12)
    failed = (np.zeros(25), np.zeros(25), np.zeros(10), gauge_step.kernel.TOO_LONG)
    monkeypatch.setattr(gauge_step.kernel, "gauge_step", lambda *_: failed)
    iteration = ultimate(as_problem(P, y), lam=0.05)
    for one, other in zip(iterates(iteration, 12), expected, strict=True):
        assert one == pytest.approx(other, abs=1e-7)
    assert 0 < iteration.certificate <= 1e-8
    monkeypatch.setattr("greedyexp.solvers.gauge.conic_step", lambda *_: None)
    iteration = ultimate(as_problem(P, y), lam=0.05)
    iteration.advance(3)
    assert "the step of iteration 1 was solved only to a relative duality gap" in iteration.trouble


def test_the_dual_form_has_the_value_of_the_model():
    P, y = gaussian_data(10, 6, 15)
    coef = np.random.default_rng(2).standard_normal(15) * (np.arange(15) < 5)
    x = P @ coef
    c, L = (x - y) / 6, smoothness(P)
    estimate, move, v = conic_step(np.ascontiguousarray(P.T), x, c, 0.1, L)
    dual = v @ x - np.abs(P.T @ (c + v)).max() ** 2 / (2 * L)
    assert dual == pytest.approx(model_value(P, y, coef, estimate, 0.1), abs=1e-8)
    assert P @ (estimate - coef - move) == pytest.approx(np.zeros(6), abs=1e-9)


def test_where_it_pauses_leaves_no_trace():
    P, y = gaussian_data(11, 15, 40)
    one, other = (ultimate(as_problem(P, y), lam=0.05) for _ in range(2))
    one.advance(90)
    for k in (1, 7, 8, 50, 90):
        other.advance(k)
    assert one.coef.tobytes() == other.coef.tobytes()


def test_orthogonal_factor_follows_its_matrix():
    rng = np.random.default_rng(12)
    k = 9
    basis, triangle = np.eye(k), np.zeros((k, k))
    columns = []
    for _ in range(300):
        if len(columns) < k and (not columns or rng.random() < 0.55):
            columns.append(rng.standard_normal(k))
            orthogonal_factor.append(basis, triangle, len(columns) - 1, columns[-1])
        else:
            index = int(rng.integers(len(columns)))
            orthogonal_factor.remove(basis, triangle, len(columns), index)
            columns.pop(index)
        m = len(columns)
        assert basis @ basis.T == pytest.approx(np.eye(k), abs=1e-12)
        if m:
            upper = np.triu(triangle[:m, :m])
            assert basis[:m].T @ upper == pytest.approx(np.array(columns).T, abs=1e-11)
            x = rng.standard_normal(m)
            for solve, matrix in (
                (orthogonal_factor.solve, upper),
                (orthogonal_factor.solve_transposed, upper.T),
            ):
                found = x.copy()
                solve(triangle, m, found)
                error = np.abs(matrix @ found - x).max()
                assert error <= 1e-12 * (1 + np.abs(matrix).max() * np.abs(found).max())


def test_refusals_are_sentences():
    P, y = gaussian_data(13, 8, 5)
    with pytest.raises(ConfigError, match="takes one task"):
        ultimate(as_problem(P, np.column_stack([y, y])), lam=0.1)
    with pytest.raises(ConfigError, match="lam must be at least 0"):
        ultimate(as_problem(P, y), lam=-0.1)
    with pytest.raises(DataError, match="all columns of the design are zero"):
        ultimate(as_problem(0 * P, y), lam=0.1)


def test_the_registered_guarantee_holds():
    lam = 0.05
    problem = as_problem(*gaussian_data(14, 5, 14))
    path = lasso(problem, lam=lam, tol=1e-13)
    optimum = Optimum(path.coef[0, :, 0], float(path.objective[0]), 0.0)
    bound = find("algorithm", "ultimate").guarantee(problem, optimum, lam=lam)
    assert 0 < bound.rate < 1
    iteration = ultimate(problem, lam=lam)
    first = iteration.objective - optimum.value
    for k in range(1, 80):
        iteration.advance(k)
        assert iteration.objective - optimum.value <= bound.bound(k, first) + 1e-13
