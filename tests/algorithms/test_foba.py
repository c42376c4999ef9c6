import numpy as np
import pytest
from foba_oracle import LeastSquares, select
from foba_oracle_losses import Smooth, logistic
from foba_problems import RULES, agrees, classes, confounded, steps_of, words
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from greedyexp.algorithms.foba.gain import foba_obj, forward_obj
from greedyexp.algorithms.foba.gradient import foba_gdt, forward_gdt
from greedyexp.algorithms.pursuit.omp import omp
from greedyexp.losses.binding import bind
from greedyexp.problems.problem import as_problem


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("backward", [True, False])
@pytest.mark.parametrize(("ridge", "intercept"), [(0.0, False), (0.05, True)])
def test_least_squares_follow_the_listing_step_by_step(rule, backward, ridge, intercept):
    fast = RULES[rule][0 if backward else 1]
    removals = 0
    for seed in range(8):
        X, y, _ = confounded(seed)
        loss = LeastSquares(X, y + 3 * intercept, ridge, intercept)
        first = {"visit": "first"} if backward else {}
        path = fast(
            as_problem(X, loss.y), ridge=ridge, intercept=intercept, max_features=9, **first
        )
        slow = select(loss, rule=rule, max_features=9, backward=backward)
        agrees(path, slow)
        if intercept:
            assert path.dense[-1, 0] == pytest.approx(slow.intercept, abs=1e-8)
        removals += path.facts["removals"][-1]
    assert (removals > 0) == backward


@pytest.mark.parametrize("ratio", [0.1, 1.0])
@pytest.mark.parametrize("judge", ["coordinate", "refit"])
def test_ratio_and_judge_are_those_of_the_listing(ratio, judge):
    for seed in range(4):
        X, y, _ = confounded(seed)
        path = foba_obj(
            as_problem(X, y), backward_ratio=ratio, judge=judge, max_features=10, visit="first"
        )
        slow = select(
            LeastSquares(X, y), rule="obj", max_features=10, backward_ratio=ratio, judge=judge
        )
        agrees(path, slow)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("ridge", "intercept"), [(0.02, False), (0.001, True)])
def test_logistic_follows_the_listing_with_scipy_minimisers(rule, ridge, intercept):
    removals = 0
    for seed in range(3):
        X, y, _ = classes(seed, noise=1.0)
        path = RULES[rule][0](
            as_problem(X, y),
            loss="logistic",
            ridge=ridge,
            intercept=intercept,
            max_features=6,
            visit="first",
        )
        slow = select(logistic(X, y, ridge, intercept), rule=rule, max_features=6)
        agrees(path, slow)
        np.testing.assert_allclose(path.dense[-1], slow.intercept, atol=1e-6)
        removals += path.facts["removals"][-1]
    assert removals > 0


@pytest.mark.parametrize("rule", RULES)
def test_chains_follow_the_listing_with_scipy_minimisers(rule):
    problem = words(0, p=3, n_chains=8)
    loss = bind("crf", problem, ridge=0.02)
    path = RULES[rule][0](problem, loss="crf", ridge=0.02, max_features=4)
    slow = select(
        Smooth(loss.value_and_gradient, loss.size, loss.n_dense), rule=rule, max_features=4
    )
    agrees(path, slow)


def test_groups_are_rows_taken_and_dropped_whole():
    problem = words(1, p=6)
    loss = bind("crf", problem, ridge=0.02)
    path = foba_gdt(problem, loss="crf", ridge=0.02, unit="group", max_groups=4)
    assert path.grid["max_groups"].tolist() == [0, 1, 2, 3, 4]
    rows: list[int] = []
    for coef in path.coef:
        used = np.flatnonzero(coef.any(axis=1))
        assert (coef[used] != 0).all()
        assert sorted(rows) == used.tolist()
        here = np.append(coef.ravel(), path.dense[len(rows)])
        norms = np.linalg.norm(loss.gradient(here)[: loss.size].reshape(loss.shape), axis=1)
        assert norms[used].max(initial=0.0) < 1e-8
        rows.append(int(norms.argmax()))
    assert path.history["feature"].tolist() == rows[:-1]
    assert "task" not in path.history


def test_the_backward_step_drops_what_two_true_features_replace():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 30))
    X[:, 7] = X[:, 2] + X[:, 4] + 0.4 * rng.standard_normal(200)
    y = 2 * X[:, 2] + 2 * X[:, 4] + 0.01 * rng.standard_normal(200)
    for fast, stop in ((foba_obj, {"delta": 1e-4}), (foba_gdt, {"epsilon": 0.01})):
        path = fast(as_problem(X, y), **stop)
        assert steps_of(path)[0] == ("add", 7)
        assert ("remove", 7) in steps_of(path)
        assert np.flatnonzero(path.coef[-1]).tolist() == [2, 4]
    for fast, stop in ((forward_obj, {"delta": 1e-4}), (forward_gdt, {"epsilon": 0.01})):
        assert np.flatnonzero(fast(as_problem(X, y), **stop).coef[-1]).tolist() == [2, 4, 7]


