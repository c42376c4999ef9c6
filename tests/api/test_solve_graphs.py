"""solve with the edges of a graph: the solution, and calls that are refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from greedyexp import solve
from greedyexp.core.errors import ConfigError, DataError


@pytest.fixture
def variables():
    T = np.eye(6) - 0.4 * (np.eye(6, k=1) + np.eye(6, k=-1))
    rng = np.random.default_rng(0)
    return rng.multivariate_normal(np.full(6, 50.0), np.linalg.inv(T), 500)


@pytest.mark.parametrize("name", ["foba_obj", "foba_gdt", "forward_obj", "forward_gdt"])
def test_the_solution_is_a_graph(variables, name):
    table = pd.DataFrame(variables, columns=list("abcdef"))
    fit = solve(name, table, loss="logdet", max_features=5)
    assert fit.converged
    assert fit.message == ""
    assert fit.selected == ["a - b", "b - c", "c - d", "d - e", "e - f"]
    T, S = fit.precision, np.cov(variables, rowvar=False, bias=True)
    assert fit.objective == pytest.approx(-np.linalg.slogdet(T)[1] + (S * T).sum())
    # The likelihood equations: W = S at the edges and on the diagonal.
    assert np.abs((np.linalg.inv(T) - S)[T != 0]).max() < 1e-10
    assert (np.count_nonzero(T), T[0, 2]) == (16, 0.0)
    assert fit.intercept == 0.0
    assert "intercept" not in str(fit)
    with pytest.raises(ConfigError, match="predicts no response"):
        fit.predict(variables)


def test_other_solutions_have_no_precision(variables):
    assert solve("omp", variables, variables[:, 0], intercept=True, n_atoms=1).precision is None


def test_an_end_that_nothing_sets_is_reported(variables):
    said = solve("foba_obj", variables, loss="logdet").message
    assert "was not tuned" in said
    assert "Give delta" in said


def test_an_intercept_is_refused_without_a_loss_too(variables):
    with pytest.raises(ConfigError, match="intercept is for data with responses"):
        solve("graphical_lasso", variables, intercept=True)


def test_pairs_that_do_not_fit_into_memory_are_refused():
    # Sparse rows of a million variables are small; their pairs would take 200 TB.
    million = sparse.csr_array((np.ones(2), ([0, 1], [0, 1])), shape=(3, 1_000_000))
    with pytest.raises(DataError, match="the pairs of 1000000 variables"):
        solve("foba_obj", million, loss="logdet")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("unit", [1e-8, 1e8])
def test_the_l1_path_does_not_depend_on_a_common_unit(variables, unit):
    one, other = (solve("l1_path", X, loss="logdet") for X in (variables, unit * variables))
    assert one.converged
    assert other.converged
    np.testing.assert_allclose(other.precision * unit**2, one.precision, atol=1e-6)
    np.testing.assert_allclose(other.columns["lam"], one.columns["lam"] * unit**2, rtol=1e-6)


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"y": np.ones(500)}, ConfigError, "no responses"),
        ({"ridge": 0.1}, ConfigError, "no ridge"),
        ({"intercept": True}, ConfigError, "no intercept"),
        ({"tuning": "cv"}, ConfigError, "tuning 'cv' is for data with responses"),
        ({"tuning": "ebic_robust"}, ConfigError, "least-squares fits.*Use another tuning"),
        ({"standardize": True}, ConfigError, "standardize is for data with responses"),
        ({"judge": "refit"}, ConfigError, "judge refit"),
        ({"max_features": 16}, ConfigError, "more than the 15 features"),
        ({"loss": "squared"}, ConfigError, "needs responses. Give y"),
        ({"chains": [500]}, ConfigError, "requires a model of chains"),
        ({"X": [[1.0, 2.0], [1.0, 3.0]]}, DataError, "column 0 of X is constant"),
    ],
)
def test_impossible_calls_are_refused_in_a_sentence(variables, given, error, said):
    given = {"X": variables, "loss": "logdet", **given}
    with pytest.raises(error, match=said):
        solve("foba_obj", given.pop("X"), given.pop("y", None), **given)
