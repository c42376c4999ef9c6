import numpy as np
import pytest
from foba_oracle import LeastSquares, select
from foba_oracle_losses import logistic
from foba_problems import RULES, agrees, classes, confounded, steps_of, words

import greedyexp
from greedyexp.algorithms.foba.gain import foba_obj, forward_obj
from greedyexp.algorithms.foba.gradient import foba_gdt, forward_gdt
from greedyexp.config import load
from greedyexp.core import registry
from greedyexp.core.errors import ConfigError, DataError
from greedyexp.losses.binding import bind
from greedyexp.losses.logistic import LogisticLoss
from greedyexp.losses.loss import Loss, Restricted
from greedyexp.problems.problem import Problem, as_problem
from greedyexp.solvers.greedy_rules import RowSlope, Slope
from greedyexp.solvers.greedy_selection import Pursuit, Stops


def test_a_row_is_dropped_when_setting_it_to_zero_costs_little():
    problem = words(1, p=7, n_chains=30)
    X = problem.X[0].copy()
    X[:, 6] = X[:, 0] + X[:, 1] + 0.1 * np.random.default_rng(1).standard_normal(len(X))
    problem = Problem((X,) * 3, problem.y, chains=problem.chains)
    path = foba_gdt(problem, loss="crf", ridge=1e-3, unit="group", max_groups=5, backward_ratio=1)
    forward = forward_gdt(problem, loss="crf", ridge=1e-3, unit="group", max_groups=5)
    assert path.facts["removals"][-1] > 0
    assert forward.facts["removals"][-1] == 0
    # Taken: 6, 2, 0. Row 6, the sum of two, then costs less than row 0 gained.
    assert steps_of(path)[:4] == [("add", 6), ("add", 2), ("add", 0), ("remove", 6)]
    loss = bind("crf", problem, ridge=1e-3)
    fits = [
        loss.minimise([3 * i + k for i in rows for k in range(3)]) for rows in ([2, 6], [0, 2, 6])
    ]
    without = fits[1].params.copy()
    without[18:21] = 0.0
    cost = loss.value(without) - fits[1].value
    assert cost < fits[0].value - fits[1].value
    assert path.history["goodness"][3] == pytest.approx(cost, rel=1e-6)


def test_a_threshold_stops_where_all_goodness_is_below_it():
    X, y, _ = confounded(5)
    loss = LeastSquares(X, y)
    for rule, (fast, _, name) in RULES.items():
        for threshold in (0.5, 0.05, 0.005):
            slow = select(loss, rule=rule, threshold=threshold)
            path = fast(as_problem(X, y), **{name: threshold})
            agrees(path, slow)
            coef = path.coef[-1][:, 0]
            off = coef == 0
            goodness = np.abs(loss.gradient(coef)) if rule == "gdt" else loss.single_gains(coef)
            assert goodness[off].max() < threshold


def test_the_end_of_a_path_is_the_answer_even_when_it_is_smaller_than_before():
    found = 0
    for seed in range(30):
        X, y, _ = confounded(seed)
        path = foba_gdt(as_problem(X, y), epsilon=0.05)
        slow = select(LeastSquares(X, y), rule="gdt", threshold=0.05)
        sizes = (path.coef != 0).sum(axis=(1, 2))
        assert np.flatnonzero(path.coef[-1]).tolist() == sorted(slow.support)
        assert path.grid["max_features"].tolist() == list(range(len(path)))
        assert (sizes <= np.arange(len(path))).all()
        assert (np.diff(path.objective[:-1]) < 1e-15).all()
        found += sizes[-1] < len(path) - 1
    assert found > 0


