"""The log-determinant loss against conic programs, closed forms and all small graphs."""

from __future__ import annotations

import itertools

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from greedyexp.algorithms.foba.gain import foba_obj, forward_obj
from greedyexp.algorithms.foba.gradient import foba_gdt, forward_gdt
from greedyexp.core.errors import DataError
from greedyexp.losses.binding import bind
from greedyexp.problems.pairs import as_pairs

SELECTIONS = (foba_obj, foba_gdt, forward_obj, forward_gdt)


def rows(seed, n=40, v=5, strength=0.4):
    """Rows of a chain whose variables have unequal units."""
    rng = np.random.default_rng(seed)
    precision = np.eye(v) + strength * (np.eye(v, k=1) + np.eye(v, k=-1))
    sample = rng.multivariate_normal(np.zeros(v), np.linalg.inv(precision), n)
    return sample * rng.uniform(0.1, 10.0, v)


def covariance(X):
    return np.cov(X, rowvar=False, bias=True)


def loss_of(X):
    return bind("logdet", as_pairs(X))


def matrix(params, v):
    made = np.zeros((v, v))
    made[np.triu_indices(v, 1)] = params[:-v]
    return made + made.T + np.diag(params[-v:])


def params_of(T):
    return np.append(T[np.triu_indices(len(T), 1)], T.diagonal())


def objective(T, S):
    sign, log_det = np.linalg.slogdet(T)
    positive = sign > 0 and np.linalg.eigvalsh(T)[0] > 0
    return -log_det + np.trace(S @ T) if positive else np.inf


def scaled_proportionally(S, edges, rounds=2000):
    """The maximum of likelihood by iterative proportional scaling of one pair after another."""
    T = np.diag(1 / S.diagonal())
    for _ in range(rounds):
        before = T.copy()
        for edge in edges:
            at = np.ix_(edge, edge)
            T[at] += np.linalg.inv(S[at]) - np.linalg.inv(np.linalg.inv(T)[at])
        if np.abs(T - before).max() <= 1e-14 * np.abs(T).max():
            break
    return T


def random_point(rng, v):
    A = rng.standard_normal((v, v + 2))
    return A @ A.T / v


@pytest.mark.parametrize("seed", range(5))
def test_values_and_derivatives_are_those_of_the_formula(seed):
    X = rows(seed)
    loss, S, T = loss_of(X), covariance(X), random_point(np.random.default_rng(seed), 5)
    point = params_of(T)
    assert loss.value(point) == pytest.approx(objective(T, S), rel=1e-12)
    slopes = loss.gradient(point)
    for place in range(len(point)):
        ahead, behind = point.copy(), point.copy()
        step = 1e-6 * abs(point[-1])
        ahead[place] += step
        behind[place] -= step
        change = objective(matrix(ahead, 5), S) - objective(matrix(behind, 5), S)
        assert slopes[place] == pytest.approx(change / (2 * step), rel=1e-5, abs=1e-5)
    T[0, 1] = T[1, 0] = 2 * np.sqrt(T[0, 0] * T[1, 1])
    assert loss.value(params_of(T)) == np.inf
    with pytest.raises(DataError, match="not positive definite"):
        loss.coordinate_minima(params_of(T))


@pytest.mark.parametrize("seed", range(8))
def test_steps_and_gains_are_those_of_a_search_along_the_coefficient(seed):
    X = rows(seed)
    loss, S, T = loss_of(X), covariance(X), random_point(np.random.default_rng(seed), 5)
    d = 1 / np.sqrt(S.diagonal())
    T = T * np.outer(d, d)
    steps, gains = loss.coordinate_minima(params_of(T))
    for place, (i, j) in enumerate(itertools.combinations(range(5), 2)):

        def along(a, i=i, j=j):
            moved = T.copy()
            moved[i, j] += a
            moved[j, i] += a
            return objective(moved, S)

        # The domain is an interval around zero.
        W = np.linalg.inv(T)
        edge = np.sqrt(W[i, i] * W[j, j])
        low, high = -1 / (edge + W[i, j]), 1 / (edge - W[i, j])
        found = minimize_scalar(along, bounds=(low, high), options={"xatol": 1e-13 * (high - low)})
        assert gains[place] == pytest.approx(along(0.0) - along(steps[place]), abs=1e-12)
        assert along(steps[place]) <= found.fun + 1e-12
        assert steps[place] == pytest.approx(found.x, rel=1e-4, abs=1e-6 * (high - low))


def test_a_step_is_as_accurate_as_the_inverse_of_a_matrix_that_is_nearly_singular():
    # The correlation of W is close to one and opposite to that of the sample, so that the
    # denominator of the step cancels.
    X = rows(0, v=2, strength=-0.6)
    S = covariance(X)
    assert S[0, 1] > 0
    d = 1 / np.sqrt(S.diagonal())
    for apart in (1e-2, 1e-4, 1e-6, 1e-8):
        T = np.array([[1.0, 1.0 - apart], [1.0 - apart, 1.0]]) * np.outer(d, d)
        point = params_of(T)
        point[0] += loss_of(X).coordinate_minima(point)[0][0]
        # At the minimum the derivative 2 (S_01 - W_01) is zero.
        condition = 2 / apart
        rounding = 10 * np.finfo(float).eps * condition
        assert abs(loss_of(X).gradient(point)[0]) <= rounding * abs(S[0, 1])


