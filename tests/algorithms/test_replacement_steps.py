import itertools

import numpy as np
import pytest
from corrective_oracle import Risk, forward, replace

from greedyexp.algorithms.sparsity.fully_corrective import fully_corrective
from greedyexp.algorithms.sparsity.replacement_steps import replacement_steps
from greedyexp.core.errors import ConfigError
from greedyexp.core.registry import find
from greedyexp.problems.moments import DenseMoments
from greedyexp.problems.problem import Problem, as_problem
from greedyexp.theory.theorems import Reference

RULES = ["objective", "gradient", "residual"]
VARIANTS = ["refit", "simple"]
LOSSES = [("squared", None), ("logistic", None), ("absolute", 3.0), ("hinge", 2.0)]


def data(seed, loss, n=50, p=12, true=4):
    """Columns that are nearly sums of two true ones, taken first and replaced later."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for both in range(true, 2 * true):
        one, two = rng.choice(true, 2, replace=False)
        X[:, both] = (X[:, one] + X[:, two]) / 1.4 + 0.3 * rng.standard_normal(n)
    signal = X[:, :true] @ rng.uniform(1, 2, true)
    y = signal / signal.std() + 0.3 * rng.standard_normal(n)
    return X / np.abs(X).max(), np.sign(y) if loss in ("logistic", "hinge") else y


def replaced(path):
    """The replacements that were accepted, in order."""
    history = path.history
    kept = (history["step"] > 0) & history["accepted"]
    return list(
        zip(history["taken"][kept].tolist(), history["dropped"][kept].tolist(), strict=True)
    )


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("loss", "beta"), LOSSES)
def test_every_step_is_that_of_the_listing(loss, beta, rule, variant):
    count = 0
    for seed in (1, 2, 14):
        X, y = data(seed, loss)
        risk, k = Risk(loss, X, y, 0.0005, beta), 3 + seed % 3
        path = replacement_steps(
            as_problem(X, y),
            loss=loss,
            beta=beta,
            ridge=0.0005,
            rule=rule,
            variant=variant,
            features=k,
        )
        start = forward(risk, k, rule)[0]
        pairs, ways, risks = replace(risk, start, rule, variant, 50)
        assert path.history["taken"][:k].tolist() == start
        assert replaced(path) == pairs
        np.testing.assert_allclose(path.coef[:, :, 0], ways, atol=1e-6)
        np.testing.assert_allclose(path.objective, risks, rtol=1e-9)
        assert path.converged.all()
        count += len(pairs)
    assert count > 0


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("loss", "beta"), LOSSES[:2])
def test_the_worst_start_takes_the_feature_of_least_gain(loss, beta, rule):
    for seed in (1, 2, 14):
        X, y = data(seed, loss)
        risk = Risk(loss, X, y, 0.0005, beta)
        path = replacement_steps(
            as_problem(X, y), loss=loss, ridge=0.0005, rule=rule, features=4, start="worst"
        )
        begun = forward(risk, 4, rule, Risk.worst)[0]
        pairs, ways, risks = replace(risk, begun, rule, "refit", 50)
        assert path.history["taken"][:4].tolist() == begun
        assert len(pairs) > 0
        assert replaced(path) == pairs
        np.testing.assert_allclose(path.coef[:, :, 0], ways, atol=1e-6)
        np.testing.assert_allclose(path.objective, risks, rtol=1e-9)


def test_the_worst_start_never_takes_both_of_two_equal_features():
    X, y = data(3, "squared")
    path = replacement_steps(as_problem(np.repeat(X, 2, axis=1), y), features=8, start="worst")
    first = path.history["taken"][path.history["step"] == 0]
    assert len(np.unique(first // 2)) == 8
    assert path.converged.all()


def test_lemma_8_from_the_worst_features():
    """The excess after each replacement, with all constants computed from the design."""
    rng = np.random.default_rng(0)
    n, p, k = 8000, 80, 32
    X = rng.choice([-1.0, 1.0], (n, p))
    known, sizes = [7, 20, 41, 66], [0.4, -0.3, 0.2, 0.14]
    y = X[:, known] @ sizes + 0.1 * rng.standard_normal(n)
    value = np.linalg.lstsq(X[:, known], y, rcond=None)[1][0] / (2 * n)
    path = replacement_steps(as_problem(X, y), features=k, start="worst")
    excess = path.objective - value
    # At most the strong convexity on any support.
    lam = np.linalg.eigvalsh(X.T @ X / n)[0]
    assert k + 1 >= 4 * (1 + 4 / lam**2)
    alpha = 2 / (lam * (k + 1 - 4))
    bound = excess[0] * (1 - alpha) ** np.arange(len(path))
    assert (excess <= bound).all()
    # The bound is tested where it can fail: eight times the rate is more than the run has.
    assert (excess > 1e-9).sum() >= 4
    assert (excess[1:4] > excess[0] * (1 - 8 * alpha) ** np.arange(1, 4)).any()
    assert excess[-1] <= 0


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_first_point_is_the_greedy_start_and_each_later_one_is_lower(variant):
    for seed in range(6):
        X, y = data(seed, "squared")
        problem = as_problem(X, y)
        path = replacement_steps(problem, features=5, rule="gradient", variant=variant)
        start = fully_corrective(problem, rule="gradient", grid={"steps": [5]})
        np.testing.assert_array_equal(path.coef[0], start.coef[0])
        assert (np.diff(path.objective) < 0).all()
        assert (np.count_nonzero(path.coef[:, :, 0], axis=1) == 5).all()
        assert path.facts["features"].tolist() == [5] * len(path)
        assert path.facts["steps"].tolist() == list(range(len(path)))
        assert "no replacement lowers the risk" in path.message
        assert not path.history["accepted"][-1]


def test_the_history_replays_to_the_supports():
    X, y = data(28, "squared", n=80, p=30, true=10)
    path = replacement_steps(as_problem(X, y), features=10, rule="gradient")
    support, history = set(), path.history
    assert len(path) > 2
    for step in range(len(path)):
        for at in np.flatnonzero(history["step"] == step):
            support |= {int(history["taken"][at])}
            support -= {int(history["dropped"][at])}
        assert support == set(np.flatnonzero(path.coef[step]))
        last = np.flatnonzero(history["step"] == step)[-1]
        assert history["objective"][last] == path.objective[step]


@pytest.mark.parametrize("variant", VARIANTS)
def test_between_the_greedy_start_and_the_best_subset(variant):
    better, optimal = 0, 0
    for seed in range(30):
        X, y = data(seed, "squared")
        path = replacement_steps(as_problem(X, y), features=5, variant=variant)
        subsets = itertools.combinations(range(12), 5)
        least = min(np.linalg.lstsq(X[:, s], y, rcond=None)[1][0] for s in subsets) / 100
        assert path.objective[-1] <= path.objective[0]
        assert path.objective[-1] >= least - 1e-12
        better += path.objective[-1] < path.objective[0]
        optimal += path.objective[-1] <= least * (1 + 1e-9) and path.objective[0] > least * 1.001
    # A start that is best anyway is no replacement that helps.
    assert better >= 15
    assert optimal >= 4


def test_what_is_refused_is_not_better_without_a_fit():
    """The listing looks at w' with its smallest coefficient dropped, the others as they are."""
    for seed in range(6):
        X, y = data(seed, "squared")
        risk = Risk("squared", X, y, 0.01)
        path = replacement_steps(as_problem(X, y), features=3, ridge=0.01)
        last = path.coef[-1, :, 0]
        scores = risk.scores(last, "objective")
        scores[last != 0] = -1
        wider = risk.minimum([*np.flatnonzero(last), int(scores.argmax())])
        wider[np.flatnonzero(wider)[np.abs(wider[wider != 0]).argmin()]] = 0.0
        assert risk.value(wider) >= path.objective[-1] * (1 - 1e-12)
        assert path.history["objective"][-1] == pytest.approx(risk.value(wider), rel=1e-9)