def test_max_groups_ends_before_a_step_that_opens_one_row_more():
    problem = words(4, r=3, p=7, n_chains=30)
    whole = foba_gdt(problem, loss="crf", ridge=0.01, max_features=15)
    path = foba_gdt(problem, loss="crf", ridge=0.01, max_groups=4)
    rows = path.coef.any(axis=2).sum(axis=1)
    assert rows.tolist() == path.grid["max_groups"].tolist() == [0, 1, 2, 3, 4]
    steps = steps_of(whole)
    assert steps_of(path) == steps[: len(steps_of(path))]
    action, feature = steps[len(steps_of(path))]
    assert action == "add"
    assert not path.coef[-1, feature // 3].any()
    # Some row was given several of its coefficients before the next was opened.
    assert (path.coef != 0).sum(axis=(1, 2))[-1] > 4
    for m, coef in zip(path.grid["max_groups"][1:], path.coef[1:], strict=True):
        alone = foba_gdt(problem, loss="crf", ridge=0.01, max_groups=int(m))
        np.testing.assert_array_equal(alone.coef[-1], coef)


def test_a_support_may_come_back_on_the_way_down():
    # From {0, 1, 2} by way of {0, 1}, at less loss than when {0, 1} would have been left before.
    rng = np.random.default_rng(9527)
    n, p, k = rng.integers(5, 9), rng.integers(4, 9), rng.integers(1, 4)
    X = rng.standard_normal((n, k)) @ rng.standard_normal((k, p))
    X += rng.choice([0.1, 0.3, 1]) * rng.standard_normal((n, p))
    X *= rng.choice([0.3, 1, 3], p)
    y = rng.standard_normal(n)
    path = foba_gdt(as_problem(X, y), epsilon=0)
    slow = select(LeastSquares(X, y), rule="gdt", max_features=4)
    assert steps_of(path)[: len(slow.steps)] == [step[:2] for step in slow.steps]
    before = [
        frozenset(support)
        for support, (action, _, _) in zip(slow.supports[:-1], slow.steps, strict=True)
        if action == "add"
    ]
    assert len(set(before)) < len(before)


class Bowl(Loss):
    """1/2 ||b - target||^2, whose features may cost less to drop than they do."""

    scale = largest_feature = 1.0

    def __init__(self, target, discount=0.0):
        self.target, self.discount = np.asarray(target, dtype=float), discount
        self.shape, self.n_samples = (len(target), 1), 10

    def value(self, params):
        return 0.5 * float(((params - self.target) ** 2).sum())

    def gradient(self, params):
        return params - self.target

    def curvature(self, params):
        return np.ones(self.size)

    smoothness = property(lambda self: np.ones(self.size))

    def coordinate_minima(self, params):
        return self.target - params, 0.5 * (self.target - params) ** 2

    def minimise(self, support, start=None):
        params = np.zeros(self.size)
        params[list(support)] = self.target[list(support)]
        return Restricted(params, self.value(params), self.gradient(params), True)

    def removal_costs(self, params, support):
        return super().removal_costs(params, support) - self.discount


def test_a_return_to_a_size_that_gains_nothing_is_an_error():
    loss = Bowl([3.0, 2.9, 1.0], discount=3.0)
    with pytest.raises(DataError, match="dropping feature 0 brought the selection back to 1 feat"):
        Pursuit(loss, Slope(loss), 0.5).pursue(Stops())
    honest = Bowl([3.0, 2.0, 1.0])
    run = Pursuit(honest, Slope(honest), 1.0).pursue(Stops())
    assert [(step.action, step.unit) for step in run.steps] == [("add", 0), ("add", 1), ("add", 2)]


def test_what_a_fit_may_leave_of_a_gradient_is_no_gain():
    loss = Bowl([3.0, 2.0, 1e-8, 1e-11, 1e-12])
    run = Pursuit(loss, Slope(loss), 0.5).pursue(Stops())
    assert run.states[-1].support.tolist() == [0, 1, 2]
    assert run.remarks == ["nothing is left to gain after 3 features."]
    rows = Bowl([3.0, 2.0, 1e-11, 1e-12, 0.0, 1.0])
    rows.shape = (3, 2)
    assert Pursuit(rows, RowSlope(rows), 0.5).pursue(Stops()).remarks == [
        "nothing is left to gain after 2 groups."
    ]


def test_what_was_just_taken_stays_when_its_cost_is_the_decrease():
    # Orthogonal columns: cost and decrease are the same number, rounded in two ways.
    rng = np.random.default_rng(0)
    for seed in range(20):
        Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((30, 12)))[0]
        y = Q @ rng.uniform(0.1, 1, 12)
        for fast in (foba_obj, foba_gdt):
            path = fast(as_problem(Q, y), backward_ratio=1.0, max_features=12)
            assert path.facts["removals"].tolist() == [0] * 13


