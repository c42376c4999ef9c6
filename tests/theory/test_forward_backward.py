"""The theorems of forward-backward selection, stated here by their own formulas."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from greedyexp.algorithms.foba._path import threshold_of_theorem
from greedyexp.algorithms.foba.gain import foba_obj
from greedyexp.algorithms.foba.gradient import foba_gdt
from greedyexp.algorithms.lasso.lasso import lasso
from greedyexp.core import registry
from greedyexp.core.errors import ConfigError, DataError
from greedyexp.losses.binding import bind
from greedyexp.losses.squared import SquaredLoss
from greedyexp.metrics import oracle_errors
from greedyexp.metrics.support import false_negatives, false_positives
from greedyexp.problems.problem import as_problem
from greedyexp.protocols.fitting import fit, prescribed
from greedyexp.solvers.greedy_rules import Gain, RefitGain, RowSlope, Slope
from greedyexp.theory import forward_backward as theory

SETTINGS = settings(deadline=None, derandomize=True, max_examples=60)
PAIRS = [
    (oracle_errors.oracle_error, oracle_errors.oracle_error_bound),
    (oracle_errors.objective_gap, oracle_errors.objective_gap_bound),
    (false_negatives, oracle_errors.false_negatives_bound),
    (false_positives, oracle_errors.false_positives_bound),
]


def drawn(seed, n=60, p=12, sparsity=3, strongest=3.0, noise=0.3, correlation=0.5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + np.sqrt(correlation) * rng.standard_normal((n, 1))
    truth = np.zeros(p)
    truth[rng.choice(p, sparsity, replace=False)] = rng.uniform(0.02, strongest, sparsity)
    return X, X @ truth + noise * rng.standard_normal(n), truth


def test_thresholds_of_both_selections_say_the_same():
    epsilon = theory.gradient_threshold(1.7, 0.4, 0.3)
    assert theory.gain_threshold(1.7, 0.4, 0.3) == pytest.approx(epsilon**2 / (2 * 1.7))
    assert theory.gain_threshold(1.0, 0.5, 0.1) == pytest.approx(4 * 0.01 / 0.25)


def test_bounds_are_those_of_theorem_four_with_its_misprint_mended():
    single, lower, delta = 1.7, 0.4, 0.05
    gamma = 4 * math.sqrt(single * delta) / lower
    weak = np.array([0.5 * gamma, 0.99 * gamma, 1.01 * gamma])
    found = theory.bounds(math.sqrt(2 * single * delta), single, lower, weak)
    assert found.error == pytest.approx(16 * single * delta / lower**2 * 2)
    assert found.gap == pytest.approx(2 * single * delta / lower * 2)
    assert found.missed == 4
    assert found.wrong == pytest.approx(8 * single**2 / lower**2 * 4)


@SETTINGS
@given(
    st.integers(0, 10**6),
    st.sampled_from(["obj", "gdt"]),
    st.sampled_from([0.03, 0.3, 1.0]),
    st.floats(0.0, 2.0),
    st.integers(1, 5),
)
def test_theorems_hold_with_the_constants_of_all_supports(seed, rule, noise, correlation, sparsity):
    """The statement itself, by its own formulas: rho_- of all supports, Delta, and s of (3)."""
    X, y, truth = drawn(seed, 80, 12, sparsity, noise=noise, correlation=correlation)
    n, true = len(X), np.flatnonzero(truth)
    rho, single = np.linalg.eigvalsh(X.T @ X / n)[0], (X**2).sum(axis=0).max() / n
    best = np.zeros(12)
    best[true] = np.linalg.lstsq(X[:, true], y, rcond=None)[0]
    slope = np.abs(X.T @ (X @ best - y)).max() / n
    if rule == "obj":
        delta = 1.001 * theory.gain_threshold(single, rho, slope)
        path = foba_obj(as_problem(X, y), grid={"delta": np.array([delta])})
        gamma, error, gap = (
            4 * math.sqrt(single * delta) / rho,
            16 * single * delta / rho**2,
            2 * single * delta / rho,
        )
    else:
        epsilon = 1.001 * theory.gradient_threshold(single, rho, slope)
        path = foba_gdt(as_problem(X, y), grid={"epsilon": np.array([epsilon])})
        gamma, error, gap = (
            2 * math.sqrt(2) * epsilon / rho,
            8 * epsilon**2 / rho**2,
            epsilon**2 / rho,
        )
    b = path.coef[0, :, 0]
    lost = (b == 0) & (truth != 0)
    extra = (b != 0) & (truth == 0)
    count = np.count_nonzero(lost & (np.abs(best) < gamma))

    def loss(b):
        return ((y - X @ b) ** 2).sum() / (2 * n)

    assert ((b - best) ** 2).sum() <= error * count + 1e-12
    assert -1e-12 <= loss(b) - loss(best) <= gap * count + 1e-12
    assert lost.sum() <= 2 * count
    assert rho**2 / (8 * single**2) * extra.sum() <= lost.sum()


@SETTINGS
@given(
    st.integers(0, 10**6),
    st.integers(8, 60),
    st.sampled_from([0.03, 0.3, 1.0]),
    st.booleans(),
    st.sampled_from([0.0, 0.05]),
)
def test_measured_bounds_hold_at_every_point_of_every_path(seed, n, noise, intercept, ridge):
    X, y, truth = drawn(seed, n, 14, 3, noise=noise)
    problem = as_problem(X, y + 2.0 * intercept, truth=truth)
    paths = [
        foba_obj(problem, ridge=ridge, intercept=intercept),
        foba_gdt(problem, ridge=ridge, intercept=intercept),
    ]
    if not intercept and not ridge:
        paths.append(lasso(problem, n_lams=8))
    for path in paths:
        for own, bound in PAIRS:
            assert (own(problem, path) <= bound(problem, path) * (1 + 1e-9) + 1e-12).all()


@SETTINGS
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.01, 0.3]), st.booleans())
def test_measured_bounds_hold_for_other_losses(seed, ridge, intercept):
    X, y, truth = drawn(seed, 60, 10, 3, noise=2.0)
    problem = as_problem(X, np.where(y > np.median(y), 1.0, -1.0), truth=truth)
    path = foba_gdt(problem, loss="logistic", ridge=ridge, intercept=intercept, max_features=6)
    assume(path.converged.all())
    for own, bound in PAIRS:
        promised = bound(problem, path)
        assert (own(problem, path) <= promised * (1 + 1e-9) + 1e-12).all()
        assert np.isfinite(promised).all() == (ridge > 0 or bound in (PAIRS[2][1], PAIRS[3][1]))


def test_strong_signals_are_guaranteed_and_found():
    X, y, truth = drawn(5, 400, 8, 3, noise=0.01, correlation=0.0)
    problem = as_problem(X, y, truth=truth)
    path = foba_gdt(problem, max_features=5)
    applies = oracle_errors.guaranteed(problem, path)
    at = np.flatnonzero((path.coef[..., 0] != 0).sum(axis=1) == 3)[0]
    assert applies[at] == 1.0
    assert not applies[at + 1 :].any()
    for own, bound in PAIRS:
        assert bound(problem, path)[at] == 0.0
        assert own(problem, path)[at] == 0.0
    assert (oracle_errors.false_negatives_bound(problem, path)[at + 1 :] == 3.0).all()
    assert (oracle_errors.false_positives_bound(problem, path)[at + 1 :] == 5.0).all()


def test_errors_are_by_hand():
    X, y, truth = drawn(8, 30, 6, 2)
    problem = as_problem(X, y, truth=truth)
    path = lasso(problem, lam=[0.05])
    b, true = path.coef[0, :, 0], np.flatnonzero(truth)
    best = np.zeros(6)
    best[true] = np.linalg.lstsq(X[:, true], y, rcond=None)[0]
    loss = bind("squared", problem, ridge=0.0, intercept=False)
    assert oracle_errors.oracle_error(problem, path)[0] == pytest.approx(((b - best) ** 2).sum())
    gap = ((y - X @ b) ** 2).sum() / 60 - ((y - X @ best) ** 2).sum() / 60
    assert oracle_errors.objective_gap(problem, path)[0] == pytest.approx(gap)
    assert oracle_errors.false_negatives_bound(problem, path)[0] == 2.0
    assert oracle_errors.false_positives_bound(problem, path)[0] == 4.0
    assert oracle_errors.guaranteed(problem, path)[0] == 0.0
    union = np.flatnonzero((b != 0) | (truth != 0))
    least = np.linalg.eigvalsh(X[:, union].T @ X[:, union] / 30)[0]
    here, there = loss.gradient(b)[union], loss.gradient(best)[union]
    expected = 4 * max(here @ here, there @ there) / least**2
    assert oracle_errors.oracle_error_bound(problem, path)[0] == pytest.approx(expected)
    two = as_problem([X, X], [y, y], truth=np.column_stack([truth, truth]))
    both = lasso(two, lam=[0.05])
    with pytest.raises(DataError, match="one task"):
        oracle_errors.guaranteed(two, both)


def test_each_path_is_compared_once_for_all_metrics(monkeypatch):
    X, y, truth = drawn(5, 40, 8, 3)
    problem = as_problem(X, y, truth=truth)
    paths = [foba_gdt(problem, max_features=4), foba_obj(problem, max_features=3)]
    fits, minimise = [], SquaredLoss.minimise

    def counted(loss, support, start=None):
        fits.append(loss)
        return minimise(loss, support, start)

    monkeypatch.setattr(SquaredLoss, "minimise", counted)
    promised = [
        [bound(problem, path) for _, bound in PAIRS] + [oracle_errors.guaranteed(problem, path)]
        for path in paths
    ]
    assert fits == [path.loss for path in paths]
    assert [len(values) for values in promised[0]] == [5] * 5
    assert [len(values) for values in promised[1]] == [4] * 5
    other = as_problem(X, y, truth=truth[::-1].copy())
    assert (
        oracle_errors.oracle_error(other, paths[1])[-1]
        != oracle_errors.oracle_error(problem, paths[1])[-1]
    )


SHARED = {
    "loss": "squared",
    "ridge": 0.0,
    "intercept": False,
    "backward_ratio": 0.5,
    "stop": "theorem",
}
THEOREM = {
    foba_obj: SHARED | {"judge": "coordinate", "prune": True},
    foba_gdt: SHARED | {"unit": "feature"},
}


@SETTINGS
@given(
    st.integers(0, 10**6),
    st.sampled_from([(Gain, foba_obj, "delta"), (Slope, foba_gdt, "epsilon")]),
    st.sampled_from([0.01, 0.1, 0.6]),
    st.sampled_from([(25, 60), (60, 14)]),
)
def test_runs_with_the_threshold_of_the_theorem_are_guaranteed(seed, rule, noise, size):
    judge, select, name = rule
    X, y, truth = drawn(seed, *size, 3, noise=noise, correlation=0.2)
    problem = as_problem(X, y, truth=truth)
    try:
        threshold = threshold_of_theorem(problem, bind("squared", problem), judge)
    except DataError:
        assume(False)
    part = registry.find("algorithm", select.__name__)
    path = fit(part, problem, THEOREM[select], grid=prescribed(part, problem, THEOREM[select]))
    assert path.grid[name] == threshold
    assert oracle_errors.guaranteed(problem, path)[0] == 1.0
    chosen = np.flatnonzero(path.coef[0])
    union = np.union1d(chosen, np.flatnonzero(truth))
    n = len(X)
    least = np.linalg.eigvalsh(X[:, union].T @ X[:, union] / n)[0]
    single = (X**2).sum(axis=0).max() / n
    best = np.zeros(len(truth))
    best[truth != 0] = np.linalg.lstsq(X[:, truth != 0], y, rcond=None)[0]
    slope = np.abs(X.T @ (X @ best - y)).max() / n
    delta = threshold if name == "delta" else threshold**2 / (2 * single)
    assert delta >= 4 * single / least**2 * slope**2
    for own, bound in PAIRS:
        assert own(problem, path)[0] <= bound(problem, path)[0] * (1 + 1e-9) + 1e-12


def test_threshold_of_the_theorem_is_refused_where_there_is_none():
    X, y, truth = drawn(1)
    problem = as_problem(X, y, truth=truth)
    loss = bind("squared", problem)
    for rule in (RowSlope, RefitGain):
        with pytest.raises(ConfigError, match="single features"):
            threshold_of_theorem(problem, loss, rule)
    with pytest.raises(ConfigError, match="backward_ratio"):
        threshold_of_theorem(problem, loss, Slope, ratio=0.25)
    with pytest.raises(DataError, match="true coefficients"):
        threshold_of_theorem(as_problem(X, y), loss, Slope)
    signs = as_problem(X, np.where(y > np.median(y), 1.0, -1.0), truth=truth)
    with pytest.raises(DataError, match="do not apply"):
        threshold_of_theorem(signs, bind("logistic", signs), Slope)