@pytest.mark.parametrize("edges", [[], [0], [0, 4, 7], [1, 2, 5, 8], list(range(10))])
def test_minimisers_are_those_of_a_conic_program(edges):
    X = rows(3)
    S, loss = covariance(X), loss_of(X)
    found = loss.minimise(edges)
    assert found.converged
    d = 1 / np.sqrt(S.diagonal())
    R = S * np.outer(d, d)
    T = cp.Variable((5, 5), symmetric=True)
    pairs = list(itertools.combinations(range(5), 2))
    absent = [T[pair] == 0 for place, pair in enumerate(pairs) if place not in edges]
    least = cp.Problem(cp.Minimize(-cp.log_det(T) + cp.trace(R @ T)), absent).solve(cp.CLARABEL)
    units = 2 * np.log(1 / d).sum()
    assert found.value == pytest.approx(least + units, abs=1e-6)
    assert found.value <= least + units + 1e-8
    np.testing.assert_allclose(matrix(found.params, 5) / np.outer(d, d), T.value, atol=1e-3)


def test_minimisers_of_decomposable_graphs_are_sums_over_cliques_and_separators():
    for seed in range(5):
        rng, X = np.random.default_rng(seed), rows(seed, v=9, n=30)
        S, loss = covariance(X), loss_of(X)
        # Each further variable is joined to all of a clique, which separates it from the others.
        T, edges, cliques = np.zeros((9, 9)), set(), [(0, 1)]
        T[np.ix_((0, 1), (0, 1))] += np.linalg.inv(S[:2, :2])
        edges.add((0, 1))
        for new in range(2, 9):
            clique = cliques[rng.integers(len(cliques))]
            separator = tuple(sorted(rng.choice(clique, min(2, len(clique)), replace=False)))
            joined = (*separator, new)
            T[np.ix_(joined, joined)] += np.linalg.inv(S[np.ix_(joined, joined)])
            T[np.ix_(separator, separator)] -= np.linalg.inv(S[np.ix_(separator, separator)])
            edges |= {(int(one), new) for one in separator}
            cliques.append(joined)
        pairs = list(itertools.combinations(range(9), 2))
        found = loss.minimise([pairs.index(edge) for edge in sorted(edges)])
        assert found.converged
        d = np.sqrt(S.diagonal())
        np.testing.assert_allclose(
            matrix(found.params, 9) * np.outer(d, d), T * np.outer(d, d), atol=1e-9
        )


@pytest.mark.parametrize("fast", SELECTIONS)
def test_paths_visit_minimisers_of_all_small_graphs_and_end_at_the_best(fast):
    X = rows(2, n=60, v=4)
    S = covariance(X)
    pairs = list(itertools.combinations(range(4), 2))
    least = {}
    for size in range(7):
        for graph in itertools.combinations(range(6), size):
            T = scaled_proportionally(S, [pairs[place] for place in graph])
            least[graph] = objective(T, S)
    path = fast(as_pairs(X), loss="logdet", max_features=6)
    assert path.grid["max_features"].tolist() == list(range(7))
    assert path.converged.all()
    for size, (support, value) in enumerate(
        zip(path.sparse.supports(), path.objective, strict=True)
    ):
        graph = tuple(np.flatnonzero(support[:, 0]).tolist())
        assert value == pytest.approx(least[graph], abs=1e-11)
        # The chain is strong enough for greedy steps to find the best graph of each size.
        if fast is not forward_gdt and fast is not foba_gdt:
            assert value == pytest.approx(
                min(value for graph, value in least.items() if len(graph) == size), abs=1e-11
            )


def test_units_of_the_variables_change_no_gain_and_no_graph():
    X = rows(1, v=6)
    other = X * np.array([1e-6, 1e4, 1.0, 1e5, 1e-3, 7.0])
    one, two = loss_of(X), loss_of(other)
    ends = [loss.minimise([0, 3, 9]) for loss in (one, two)]
    gains = [
        loss.coordinate_minima(end.params)[1] for loss, end in zip((one, two), ends, strict=True)
    ]
    np.testing.assert_allclose(gains[0], gains[1], rtol=1e-8, atol=1e-13)
    paths = [foba_obj(as_pairs(rows), loss="logdet", max_features=7) for rows in (X, other)]
    assert (paths[0].history["feature"] == paths[1].history["feature"]).all()