def test_ties_go_to_the_lowest_feature():
    path = foba_gdt(as_problem(np.eye(6), [1.0, 2, 2, 1, 2, 0.5]), max_features=5)
    assert path.history["feature"].tolist() == [1, 2, 4, 0, 3]


@pytest.mark.parametrize("fast", [foba_obj, foba_gdt, forward_obj, forward_gdt])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_duplicated_zero_and_constant_columns(fast, loss):
    X, y, _ = confounded(7) if loss == "squared" else classes(7)
    clean = fast(as_problem(X, y), loss=loss, ridge=0.0, intercept=True, max_features=5)
    n = len(y)
    more = np.column_stack([X, X, np.zeros(n), np.ones(n)])
    path = fast(as_problem(more, y), loss=loss, ridge=0.0, intercept=True, max_features=5)
    np.testing.assert_allclose(path.coef[:, : X.shape[1]], clean.coef, atol=1e-7)
    assert not path.coef[:, X.shape[1] :].any()


def test_a_column_that_a_fresh_look_finds_in_the_span_gains_nothing():
    # Squared sines of 1e-10, which is where columns are barred, updated and computed afresh.
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((12, 3)))[0]
    taken = set()
    for part in np.linspace(-1e-7, 1e-7, 40):
        close = Q[:, 0] + 1e-5 * (1.0 + part) * Q[:, 2]
        problem = as_problem(np.column_stack([Q[:, 0], Q[:, 1], close]), Q @ [3.0, 1.0, 2.0])
        path = foba_obj(problem, judge="refit", max_features=3)
        assert steps_of(path)[-1] == ("add", 1)
        taken.add(len(steps_of(path)))
    assert taken == {2, 3}


def test_nothing_is_left_to_gain_from_an_exact_fit():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 50))
    y = X[:, :4] @ [4.0, 3, 2, 1]
    for fast in (foba_obj, foba_gdt):
        path = fast(as_problem(X, y))
        assert np.flatnonzero(path.coef[-1]).tolist() == [0, 1, 2, 3]
        assert "nothing is left to gain after 4 features" in path.message
        assert path.converged.all()
    none = foba_gdt(as_problem(X, np.zeros(30)))
    assert len(none) == 1
    assert not none.coef.any()


def test_all_features_end_a_run_without_a_word():
    X, y, _ = confounded(8, p=10)
    path = foba_gdt(as_problem(X, y), max_features=10)
    assert len(path) == 11
    assert path.message == ""


def test_separable_classes_end_the_path_at_the_last_fit_there_is():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 12))
    y = np.where(X[:, 3] + X[:, 4] > 0, 1, -1)
    for fast in (foba_obj, foba_gdt):
        path = fast(as_problem(X, y), loss="logistic", max_features=6)
        assert path.converged.tolist() == [True] * (len(path) - 1) + [False]
        np.testing.assert_array_equal(path.coef[-1], path.coef[-2])
        assert "separate the two classes" in path.message
        again = fast(as_problem(X, y), loss="logistic", grid={"max_features": [1, 6]})
        assert again.converged.tolist() == [True, False]
        ridged = fast(as_problem(X, y), loss="logistic", ridge=1e-3, max_features=6)
        assert ridged.converged.all()
        assert len(ridged) == 7


def test_theory_prescribes_the_goodness_at_the_minimiser_on_the_true_support():
    rng = np.random.default_rng(0)
    X, truth = rng.standard_normal((100, 14)), np.zeros(14)
    truth[[1, 5, 6]] = [1.0, -2, 3]
    y = X @ truth + 0.5 * rng.standard_normal(100)
    problem = as_problem(X, y, truth=truth)
    support = np.flatnonzero(truth)
    loss = LeastSquares(X, y)
    coef = loss.minimum(support)[0]
    off = np.setdiff1d(np.arange(14), support)
    expected = {
        "gdt": np.abs(loss.gradient(coef))[off].max(),
        "obj": loss.single_gains(coef)[off].max(),
    }
    for rule, (fast, forward, name) in RULES.items():
        for one in (fast, forward):
            part = registry.find("algorithm", one.__name__)
            params = {"loss": "squared", "ridge": 0.0, "intercept": False}
            params |= {"unit": "feature", "judge": "coordinate", "prune": True}
            grid = part.theory(problem, **params)
            assert grid[name] == pytest.approx([expected[rule]], rel=2e-6)
            assert grid[name][0] > expected[rule]
        path = fast(problem, grid=grid)
        assert np.flatnonzero(path.coef[0]).tolist() == support.tolist()
    with pytest.raises(DataError, match="needs the true coefficients"):
        registry.find("algorithm", "foba_gdt").theory(as_problem(X, y), **params)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"max_features": 15}, "max_features = 15 is more than the 14 features"),
        ({"max_groups": 15}, "max_groups = 15 is more than the 14 rows"),
    ],
)
def test_impossible_parameters_are_refused(params, message):
    X, y, _ = confounded(0)
    for name in ("foba_obj", "foba_gdt", "forward_obj", "forward_gdt"):
        with pytest.raises(ConfigError, match=message):
            greedyexp.solve(name, X, y, **params)


