"""The tradeoff protocol with losses that are smoothed, and with draws at random."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog
from tradeoff_lab import follow, rows_of

import greedyexp
from greedyexp.core import registry
from greedyexp.experiment.parameters import Parameters
from greedyexp.problems.problem import Problem
from greedyexp.protocols.base import Status

RADIUS = 1.5


def labelled(n=40, p=6) -> Problem:
    rng = np.random.default_rng(7)
    X = rng.uniform(-1, 1, (n, p))
    truth = np.zeros(p)
    truth[:2] = 1.0, -0.5
    y = np.where(X @ truth + 0.3 * rng.standard_normal(n) > 0, 1.0, -1.0)
    return Problem((X,), (y,), truth[:, None])


def least(loss: str, problem: Problem, radius: float) -> float:
    """The least mean loss over the ball, as a linear programme in u - v and slacks."""
    X, y = problem.X[0], problem.y[0]
    n, p = X.shape
    rows = [np.hstack([-y[:, None] * X, y[:, None] * X, -np.eye(n)])]
    right = [-np.ones(n)]
    if loss == "absolute":
        rows = [np.hstack([s * X, -s * X, -np.eye(n)]) for s in (1, -1)]
        right = [s * y for s in (1, -1)]
    ball = np.r_[np.ones(2 * p), np.zeros(n)]
    cost = np.r_[np.zeros(2 * p), np.full(n, 1 / n)]
    return linprog(cost, np.vstack([*rows, ball]), np.r_[np.concatenate(right), radius]).fun


def risk_of(loss: str, problem: Problem, coef) -> float:
    z, y = problem.X[0] @ coef, problem.y[0]
    return float(np.abs(z - y).mean() if loss == "absolute" else np.maximum(0, 1 - y * z).mean())


def run(name: str, problem: Problem, given: dict, **asked):
    part = registry.find("algorithm", name)
    return follow(problem, part, Parameters(part).read_all(given), **asked)


@pytest.mark.parametrize("loss", ["absolute", "hinge"])
def test_the_risk_of_a_smoothed_run_is_that_of_the_loss_as_it_is(loss):
    problem = labelled()
    epsilons = [0.5, 0.2, 0.1]
    found = run(
        "smoothed_forward_greedy",
        problem,
        {"loss": loss, "radius": RADIUS, "epsilon": 0.2},
        steps=20_000,
        points=5,
        epsilons=epsilons,
        references=["l1_ball", "truth"],
    )
    assert (found.status, found.message) == (Status.OK, "")
    best = least(loss, problem, RADIUS)
    ball, truth = rows_of(found, "reference")
    assert ball["reference_risk"] == pytest.approx(best, abs=1e-9)
    assert truth["reference_risk"] == pytest.approx(risk_of(loss, problem, problem.truth[:, 0]))
    (start,) = rows_of(found, "step", step=0)
    assert start["risk"] == pytest.approx(risk_of(loss, problem, np.zeros(6)))
    theorems = {row["theorem"] for row in rows_of(found, "bound", reference="l1_ball")}
    assert theorems
    assert "none" not in theorems
    for row in rows_of(found, "bound", reference="l1_ball"):
        (at,) = rows_of(found, "step", step=row["step"])
        assert row["excess"] == pytest.approx(at["risk"] - best, abs=1e-9)
        assert -1e-9 <= row["excess"] <= at["gap"] + 1e-12
    rows = rows_of(found, "epsilon", reference="l1_ball")
    assert {row["epsilon"] for row in rows} == set(epsilons)
    for row in rows:
        assert row["steps"] <= row["steps_bound"]
        assert row["within"] in (1, None)
    # A finer accuracy is a run of its own, with less smoothing and more steps.
    taken = {row["epsilon"]: row["steps"] for row in rows}
    assert taken[0.5] < taken[0.2] < taken[0.1]


def test_a_loss_that_is_smoothed_for_good_is_compared_with_its_own_minimiser():
    problem = labelled()
    given = {"loss": "hinge", "beta": 2.0, "radius": RADIUS}
    asked = {"steps": 20_000, "points": 5, "epsilons": [0.1, 0.01]}
    found = run("forward_greedy", problem, given, **asked)
    (ball,) = rows_of(found, "reference")
    # Smoothing lowers the loss, by up to 1 / (2 beta).
    best = least("hinge", problem, RADIUS)
    assert best - 0.25 < ball["reference_risk"] < best - 1e-3
    last = rows_of(found, "bound", theorem="T2")[-1]
    assert 0.0 <= last["excess"] < 1e-3
    assert {row["within"] for row in rows_of(found, "epsilon", theorem="T2")} == {1}


def test_draws_are_of_the_stream_of_the_replicate(tmp_path):
    config = {
        "name": "draws",
        "protocol": {"tradeoff": {"steps": 4000, "points": 5, "epsilons": [0.1, 0.01]}},
        "data": {"generator": "rademacher", "n_samples": 0, "p": 8, "sparsity": 5},
        "trials": 40,
        "algorithms": [{"randomized_sparsification": {"risk": "population"}}],
    }
    frame = greedyexp.run(config, out=tmp_path, engine="serial")
    assert (frame["status"] == "ok").all()
    bounds = frame[(frame["record"] == "bound") & (frame["theorem"] == "T1") & (frame["step"] > 0)]
    assert bounds[bounds["step"] == 4000]["excess"].nunique() > 30
    # The mean excess is exactly (||w||_1^2 - ||w||_2^2) / (2 k) here, below the bound of Theorem 1.
    for step, rows in bounds.groupby("step"):
        excess = rows["excess"].to_numpy()
        bound = rows["excess_bound"].iloc[0]
        assert bound == pytest.approx(1 / (2 * step))
        exact = (1 - 1 / 5) / (2 * step)
        assert abs(excess.mean() - exact) < 5 * excess.std() / np.sqrt(40) + 1e-15
    within = frame[frame["record"] == "epsilon"].dropna(subset=["within"])
    assert len(within) == 80
    assert within.groupby("epsilon")["within"].mean().ge(0.5).all()


@pytest.mark.parametrize(
    ("name", "given", "beta", "smoothing"),
    [
        ("forward_greedy", {"loss": "hinge", "beta": 2.0, "epsilon": 0.05}, 2.0, 0.0),
        ("smoothed_forward_greedy", {"loss": "hinge", "epsilon": 0.2}, 5.0, 0.1),
    ],
)
def test_the_bound_of_a_run_that_ended_is_that_of_the_steps_it_made(name, given, beta, smoothing):
    asked = {"steps": 10**7, "points": 12}
    found = run(name, labelled(), {**given, "radius": RADIUS}, **asked)
    rows = [row for row in rows_of(found, "bound") if row["step"]]
    assert {row["theorem"] for row in rows} <= {"T2", "T2-termination", "C2"}
    bound = {k: 8 * beta * RADIUS**2 / (k + 3) + smoothing for k in (*range(1, 10_000), 10**7)}
    # The run stayed where its certificate ended it, where this many steps have a smaller bound.
    assert rows[-1]["gap"] - smoothing / 2 <= given["epsilon"] * (0.5 if smoothing else 1.0)
    assert bound[10**7] < smoothing + 1e-5
    for row in rows:
        assert row["excess"] <= row["excess_bound"]
        gaps = [other["gap"] for other in rows if other["theorem"] == row["theorem"]]
        if row["gap"] > gaps[-1]:
            assert row["excess_bound"] == pytest.approx(bound[row["step"]])
        else:
            assert row["excess_bound"] == rows[-1]["excess_bound"]
    made = [k for k in bound if bound[k] == pytest.approx(rows[-1]["excess_bound"], rel=1e-12)]
    assert len(made) == 1
    problem = labelled()
    part = registry.find("algorithm", name)
    values = Parameters(part).read_all({**given, "radius": RADIUS, "steps": 10**7})
    assert made == [int(part.function(problem, **values).facts["steps"][-1])]


@pytest.mark.parametrize(
    ("reading", "theorem", "sharpness"),
    [("corrected", "C2", 1.0), ("2009", "C2-printed", 1.0), ("2008", "S08-T2", 2.0)],
)
def test_runs_for_other_accuracies_leave_the_recorded_run_its_bound(reading, theorem, sharpness):
    given = {"loss": "hinge", "radius": RADIUS, "epsilon": 0.2, "reading": reading}
    asked = {"steps": 200, "points": 0, "dense": 20}
    found = run("smoothed_forward_greedy", labelled(), given, epsilons=[0.5, 0.3], **asked)
    rows = rows_of(found, "bound", theorem=theorem)
    assert [row["step"] for row in rows if row["excess_bound"] is None] == [0]
    alone = rows_of(run("smoothed_forward_greedy", labelled(), given, **asked), "bound")
    assert rows == alone
    # Smoothing with beta = sharpness / epsilon costs at most 1 / (2 beta).
    beta = sharpness / 0.2
    for row in rows[1:]:
        least = 8 * beta * RADIUS**2 / (row["step"] + 3)
        assert least < row["excess_bound"] <= least + 1 / (2 * beta) + 1e-12
    steps = {row["epsilon"]: row["steps_bound"] for row in rows_of(found, "epsilon")}
    assert all(count is not None for count in steps.values())
