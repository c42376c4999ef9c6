"""Forward greedy selection for losses with kinks: what each reading promises of the loss itself."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import greedyexp
from greedyexp.algorithms.sparsity.forward_greedy import forward_greedy
from greedyexp.algorithms.sparsity.smoothed_forward_greedy import smoothed_forward_greedy
from greedyexp.core import registry
from greedyexp.core.errors import ConfigError
from greedyexp.problems.problem import as_problem
from greedyexp.theory.theorems import Reference

LOSSES = ("absolute", "hinge")
# beta epsilon, the share of epsilon that the gap is to reach, and what the excess then is at most.
READINGS = {"corrected": (1.0, 0.5, 0.75), "2009": (1.0, 1.0, 1.25), "2008": (2.0, 0.5, 0.625)}
NAMES = {"corrected": "C2", "2009": "C2-printed", "2008": "S08-T2"}
COUNTS = {"corrected": 16.0, "2009": 8.0, "2008": 32.0}


def data(loss, seed, n=40, d=8):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    y = X[:, :2] @ [1.5, -1.0][:d] + rng.laplace(scale=0.3, size=n)
    if loss == "hinge":
        y = np.where(y > 0, 1.0, -1.0)
        y[0] = -y[1]
    return X, y


def risk(loss, X, y, w, ridge=0.0):
    a = X @ w
    rows = np.abs(a - y) if loss == "absolute" else np.maximum(0.0, 1.0 - y * a)
    return rows.mean() + ridge / 2 * w @ w


def least(loss, X, y, radius, ridge=0.0):
    w = cp.Variable(X.shape[1])
    rows = X @ w - y if loss == "absolute" else cp.pos(1 - cp.multiply(y, X @ w))
    total = cp.norm1(rows) / len(y) + ridge / 2 * cp.sum_squares(w)
    return cp.Problem(cp.Minimize(total), [cp.norm1(w) <= radius]).solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_run_is_that_of_the_smoothed_loss_to_its_share_of_epsilon(loss, reading):
    X, y = data(loss, 0)
    sharpness, share, _ = READINGS[reading]
    options = {"ridge": 0.1, "radius": 2.0, "steps": 3000}
    path = smoothed_forward_greedy(
        as_problem(X, y), loss=loss, epsilon=0.2, reading=reading, **options
    )
    beta = sharpness / 0.2
    inner = forward_greedy(as_problem(X, y), loss=loss, beta=beta, epsilon=share * 0.2, **options)
    assert np.array_equal(path.coef, inner.coef)
    assert np.array_equal(path.facts["smoothed_gap"], inner.facts["gap"])
    assert np.array_equal(path.facts["smoothed_risk"], inner.objective)
    assert path.facts["beta"].tolist() == [beta] * len(path)
    assert path.facts["gap"] == pytest.approx(inner.facts["gap"] + 1 / (4 * beta), rel=1e-14)
    expected = [risk(loss, X, y, w, 0.1) for w in path.coef[:, :, 0]]
    assert path.objective == pytest.approx(expected, rel=1e-13)
    assert np.array_equal(path.objective, path.facts["risk"])
    assert path.converged.all()
    assert path.facts["smoothed_gap"][-1] <= share * 0.2 < path.facts["smoothed_gap"][-2]


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    loss=st.sampled_from(LOSSES),
    reading=st.sampled_from(sorted(READINGS)),
    step=st.sampled_from(["paper", "line_search"]),
    seed=st.integers(0, 10**6),
    shape=st.tuples(st.integers(2, 25), st.integers(1, 8)),
    ridge=st.sampled_from([0.0, 0.5]),
    epsilon=st.floats(0.03, 1.0),
)
def test_the_gap_certifies_the_loss_itself_and_readings_keep_their_word(
    loss, reading, step, seed, shape, ridge, epsilon
):
    X, y = data(loss, seed, *shape)
    radius = 1.5
    sharpness, _, total = READINGS[reading]
    smoothness = sharpness / epsilon + ridge
    enough = int(np.ceil(2 * 8 * smoothness * radius**2 / (READINGS[reading][1] * epsilon)))
    path = smoothed_forward_greedy(
        as_problem(X, y),
        loss=loss,
        ridge=ridge,
        radius=radius,
        epsilon=epsilon,
        steps=enough,
        step=step,
        reading=reading,
    )
    excess = path.objective - least(loss, X, y, radius, ridge)
    assert (excess <= path.facts["gap"] + 1e-7).all()
    assert path.converged[-1]
    assert excess[-1] <= total * epsilon + 1e-7


def test_the_printed_reading_ends_beyond_its_accuracy_and_the_corrected_one_within():
    epsilon = 0.5
    # Half of the rows are reached at the radius, the others go towards a far response: the case of
    # ``sparsity_smoothing.corollary2`` with p = 1/2.
    X, y = epsilon * np.array([[0.5], [1.75]]), np.array([epsilon / 2, 100.0])
    lowest = least("absolute", X, y, 1.0)
    ends = {}
    for reading in READINGS:
        path = smoothed_forward_greedy(
            as_problem(X, y), loss="absolute", radius=1.0, epsilon=epsilon, reading=reading
        )
        assert path.converged[-1]
        ends[reading] = path.objective[-1] - lowest
    assert ends["2009"] > 1.1 * epsilon
    assert ends["corrected"] <= 0.75 * epsilon
    assert ends["2008"] <= 0.625 * epsilon


@pytest.mark.parametrize("loss", LOSSES)
def test_every_accuracy_of_a_grid_has_the_run_of_its_own(loss):
    problem = as_problem(*data(loss, 3))
    options = {"loss": loss, "radius": 2.0, "epsilon": 0.3}
    steps, epsilon = np.array([50, 20_000, 7, 20_000]), np.array([0.1, 0.3, 0.3, 0.1])
    joint = smoothed_forward_greedy(problem, grid={"steps": steps, "epsilon": epsilon}, **options)
    assert joint.grid["epsilon"].tolist() == epsilon.tolist()
    for place in range(4):
        alone = smoothed_forward_greedy(
            problem,
            grid={"steps": steps[[place]]},
            **{**options, "steps": int(steps[place]), "epsilon": epsilon[place]},
        )
        assert np.array_equal(alone.coef[0], joint.coef[place])
        assert alone.objective[0] == joint.objective[place]
        assert alone.converged[0] == joint.converged[place]
        for name, values in joint.facts.items():
            assert alone.facts[name][0] == values[place]
    assert joint.converged.tolist() == [False, True, False, True]
    assert joint.loss.beta == 1 / 0.3
    assert joint.message == "2 of 4 points did not reach the requested gap."


@pytest.mark.parametrize("reading", READINGS)
def test_theorems_are_those_of_the_reading(reading):
    X, y = data("hinge", 0)
    theorems = registry.find("algorithm", "smoothed_forward_greedy").theorems
    options = {"ridge": 0.0, "epsilon": 0.2, "reading": reading}
    path = smoothed_forward_greedy(as_problem(X, y), radius=2.0, steps=10, **options)
    inside = Reference("truth", np.r_[2.0, np.zeros(7)], 0.0, 0.0, 0.0)
    (promise,) = theorems(path, inside, loss="hinge", **options)
    assert promise.theorem == NAMES[reading]
    assert promise.original
    count = COUNTS[reading] * 4.0 / 0.2**2
    assert promise.steps(np.array([0.2]))[0] == pytest.approx(count, abs=1.0)
    assert np.isfinite(promise.excess(np.arange(1, 5))).all()
    grid = {"steps": [10, 10], "epsilon": [0.2, 0.1]}
    mixed = smoothed_forward_greedy(as_problem(X, y), radius=2.0, grid=grid, **options)
    (promise,) = theorems(mixed, inside, loss="hinge", **options)
    assert promise.excess(np.arange(3)).tolist() == [np.inf] * 3
    outside = Reference("truth", np.full(8, 1.0), 0.0, 0.0, 0.0)
    assert theorems(path, outside, loss="hinge", **options) == []


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"epsilon": 0.0}, "epsilon must be more than 0"),
        ({"epsilon": -1.0}, "epsilon must be more than 0"),
        ({"radius": 0.0}, "radius must be at least 1e-75"),
        ({"ridge": -1.0}, "ridge must be at least 0"),
        ({"loss": "squared"}, "loss"),
        ({"reading": "2010"}, "reading"),
        (
            {"radius": None},
            "true coefficients, .* Give radius of algorithm 'smoothed_forward_greedy'",
        ),
        ({"beta": 1.0}, "beta"),
    ],
)
def test_bad_parameters_are_refused_in_a_sentence(options, sentence):
    options = {"loss": "absolute", "radius": 1.0, **options}
    with pytest.raises(ConfigError, match=sentence):
        greedyexp.solve("smoothed_forward_greedy", *data("absolute", 0), **options)


def test_a_grid_has_positive_accuracies_only():
    problem = as_problem(*data("absolute", 0))
    grid = {"steps": [1, 1], "epsilon": [0.1, 0.0]}
    with pytest.raises(ConfigError, match="epsilon must be positive"):
        smoothed_forward_greedy(problem, loss="absolute", radius=1.0, grid=grid)