def test_costs_of_removals_are_differences_of_values():
    X = rows(4, v=6)
    loss = loss_of(X)
    found = loss.minimise([0, 2, 5, 9, 14])
    costs = loss.removal_costs(found.params, [14, 0, 5])
    for place, cost in zip([14, 0, 5], costs, strict=True):
        without = loss.without(found.params, [place])
        assert cost == pytest.approx(loss.value(without) - found.value, abs=1e-12)
    # Without the entry (0, 1) this matrix would not be positive definite.
    T = np.array([[1.0, 0.8, 0.7], [0.8, 1.0, 0.95], [0.7, 0.95, 1.0]])
    other = loss_of(X[:, :3])
    point = params_of(T) / np.sqrt(np.outer(*2 * [covariance(X[:, :3]).diagonal()])).max()
    assert np.isfinite(other.value(point))
    costs = other.removal_costs(point, [0, 1, 2])
    for place, cost in enumerate(costs):
        value = other.value(other.without(point, [place]))
        assert (
            cost == np.inf
            if np.isinf(value)
            else cost == pytest.approx(value - other.value(point), rel=1e-9)
        )
    assert np.isinf(costs).any()


@pytest.mark.parametrize("seed", range(10))
def test_costs_of_removals_are_those_of_any_matrix(seed):
    loss, point = loss_of(rows(seed, v=4)), params_of(random_point(np.random.default_rng(seed), 4))
    value = loss.value(point)
    changed = [loss.value(loss.without(point, [place])) for place in range(6)]
    np.testing.assert_allclose(
        loss.removal_costs(point, range(6)), np.array(changed) - value, rtol=1e-8, atol=1e-10
    )


def test_derivatives_at_minimisers_are_within_their_bound():
    for seed in range(5):
        loss = loss_of(rows(seed, n=8, v=6, strength=0.49))
        for support in ([], [0], [0, 3, 8]):
            end = loss.minimise(support)
            slopes = np.abs(end.gradient[: loss.size])
            assert (slopes <= loss.steepest(end.value)).all()
            assert loss.scale <= loss.steepest(end.value).max()


def decrement(S, T, free):
    """(g^T H^-1 g)^(1/2) over entries, from traces of products with symmetric unit matrices."""
    v, W = len(S), np.linalg.inv(T)
    units = [matrix(row, v) for row in np.eye(v * (v + 1) // 2)[free]]
    g = np.array([((S - W) * one).sum() for one in units])
    H = np.array([[np.trace(W @ one @ W @ other) for other in units] for one in units])
    return np.sqrt(g @ np.linalg.solve(H, g))


def test_the_decrement_bounds_the_distance_from_the_minimum():
    X = rows(5, v=6)
    loss, support = loss_of(X), [0, 5, 9, 12]
    end = loss.minimise(support)
    rng = np.random.default_rng(0)
    free = [*support, *range(loss.size, loss.size + 6)]
    seen = []
    for _ in range(50):
        point = end.params.copy()
        point[free] *= 1 + rng.uniform(0, 0.3) * rng.standard_normal(len(free))
        if np.isinf(loss.value(point)):
            continue
        size = decrement(covariance(X), matrix(point, 6), free)
        if size < 1:
            excess = loss.value(point) - end.value
            assert excess <= -size - np.log1p(-size) + 1e-12
            # The bound is of the right size: half the squared decrement near the minimum.
            assert excess >= size - np.log1p(size) - 1e-12
            seen.append(size)
    assert len(seen) > 20
    assert decrement(covariance(X), matrix(end.params, 6), free) <= 1e-8


def test_edges_without_a_minimum_end_the_path_with_the_reason():
    # Two rows after centring span one direction: every pair of variables is dependent.
    X = rows(0, n=2, v=3)
    path = foba_obj(as_pairs(X), loss="logdet", max_features=2)
    assert path.converged[0]
    assert path.sparse.sizes.max() == 0
    assert "no minimum over these edges is found" in path.message
    assert "before the edge between variables 0 and " in path.message
    # Of three rows, pairs have a minimum and a triangle has none.
    X = rows(1, n=3, v=3)
    loss = loss_of(X)
    assert loss.minimise([0, 1]).converged
    assert not loss.minimise([0, 1, 2]).converged


def test_more_variables_than_rows_have_a_path():
    X = rows(7, n=15, v=30)
    path = foba_obj(as_pairs(X), loss="logdet", max_features=12)
    assert path.converged.all()
    S = covariance(X)
    for coef, dense, value in zip(path.coef, path.dense, path.objective, strict=True):
        T = matrix(np.append(coef.ravel(), dense), 30)
        assert objective(T, S) == pytest.approx(value, abs=1e-9)
        used = (T != 0) | np.eye(30, dtype=bool)
        assert np.abs(np.linalg.inv(T) - S)[used].max() <= 1e-7 * S.max()


@pytest.mark.parametrize(
    ("X", "said"),
    [
        (np.c_[np.arange(5.0), np.ones(5)], "column 1 of X is constant"),
        (np.arange(5.0)[:, None], "at least two variables"),
        (np.array([[1.0, 2.0], [np.nan, 1.0], [0.0, 3.0]]), "nan at index"),
        (np.ones((1, 3)), "at least 2 are needed"),
        ([np.ones((3, 3)), np.ones((3, 3))], "one sample"),
    ],
)
def test_data_without_a_graph_are_refused(X, said):
    with pytest.raises(DataError, match=said):
        as_pairs(X)
