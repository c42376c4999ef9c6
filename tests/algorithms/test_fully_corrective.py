import numpy as np
import pytest
from corrective_oracle import Risk, forward
from foba_problems import classes, confounded
from scipy import sparse
from sklearn.linear_model import orthogonal_mp

from greedyexp.algorithms.pursuit.omp import omp
from greedyexp.algorithms.sparsity._corrective import rule_for
from greedyexp.algorithms.sparsity.fully_corrective import fully_corrective
from greedyexp.core.errors import ConfigError
from greedyexp.losses.risk import bind_risk
from greedyexp.problems.moments import DenseMoments
from greedyexp.problems.problem import Problem, as_problem
from greedyexp.solvers.greedy_selection import Pursuit, Stops

RULES = ["objective", "gradient", "residual"]
LOSSES = [("squared", None), ("logistic", None), ("absolute", 3.0), ("hinge", 2.0)]


def data(seed, loss):
    if loss in ("logistic", "hinge"):
        X, y, _ = classes(seed)
    else:
        X, y, _ = confounded(seed, n=50, p=9, triples=2)
    return X / np.abs(X).max(), y


def of_moments(X, y):
    """The distribution that is uniform over the rows, told by its moments only."""
    n, d = X.shape
    moments = DenseMoments(X.T @ X / n, X.T @ y / n, y @ y / n)
    return Problem((np.zeros((0, d)),), (np.zeros(0),), moments=moments)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("loss", "beta"), LOSSES)
def test_every_step_is_that_of_the_listing(loss, beta, rule):
    for seed in range(3):
        X, y = data(seed, loss)
        path = fully_corrective(
            as_problem(X, y), loss=loss, beta=beta, ridge=0.02, rule=rule, steps=5
        )
        support, ways, risks = forward(Risk(loss, X, y, 0.02, beta), 5, rule)
        assert path.history["taken"].tolist() == support
        assert path.grid["steps"].tolist() == [0, 1, 2, 3, 4, 5]
        assert path.facts["steps"].tolist() == [0, 1, 2, 3, 4, 5]
        np.testing.assert_allclose(path.coef[:, :, 0], ways, atol=1e-7)
        np.testing.assert_allclose(path.objective, risks, rtol=1e-10)
        np.testing.assert_array_equal(path.history["objective"], path.objective[1:])
        assert path.converged.all()
        assert not path.message


def test_rules_tell_columns_of_different_size_apart():
    taken = set()
    for seed in range(6):
        X, y = data(seed, "squared")
        X = X * np.geomspace(0.05, 1.0, X.shape[1])
        taken |= {
            (rule, seed, *fully_corrective(as_problem(X, y), rule=rule, steps=3).history["taken"])
            for rule in RULES
        }
    # Without a ridge gains are squared scores of the residual rule; the gradient prefers large
    # columns.
    ways = {rule: {way[1:] for way in taken if way[0] == rule} for rule in RULES}
    assert ways["objective"] == ways["residual"]
    assert ways["gradient"] != ways["residual"]