def test_further_impossible_requests_are_refused():
    X, y, _ = confounded(0)
    with pytest.raises(ConfigError, match="judge refit is for the squared loss"):
        greedyexp.solve("foba_obj", X, np.sign(y), loss="logistic", judge="refit")
    with pytest.raises(ConfigError, match="takes one response, but the data have 2"):
        foba_gdt(as_problem(X, np.column_stack([y, y])))
    with pytest.raises(ConfigError, match="is too small for a group of 3"):
        foba_gdt(words(0), loss="crf", unit="group", max_features=2)
    with pytest.raises(ConfigError, match="no intercept"):
        foba_gdt(words(0), loss="crf", intercept=True)
    problem = as_problem(X, y)
    with pytest.raises(ConfigError, match="one of epsilon, max_features, max_groups"):
        foba_gdt(problem, grid={"delta": [1.0]})
    with pytest.raises(ConfigError, match="numbers >= 0"):
        foba_gdt(problem, grid={"epsilon": [-1.0]})
    with pytest.raises(ConfigError, match="whole numbers"):
        foba_gdt(problem, grid={"max_features": [1.5]})


def test_an_experiment_without_chains_refuses_their_loss():
    settings = {
        "name": "trial_run",
        "seed": 1,
        "data": {"generator": "gaussian", "p": 20},
        "trials": 1,
        "algorithms": [{"foba_gdt": {"loss": "crf", "ridge": 0.1}}],
        "metrics": ["frobenius_error"],
    }
    with pytest.raises(ConfigError, match="'foba_gdt' needs sequences of labelled words"):
        load(settings)
    settings["algorithms"] = [{"foba_gdt": {"loss": "squared", "max_features": 21}}]
    with pytest.raises(ConfigError, match="max_features = 21 is more than the 20 features"):
        load(settings)
    settings["algorithms"] = [{"foba_gdt": {"loss": "squared", "max_features": 20}}]
    assert load(settings).algorithms[0].name == "foba_gdt"


def test_solve_from_arrays():
    X, y, _ = classes(1)
    solution = greedyexp.solve("foba_gdt", X, y, loss="logistic", ridge=0.01, max_features=4)
    assert len(solution.support) == 4
    assert solution.converged
    slow = select(logistic(X, y, 0.01), rule="gdt", max_features=4)
    np.testing.assert_allclose(solution.coef, slow.coef, atol=1e-6)


def test_a_selection_by_gradient_looks_at_all_columns_once_a_step(monkeypatch):
    rng = np.random.default_rng(0)
    y = np.where(np.arange(100) < 50, 1.0, -1.0)
    truth = np.zeros(500)
    truth[:14] = 5 / np.sqrt(14)
    problem = as_problem(rng.standard_normal((100, 500)) + np.outer(y, truth), y)
    looks = dict.fromkeys(("gradient_of", "minima"), 0)

    def counted(name, plain):
        def look(*arguments):
            looks[name] += 1
            return plain(*arguments)

        return look

    for name in looks:
        monkeypatch.setattr(LogisticLoss, name, counted(name, getattr(LogisticLoss, name)))
    path = foba_gdt(problem, loss="logistic", ridge=0.01, max_features=14, visit="first")
    assert path.facts["additions"][-1] == 14
    # The loss looks once for its scale.
    assert looks == {"gradient_of": 15, "minima": 0}