def test_enough_features_of_an_orthogonal_design_need_no_replacement():
    X = np.kron([[1.0, 1.0], [1.0, -1.0]], np.kron([[1, 1], [1, -1]], [[1, 1], [1, -1]]))
    y = X @ np.array([1.0, -2.0, 3.0, 0.5, 0, 0, 0, 0.1])
    path = replacement_steps(as_problem(X, y), features=3)
    assert len(path) == 1
    assert set(np.flatnonzero(path.coef[0])) == {0, 1, 2}


def test_replacements_find_the_true_features_that_greed_missed():
    """Two features whose sum is nearly a third: the third is taken first and goes again."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 12))
    X[:, 2] = (X[:, 0] + X[:, 1]) / np.sqrt(2) + 0.3 * rng.standard_normal(2000)
    y = X[:, 0] + X[:, 1]
    path = replacement_steps(as_problem(X, y), features=2)
    assert path.history["taken"][0] == 2
    assert set(np.flatnonzero(path.coef[-1])) == {0, 1}
    assert path.objective[-1] < 1e-20
    # Before the fit the true feature has the smaller coefficient, and it is what is dropped.
    simple = replacement_steps(as_problem(X, y), features=2, variant="simple")
    assert 2 in np.flatnonzero(simple.coef[-1])


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_population_told_by_moments_is_the_sample_that_has_them(variant):
    for seed in range(4):
        X, y = data(seed, "squared")
        moments = DenseMoments(X.T @ X / len(X), X.T @ y / len(X), y @ y / len(X))
        known = Problem((np.zeros((0, X.shape[1])),), (np.zeros(0),), moments=moments)
        rows = replacement_steps(as_problem(X, y), features=5, variant=variant)
        whole = replacement_steps(known, features=5, variant=variant, risk="population")
        assert replaced(rows) == replaced(whole)
        np.testing.assert_allclose(rows.coef, whole.coef, atol=1e-8)


def test_the_constants_of_theorem_5_are_those_of_the_run():
    X, y = data(28, "squared", n=80, p=30, true=10)
    asked = {"features": 10, "rule": "gradient", "ridge": 1e-4}
    path = replacement_steps(as_problem(X, y), **asked)
    assert len(path) > 2
    risk, w = Risk("squared", X, y, 1e-4), np.eye(30)[3]
    known = find("algorithm", "replacement_steps")
    given = known.parameters(**asked).model_dump()
    reference = Reference("truth", w, risk.value(w), 0.0, risk.value(w))
    (promise,) = known.theorems(path, reference, **given)
    # The same of any point of the run, and of one without its first point.
    grid = {"steps": [len(path)]}
    later = replacement_steps(as_problem(X, y), grid=grid, **asked)
    (again,) = known.theorems(later, reference, **given)
    assert again.constants == promise.constants
    least, enlarged = np.inf, 0
    for t in range(len(path)):
        now = set(np.flatnonzero(path.coef[t]))
        taken = path.history["taken"][path.history["step"] == t + 1]
        columns = X[:, sorted(now | {3} | set(taken))]
        enlarged += len(taken)
        least = min(least, np.linalg.eigvalsh(columns.T @ columns / 80)[0] + 1e-4)
    assert enlarged == len(path)
    assert promise.constants["lam"] == pytest.approx(least)
    assert promise.constants["beta"] == pytest.approx(1 + 1e-4)
    assert promise.constants["first_gap"] == pytest.approx(path.objective[0] - reference.value)
    assert promise.constants["span"] == pytest.approx(risk.value(0 * w) - reference.value)
    assert promise.constants["features"] == 10


@pytest.mark.parametrize("variant", VARIANTS)
def test_one_run_answers_every_number_of_steps(variant):
    X, y = data(28, "squared", n=80, p=30, true=10)
    problem = as_problem(X, y)
    whole = replacement_steps(problem, features=10, rule="gradient", variant=variant)
    end = len(whole) - 1
    assert end >= 2
    asked = [1, 0, end, end + 5]
    path = replacement_steps(
        problem, features=10, rule="gradient", variant=variant, grid={"steps": asked}
    )
    np.testing.assert_array_equal(path.coef, whole.coef[[1, 0, end, end]])
    assert path.grid["steps"].tolist() == asked
    assert path.facts["steps"].tolist() == [1, 0, end, end]
    cut = replacement_steps(problem, features=10, rule="gradient", variant=variant, steps=1)
    np.testing.assert_array_equal(cut.coef, whole.coef[:2])
    assert not cut.message


def test_a_start_that_leaves_nothing_to_gain_is_the_end():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 10))
    y = X[:, 2] - X[:, 5]
    for features in (2, 4):
        path = replacement_steps(as_problem(X, y), features=features)
        assert path.objective[-1] < 1e-25
        assert path.converged.all()
        assert "nothing is left to gain" in path.message
    whole = replacement_steps(as_problem(X, y + rng.standard_normal(40)), features=10)
    assert len(whole) == 1
    assert whole.facts["features"].tolist() == [10]


def test_classes_that_separate_without_a_ridge_end_the_run():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 8))
    y = np.sign(X @ np.array([3.0, -2.0, 1.0, 0, 0, 0, 0, 0]))
    problem = as_problem(X, y)
    early = replacement_steps(problem, loss="logistic", features=5)
    assert "no minimum exists" in early.message
    assert early.converged.tolist() == [False]
    assert early.facts["features"].tolist() == [2]
    later = replacement_steps(problem, loss="logistic", features=2)
    assert "no minimum exists" in later.message
    assert later.converged.tolist() == [True] * (len(later) - 1) + [False]
    assert later.facts["steps"][-1] == len(later) - 2
    assert replacement_steps(problem, loss="logistic", features=5, ridge=1e-3).converged.all()


def test_more_features_than_there_are_is_refused():
    X, y = data(0, "squared")
    with pytest.raises(ConfigError, match="features = 40 is more than the 12 features"):
        replacement_steps(as_problem(X, y), features=40)
