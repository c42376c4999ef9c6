import numpy as np
import pytest
from foba_problems import classes, confounded, steps_of, words
from scipy import sparse

from greedyexp import solve
from greedyexp.algorithms.foba.gain import foba_obj, forward_obj
from greedyexp.core import registry
from greedyexp.generators.two_class_gaussian import two_class_gaussian
from greedyexp.losses.logistic import LogisticFit
from greedyexp.problems.problem import as_problem

RULES = (foba_obj, forward_obj)


def the_same(rule, problem, **params):
    """The path, which must be equal to the last bit with and without bounds."""
    path, plain = (rule(problem, prune=prune, **params) for prune in (True, False))
    np.testing.assert_array_equal(plain.coef, path.coef)
    np.testing.assert_array_equal(plain.objective, path.objective)
    assert plain.message == path.message
    for name, values in path.history.items():
        np.testing.assert_array_equal(plain.history[name], values)
    return path


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("ridge", "intercept"), [(0.02, False), (0.0, True)])
def test_bounds_change_no_choice(rule, ridge, intercept):
    removals = 0
    for seed in range(6):
        X, y, _ = classes(seed, n=80, p=20, noise=0.8)
        params = {"loss": "logistic", "ridge": ridge, "intercept": intercept, "max_features": 8}
        path = the_same(rule, as_problem(X, y), **params)
        removals += path.facts["removals"][-1]
        thin = sparse.csr_array(np.where(np.abs(X) > 1, X, 0.0))
        the_same(rule, as_problem(thin, y), **params)
    assert (removals > 0) == (rule is foba_obj)


@pytest.mark.parametrize("rule", RULES)
def test_ties_and_the_goodness_of_the_winner_are_the_same(rule):
    X, y, _ = classes(1, n=80, p=12)
    # Equal up to rounding, the later one a little better for some.
    doubled = np.hstack([np.zeros((80, 1)), X, X * 3.0, X * (1.0 + 1e-13)])
    path = the_same(rule, as_problem(doubled, y), loss="logistic", ridge=0.0, max_features=6)
    assert max(feature for _, feature in steps_of(path)) <= 12


@pytest.mark.parametrize("rule", RULES)
def test_other_losses_and_judges_take_the_parameter(rule):
    X, y, _ = confounded(2)
    for judge in ("coordinate", "refit"):
        the_same(rule, as_problem(X, y), judge=judge, max_features=8)
    the_same(rule, words(0, p=3, n_chains=8), loss="crf", ridge=0.02, max_features=3)


def test_without_bounds_every_line_is_searched(monkeypatch):
    problem = two_class_gaussian(np.random.default_rng(0), p=40, sparsity=3)
    searched = []
    gains = LogisticFit.gains

    def counted(fit):
        found = gains(fit)
        searched.append(np.count_nonzero(found) + len(fit.support))
        return found

    monkeypatch.setattr(LogisticFit, "gains", counted)
    params = {"loss": "logistic", "ridge": 0.01, "max_features": 5, "visit": "first"}
    path = foba_obj(problem, prune=False, **params)
    assert searched == [40] * path.facts["additions"][-1]
    foba_obj(problem, **params)
    assert len(searched) == path.facts["additions"][-1]


def test_the_threshold_of_theory_is_the_same():
    problem = two_class_gaussian(np.random.default_rng(3), n_samples=150, p=20, sparsity=3)
    given = problem.X[0], problem.y[0]
    params = {"loss": "logistic", "ridge": 0.01}
    theory = registry.find("algorithm", "foba_obj").theory
    others = {"intercept": False, "judge": "coordinate", "backward_ratio": 0.5}
    grids = [
        theory(problem, **params, **others, prune=prune, stop="optimum") for prune in (True, False)
    ]
    np.testing.assert_array_equal(grids[0]["delta"], grids[1]["delta"])
    plain = solve("foba_obj", *given, delta=float(grids[1]["delta"][0]), prune=False, **params)
    pruned = solve("foba_obj", *given, delta=float(grids[0]["delta"][0]), **params)
    np.testing.assert_array_equal(plain.coef, pruned.coef)
