"""Constants as algorithms, and the protocol that evaluates them."""

import math

import numpy as np
import pandas as pd
import pytest

from greedyexp.core.errors import ConfigError, DataError, PluginError
from greedyexp.core.parts import Algorithm
from greedyexp.core.registry import find, parts
from greedyexp.problems.problem import Problem, as_problem
from greedyexp.protocols.base import Setup, Status
from greedyexp.protocols.constants import columns, constants
from greedyexp.theory.constants import Constant

SETUP = Setup("none", 2, (), np.random.default_rng(0))
ORTHOGONAL = as_problem(np.array([[1, 0.5], [1, 0.5], [1, -0.5], [1, -0.5]]), np.arange(4.0))


def evaluate(name, problem, **params):
    (row,) = constants(problem, find("algorithm", name), params, SETUP).rows
    return row


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mu2", 1 / 4),
        ("mu2_over_p", 1 / 8),
        # A separable quadratic with curvatures 1 and 1/4.
        ("mu1_sdp", 1 / 5),
        ("mu1_exact", 1 / 5),
        ("mu1_upper", 5 / 16),
        ("smoothness_l1", 1.0),
        ("smoothness_l2", 1.0),
        ("smoothness_l1_over_n", 1 / 4),
    ],
)
def test_values_of_orthogonal_columns(name, value):
    row = evaluate(name, ORTHOGONAL)
    assert list(row) == [measured.name for measured in columns([])]
    assert row["lower"] <= value * (1 + 1e-12)
    assert value * (1 - 1e-12) <= row["upper"]
    assert row["lower"] <= row["value"] <= row["upper"]
    assert row["value"] == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("p", [3, 8, 10])
def test_order_of_the_constants_in_both_regimes(p):
    rng = np.random.default_rng(p)
    problem = as_problem(rng.standard_normal((8, p)), rng.standard_normal(8))
    rows = {name: evaluate(name, problem) for name in ("mu2_over_p", "mu1_sdp", "mu1_exact")}
    assert rows["mu2_over_p"]["lower"] <= rows["mu1_sdp"]["upper"]
    assert rows["mu1_sdp"]["lower"] <= rows["mu1_exact"]["upper"]
    assert rows["mu1_sdp"]["upper"] - rows["mu1_sdp"]["lower"] <= 1e-6 * rows["mu1_sdp"]["upper"]


def test_every_constant_is_taken_and_nothing_else():
    names = {name for name, part in parts("algorithm").items() if part.yields == "constant"}
    assert names == {
        "mu2",
        "mu2_over_p",
        "mu1_sdp",
        "mu1_exact",
        "mu1_upper",
        "smoothness_l1",
        "smoothness_l2",
        "smoothness_l1_over_n",
    }
    assert find("protocol", "constants").takes == "constant"


def test_impossible_shapes_are_told_before_any_work():
    def check(name, n, p, r=1):
        shape = {"n_tasks": r, "n_samples": n, "n_features": p, "shared_design": True}
        find("algorithm", name).check(shape)

    for name in ("mu1_exact", "mu1_upper", "mu1_sdp", "mu2"):
        check(name, 20, 10)
        with pytest.raises(ValueError, match="one task"):
            check(name, 20, 10, r=2)
    check("mu1_exact", 3, 100)
    with pytest.raises(ValueError, match="too many for the exact mu1"):
        check("mu1_exact", 30, 100)
    with pytest.raises(ValueError, match="50 features of 20 samples are dependent"):
        check("mu1_upper", 20, 50)
    check("mu1_sdp", 20, 200)
    with pytest.raises(ValueError, match="needs too much memory"):
        check("mu1_sdp", 200, 1000)


def test_the_same_rules_hold_for_a_call():
    rng = np.random.default_rng(0)
    wide = as_problem(rng.standard_normal((30, 40)), rng.standard_normal(30))
    for name in ("mu1_exact", "mu1_upper"):
        with pytest.raises(ConfigError):
            evaluate(name, wide)
    with pytest.raises(DataError):
        evaluate("mu2", as_problem(np.zeros((4, 2)), np.ones(4)))


def test_accuracy_is_a_parameter():
    rng = np.random.default_rng(1)
    problem = as_problem(rng.standard_normal((40, 20)), rng.standard_normal(40))

    def width(tol):
        row = evaluate("mu1_sdp", problem, tol=tol)
        return (row["upper"] - row["lower"]) / row["upper"]

    assert width(1e-9) <= 1e-9 < width(1e-2) <= 1e-2


def test_plugins_that_return_something_else():
    part = Algorithm("odd", lambda problem: 1.0)
    with pytest.raises(PluginError, match="algorithm 'odd' returned a float, not a Constant"):
        constants(ORTHOGONAL, part, {}, SETUP)
    crossed = Algorithm("crossed", lambda problem: Constant(3.0, 1.0, 2.0))
    outcome = constants(ORTHOGONAL, crossed, {}, SETUP)
    assert (outcome.status, outcome.rows) == (Status.ERROR, [])
    assert outcome.message == "the value 3.0 is not between its bounds 1.0, 2.0"
    endless = Algorithm("endless", lambda problem: Constant(1.0, 0.0, math.inf))
    outcome = constants(ORTHOGONAL, endless, {}, SETUP)
    assert outcome.status is Status.NONFINITE
    assert outcome.rows == []


def test_an_experiment_writes_a_row_for_each_constant(call, tmp_path):
    (tmp_path / "try.yaml").write_text(
        "name: try\n"
        "seed: 3\n"
        "trials: 2\n"
        "protocol: constants\n"
        "data:\n"
        "  generator: gaussian\n"
        "  n_samples: 6\n"
        "  sparsity: 1\n"
        "  sweep: {p: [4, 9]}\n"
        "algorithms: [mu2, mu1_sdp, mu1_exact]\n"
    )
    done = call("run", "try.yaml", "--engine", "serial", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    frame = pd.read_csv(tmp_path / "out" / "try" / "quick" / "try.csv")
    assert len(frame) == 12
    assert (frame["status"] == "ok").all()
    assert (frame["lower"] <= frame["value"]).all()
    assert (frame["value"] <= frame["upper"]).all()
    table = frame.pivot(index=["p", "replicate"], columns="algorithm", values="value")
    assert (table["mu1_sdp"] <= table["mu1_exact"] * (1 + 1e-9)).all()
    assert (table["mu1_exact"] < table["mu2"]).all()


def test_exact_mu1_of_dependent_columns_within_p_samples():
    P = np.arange(12.0).reshape(4, 3)
    P[:, 2] = P[:, 0] + P[:, 1]
    row = evaluate("mu1_exact", Problem((P,), (np.ones(4),)))
    assert 0 < row["lower"] <= row["upper"]


def test_a_square_design_of_lower_rank_that_does_not_fit_is_told_in_a_sentence():
    X = np.random.default_rng(0).standard_normal((200, 200))
    X[:, 0] = X[:, 1] + X[:, 2]
    problem = as_problem(X, np.ones(200))
    part = find("algorithm", "mu1_sdp")
    # Its shape is one that fits, for independent columns.
    part.check(problem.shape, tol=1e-6)
    with pytest.raises(DataError, match=r"200 columns of rank 199 needs dense .* 6000 independent"):
        constants(problem, part, {}, SETUP)