def test_forward_selection_by_gain_is_orthogonal_matching_pursuit():
    X, y, _ = confounded(3)
    problem = as_problem(X, y)
    for fast, normalize in ((forward_obj, True), (forward_gdt, False)):
        expected = omp(problem, n_atoms=9, normalize=normalize)
        np.testing.assert_allclose(fast(problem, max_features=9).coef, expected.coef, atol=1e-9)


@pytest.mark.parametrize("rule", RULES)
def test_every_point_of_a_grid_is_the_answer_of_a_run_of_its_own(rule):
    fast, _, name = RULES[rule]
    for seed in range(4):
        X, y, _ = confounded(seed)
        problem = as_problem(X, y)
        whole = fast(problem, max_features=10)
        for m, coef in zip(whole.grid["max_features"], whole.coef, strict=True):
            alone = fast(problem, max_features=int(m)) if m else fast(problem, **{name: 1e9})
            np.testing.assert_array_equal(alone.coef[-1], coef)
        again = fast(problem, grid=whole.grid)
        np.testing.assert_array_equal(again.coef, whole.coef)
        asked = np.array([3.0, 0.5, 0.2, 0.05, 0.01])
        at = fast(problem, grid={name: asked})
        assert at.grid[name].tolist() == asked.tolist()
        for threshold, coef in zip(asked, at.coef, strict=True):
            np.testing.assert_array_equal(fast(problem, **{name: threshold}).coef[-1], coef)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_history_replays_to_the_points_of_the_path(loss):
    X, y, _ = confounded(6) if loss == "squared" else classes(6)
    path = foba_gdt(as_problem(X, y), loss=loss, ridge=0.01, max_features=8, visit="first")
    support, counts = set(), {"add": 0, "remove": 0}
    at = {0: frozenset()}
    for k, (action, feature) in enumerate(steps_of(path)):
        (support.add if action == "add" else support.remove)(feature)
        counts[action] += 1
        assert path.history["n_features"][k] == len(support) == path.history["n_rows"][k]
        done = k + 1 == len(steps_of(path)) or steps_of(path)[k + 1][0] == "add"
        if done:
            at.setdefault(len(support), (frozenset(support), counts["add"], counts["remove"]))
    for m in range(1, len(path)):
        members, additions, removals = at[m]
        assert set(np.flatnonzero(path.coef[m])) == members
        assert path.facts["additions"][m] == additions
        assert path.facts["removals"][m] == removals
    assert path.history["step"].tolist() == list(range(1, len(steps_of(path)) + 1))


def test_a_sparse_design_gives_what_the_dense_one_does():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((50, 20)) * (rng.random((50, 20)) < 0.3)
    y = np.where(X[:, :3].sum(axis=1) + 0.5 * rng.standard_normal(50) > 0, 1.0, -1.0)
    for fast in (foba_obj, foba_gdt, forward_obj, forward_gdt):
        for loss in ("squared", "logistic"):
            dense = fast(as_problem(X, y), loss=loss, ridge=0.01, max_features=8)
            path = fast(as_problem(sparse.csr_array(X), y), loss=loss, ridge=0.01, max_features=8)
            np.testing.assert_allclose(path.coef, dense.coef, atol=1e-8)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(8, 40),
    p=st.integers(2, 15),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
    copies=st.booleans(),
    ridge=st.sampled_from([0.0, 1e-3]),
    ratio=st.sampled_from([0.1, 0.5, 1.0]),
)
def test_any_least_squares_problem_ends_with_optimal_points(
    seed, n, p, scale, copies, ridge, ratio
):
    rng = np.random.default_rng(seed)
    X = scale * rng.integers(-2, 3, (n, p)).astype(float)
    if copies:
        X[:, p // 2 :] = X[:, : p - p // 2]
    y = X[:, : max(1, p // 3)].sum(axis=1) + scale * rng.standard_normal(n)
    loss = LeastSquares(X, y, ridge * scale**2)
    for fast in (foba_obj, foba_gdt):
        path = fast(
            as_problem(X, y),
            ridge=loss.ridge,
            backward_ratio=ratio,
            **{RULES[fast.__name__[5:]][2]: 0},
        )
        biggest = np.abs(loss.gradient(np.zeros(p))).max()
        objectives = []
        for coef in path.coef[:, :, 0]:
            support = np.flatnonzero(coef)
            slope = np.abs(loss.gradient(coef))
            assert slope[support].max(initial=0.0) <= 1e-8 * biggest
            objectives.append(loss.value(coef))
        np.testing.assert_allclose(path.objective, objectives, rtol=1e-8, atol=1e-12 * scale**2)
        # The end cannot be bettered: every derivative vanishes, or its column is spanned.
        assert loss.value(path.coef[-1][:, 0]) == pytest.approx(
            loss.minimum(range(p))[2], rel=1e-6, abs=1e-12 * scale**2
        )
