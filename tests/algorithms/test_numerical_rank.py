"""One numerical rank: centred columns from far away, and a response that is not centred."""

import numpy as np
import pytest
from trajectory_runs import SETUP

from greedyexp.core import registry
from greedyexp.problems.problem import Problem, as_problem
from greedyexp.protocols.base import Status
from greedyexp.protocols.trajectory._optimum import optimum, projected
from greedyexp.protocols.trajectory.trajectory import trajectory
from greedyexp.solvers.gauge import gauge_coordinates
from greedyexp.solvers.lasso_active_set import _direction, minimise
from greedyexp.theory.spectrum import spectrum

EPS = np.finfo(float).eps
METHODS = {
    "gradient_descent": {},
    "gs_coordinate_descent": {},
    "proximal_gradient": {"lam": 0.1},
    "proximal_gs_coordinate_descent": {"lam": 0.1, "smoothness": "l1"},
    "rmp": {"lam": 0.1},
    "ultimate": {"lam": 0.1},
}


def standardised(seed, n=20, p=60):
    """Columns around 100, centred and scaled: rank n - 1, but for rounding."""
    rng = np.random.default_rng(seed)
    X = 100 + rng.standard_normal((n, p))
    return as_problem((X - X.mean(axis=0)) / X.std(axis=0), 1 + rng.standard_normal(n))


def test_these_designs_have_singular_values_above_plain_rounding():
    for seed in range(20):
        values = np.linalg.svd(standardised(seed).X[0], compute_uv=False)
        assert values[-1] > 60 * EPS * values[0]


def test_rank_is_the_same_for_all():
    for seed in range(20):
        problem = standardised(seed)
        X, y = problem.X[0], problem.y[0]
        assert spectrum(X).rank == gauge_coordinates(X, y).atoms.shape[1] == 19
        assert abs(projected(problem).y[0].sum()) < 1e-11
        best = optimum(problem, 0.0)
        # The mean of the response is out of reach.
        assert best.value == pytest.approx(y.mean() ** 2 / 2, rel=1e-10)
        centred = np.linalg.lstsq(X, y - y.mean(), rcond=1e-10)[0]
        assert best.coef == pytest.approx(centred, abs=1e-11)
        assert best.gap < 1e-28


@pytest.mark.parametrize("n_features", [20, 60])
def test_supports_of_the_lasso_are_independent_at_that_rank(n_features):
    problem = standardised(3, p=n_features)
    X, y = problem.X[0], problem.y[0]
    everything = np.random.default_rng(0).standard_normal(n_features)
    best = minimise(X, y - y.mean(), 1e-4, everything, 1e-14)
    assert best.gap <= 1e-14
    assert np.count_nonzero(best.coef) <= 19


def test_as_many_columns_as_rows_are_dependent():
    # A solution on them would have coefficients of the size of 1e13.
    for seed in range(20):
        problem = standardised(seed)
        X, known = problem.X[0], spectrum(problem.X[0])
        for inside in (slice(20), slice(30, 50)):
            columns = X[:, inside]
            signs = np.sign(np.random.default_rng(seed).standard_normal(20))
            move, ends = _direction(columns, known, problem.y[0], 1e-4, signs, signs)
            assert not ends
            assert np.abs(columns @ move).max() < 1e-11 * np.abs(move).max()


def test_a_value_just_below_the_margin_counts_for_no_support():
    X, y = standardised(0, p=20).X[0], standardised(0, p=20).y[0]
    flat = np.linalg.svd(X - X.mean(axis=0))[2][-1]
    X = X - X.mean(axis=0) + 0.9 * spectrum(X).floor / np.sqrt(20) * flat
    assert spectrum(X).rank == 19
    assert not _direction(X, spectrum(X), y, 1e-4, np.ones(20), np.ones(20))[1]


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("name", METHODS)
def test_gaps_fall_to_rounding_within_their_guarantees(name, begun):
    problem = standardised(1)
    if begun:
        start = np.random.default_rng(2).standard_normal((60, 1))
        problem = Problem(problem.X, problem.y, start=start)
    found = trajectory(
        problem, registry.find("algorithm", name), METHODS[name], SETUP,
        iterations=3000, points=60, guarantees=True,
    )  # fmt: skip
    assert found.status is Status.OK
    first, last = found.rows[0], found.rows[-1]
    assert abs(last["gap"]) <= 1e-13 * first["gap"]
    for row in found.rows:
        assert row["gap"] <= row["guarantee"] * (1 + 1e-9) + 1e-14 * first["gap"]
    if name in ("gradient_descent", "gs_coordinate_descent", "ultimate"):
        assert last["guarantee"] < 1e-8 * first["gap"]
