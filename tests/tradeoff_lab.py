"""Problems with a risk in closed form, and made-up algorithms with known answers."""

from __future__ import annotations

import numpy as np
from scipy.linalg import hadamard

from greedyexp.core import registry
from greedyexp.core.parts import Algorithm
from greedyexp.estimates.path import Path
from greedyexp.experiment.parameters import Parameters
from greedyexp.losses.squared import SquaredLoss
from greedyexp.problems.problem import Problem
from greedyexp.protocols.base import Setup
from greedyexp.protocols.tradeoff.tradeoff import tradeoff
from greedyexp.theory.theorems import RiskBound

TRUTH = np.array([0.5, 0.0, -0.25, 0.0])


def signs_problem(truth=TRUTH, **more) -> Problem:
    """Columns of a Hadamard matrix: R(w) = ||w - truth||^2 / 2 for the squared loss."""
    X = hadamard(len(truth)).astype(float)
    return Problem((X,), (X @ truth,), truth[:, None], **more)


def risk_at(params, truth=TRUTH) -> float:
    return float(((params - truth) ** 2).sum() / 2)


def halved(problem: Problem, steps) -> np.ndarray:
    """truth (1 - 2^-k): an excess of 4^-k ||truth||^2 / 2 after k steps, array (m, p, 1)."""
    left = 2.0 ** -np.minimum(np.asarray(steps, dtype=float), 1000.0)
    return problem.truth[None] * (1.0 - left)[:, None, None]


def halving(problem: Problem, *, steps: int = 1, grid=None) -> Path:
    """The distance to the truth halved by each step."""
    asked = np.asarray(grid["steps"])
    loss = SquaredLoss(problem.X[0], problem.y[0])
    coef = halved(problem, asked)
    risk = np.array([loss.value(w) for w in coef[:, :, 0]])
    return Path(coef, grid, risk, np.ones(len(asked), bool), loss=loss, facts={"steps": asked})


def promise(theorem="H", factor=1.0, base=4.0, **more) -> RiskBound:
    """An excess of factor base^-k, and the steps that follow from it."""
    return RiskBound(
        theorem,
        {"factor": factor},
        lambda k: factor * base ** -np.minimum(k, 400.0),
        lambda epsilon: np.maximum(0.0, np.ceil(np.log(factor / epsilon) / np.log(base))),
        **more,
    )


def part_of(function=halving, theorems=None) -> Algorithm:
    return Algorithm("made_up", function, title="Made up", theorems=theorems)


def follow(problem=None, part=None, params=None, seed=0, **asked):
    """The outcome of protocol ``tradeoff``."""
    setup = Setup("none", 5, (), np.random.default_rng(seed))
    given = Parameters(registry.find("protocol", "tradeoff")).read_all(asked)
    return tradeoff(
        signs_problem() if problem is None else problem,
        part_of() if part is None else part,
        {"steps": 1} if params is None else params,
        setup,
        **given,
    )


def rows_of(outcome, record: str, **keys) -> list[dict]:
    """The rows of one kind with these keys."""
    return [
        row
        for row in outcome.rows
        if row["record"] == record and all(row[name] == value for name, value in keys.items())
    ]