def test_a_ridge_counts_for_the_objective_only():
    """A small column with the best angle: its coefficient is dear under a ridge."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = X[:, 0] + 0.8 * X[:, 1]
    X[:, 0] *= 0.01
    problem = as_problem(X, y)
    firsts = {
        rule: fully_corrective(problem, ridge=0.1, rule=rule, steps=1).history["taken"][0]
        for rule in RULES
    }
    assert firsts == {"objective": 1, "gradient": 1, "residual": 0}


@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_rule_is_orthogonal_matching_pursuit(seed):
    X, y, _ = confounded(seed, n=60, p=30)
    problem = as_problem(X, y)
    path = fully_corrective(problem, rule="gradient", steps=12)
    expected = orthogonal_mp(X, y, n_nonzero_coefs=12, return_path=True)
    np.testing.assert_allclose(path.coef[1:, :, 0], expected.T, atol=1e-9)
    ours = omp(problem, normalize=False, n_atoms=12)
    np.testing.assert_allclose(path.coef, ours.coef, atol=1e-9)
    np.testing.assert_allclose(path.objective, ours.objective, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_all_rules_agree_on_normalised_columns_and_the_squared_loss(seed):
    X, y, _ = confounded(seed, n=60, p=30)
    problem = as_problem(X / np.linalg.norm(X, axis=0), y)
    taken = [fully_corrective(problem, rule=rule, steps=15).history["taken"] for rule in RULES]
    assert len(taken[0]) == 15
    np.testing.assert_array_equal(taken[0], taken[1])
    np.testing.assert_array_equal(taken[0], taken[2])


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_a_population_told_by_moments_is_the_sample_that_has_them(rule, ridge):
    for seed in range(3):
        X, y, _ = confounded(seed, n=60, p=20)
        X = X / np.abs(X).max()
        rows = fully_corrective(as_problem(X, y), rule=rule, ridge=ridge, steps=15)
        whole = fully_corrective(
            of_moments(X, y), rule=rule, ridge=ridge, steps=15, risk="population"
        )
        np.testing.assert_array_equal(rows.history["taken"], whole.history["taken"])
        np.testing.assert_allclose(rows.coef, whole.coef, atol=1e-8)
        np.testing.assert_allclose(rows.objective, whole.objective, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("loss", "beta"), LOSSES)
def test_a_sparse_design_gives_what_the_dense_one_does(loss, beta, rule):
    rng = np.random.default_rng(2)
    X, y = data(2, loss)
    X = X * (rng.random(X.shape) < 0.5)
    asked = {"loss": loss, "beta": beta, "ridge": 0.001, "rule": rule, "steps": 6}
    scattered = as_problem(sparse.csr_array(X), y)
    assert scattered.sparse_design
    path = fully_corrective(scattered, **asked)
    np.testing.assert_allclose(path.coef, fully_corrective(as_problem(X, y), **asked).coef)


def test_population_goes_before_the_rows_at_hand():
    X, y, _ = confounded(0)
    X = X / np.abs(X).max()
    known = of_moments(X, y)
    both = Problem((X[:20],), (y[:20],), moments=known.moments)
    expected = fully_corrective(known, risk="population", steps=4, rule="residual")
    path = fully_corrective(both, risk="population", steps=4, rule="residual")
    np.testing.assert_array_equal(path.coef, expected.coef)
    assert not np.allclose(fully_corrective(both, steps=4).coef, expected.coef)


def test_one_run_answers_every_number_of_steps():
    X, y = data(1, "logistic")
    problem = as_problem(X, y)
    asked = {"loss": "logistic", "ridge": 0.01, "rule": "gradient"}
    path = fully_corrective(problem, grid={"steps": [7, 0, 3, 3, 20]}, **asked)
    assert path.grid["steps"].tolist() == [7, 0, 3, 3, 20]
    assert path.facts["steps"].tolist() == [7, 0, 3, 3, 9]
    for coef, objective, steps in zip(path.coef, path.objective, [7, 0, 3, 3, 9], strict=True):
        alone = fully_corrective(problem, grid={"steps": [steps]}, **asked)
        np.testing.assert_array_equal(alone.coef[0], coef)
        assert alone.objective[0] == objective
    again = fully_corrective(problem, grid=path.grid, **asked)
    np.testing.assert_array_equal(again.coef, path.coef)


def test_only_states_that_are_asked_for_are_kept():
    X, y, _ = confounded(0, n=60, p=30)
    problem = as_problem(X, y)
    loss = bind_risk("squared", problem)
    rule = rule_for("gradient", loss, problem, "sample")
    run = Pursuit(loss, rule, 0.0, kept=(2, 20)).pursue(Stops(max_features=20))
    assert [len(state.support) for state in run.states] == [2, 20]
    assert len(run.steps) == 20


@pytest.mark.parametrize("rule", RULES)
def test_the_path_ends_where_nothing_is_left_to_gain(rule):
    rng = np.random.default_rng(3)
    X = rng.choice([-1.0, 1.0], (40, 12))
    X[:, 7] = X[:, 2]
    X[:, 8] = 0.0
    y = 3 * X[:, 2] - 2 * X[:, 5]
    path = fully_corrective(as_problem(X, y), rule=rule, steps=10)
    assert set(path.history["taken"][:2]) == {2, 5}
    end = int(path.grid["steps"][-1])
    assert end < 10
    assert path.objective[-1] < 1e-25
    assert f"nothing is left to gain after {end} features." in path.message
    assert path.converged.all()
    assert not path.coef[:, [7, 8]].any()
    beyond = fully_corrective(as_problem(X, y), rule=rule, grid={"steps": [end, 10]})
    np.testing.assert_array_equal(beyond.coef[1], path.coef[-1])
    assert beyond.facts["steps"].tolist() == [end, end]
    assert beyond.converged.all()


@pytest.mark.parametrize("rule", RULES)
def test_without_a_minimum_the_path_ends_before_it(rule):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 8))
    y = np.sign(X @ np.array([3.0, -2.0, 1.0, 0, 0, 0, 0, 0]))
    path = fully_corrective(as_problem(X, y), loss="logistic", rule=rule, steps=8)
    assert "no minimum exists" in path.message
    end = int(path.facts["steps"][-1])
    assert path.converged.tolist() == [True] * (end + 1) + [False]
    np.testing.assert_array_equal(path.coef[-1], path.coef[-2])
    with_ridge = fully_corrective(as_problem(X, y), loss="logistic", rule=rule, steps=8, ridge=1e-4)
    assert with_ridge.converged.all()
    assert not with_ridge.message


def test_impossible_requests_are_refused_with_a_sentence():
    X, y = data(0, "logistic")
    problem = as_problem(X, y)
    with pytest.raises(ConfigError, match="Give beta"):
        fully_corrective(problem, loss="absolute")
    with pytest.raises(ConfigError, match="Leave beta out"):
        fully_corrective(problem, beta=1.0)
    with pytest.raises(ConfigError, match="expected logistic loss"):
        fully_corrective(of_moments(X, y), loss="logistic", risk="population")
    with pytest.raises(ConfigError, match="no rows"):
        fully_corrective(of_moments(X, y))
    with pytest.raises(ConfigError, match="no rule named 'steepest'"):
        fully_corrective(problem, rule="steepest")
    with pytest.raises(ConfigError, match="whole numbers"):
        fully_corrective(problem, grid={"steps": [1.5]})
