"""The ultimate method where nothing is left to gain: it stays, and says what it could not solve."""

import numpy as np
import pytest
from gauge_oracle import gaussian_data, objective, primal_step
from hypothesis import given, settings
from hypothesis import strategies as st

from greedyexp.algorithms.matching_pursuit.ultimate import ultimate
from greedyexp.core.registry import find
from greedyexp.problems.problem import Problem, as_problem
from greedyexp.protocols.base import Setup, Status
from greedyexp.protocols.trajectory.trajectory import trajectory
from greedyexp.solvers import gauge as gauge_step

SETUP = Setup("none", 2, (), np.random.default_rng(0))
DEFAULTS = {
    name: field.default
    for name, field in find("protocol", "trajectory").parameters.model_fields.items()
}


def rows_of(problem, lam, steps):
    """Gaps and guarantees of the first steps; the run is to be trusted."""
    asked = {**DEFAULTS, "iterations": steps, "points": 0, "dense": steps, "guarantees": True}
    outcome = trajectory(problem, find("algorithm", "ultimate"), {"lam": lam}, SETUP, **asked)
    assert (outcome.status, outcome.message) == (Status.OK, "")
    return np.array([[row["gap"], row["guarantee"]] for row in outcome.rows]).T


DOUBLED = np.array([[1, 1], [-1, -1], [0, 0], [1, 1]])


AT_ZERO = [
    (DOUBLED, [2, 3, 0, -3], 3.0),
    (2 * DOUBLED, [2, 3, 0, -3], 3.0),
    ([[-2, 0, -1, 1, -1, -1], [0, -1, 0, 0, 0, 2]], [3, 1], 4.5),
    ([[0, 10, 0, -200, 0], [0.001, -20, 0.01, -200, 0]], [-2, 0], 300.0),
    (1e8 * np.array([[-1, 2], [1, 2], [2, -2]]), [-2, -2, 0], 4e8),
]


@pytest.mark.parametrize(("P", "y", "lam"), AT_ZERO)
def test_zero_stays_where_it_is_optimal(P, y, lam):
    P, y = np.array(P, dtype=float), np.array(y, dtype=float)
    assert np.abs(P.T @ y).max() / len(y) <= lam
    gaps, _ = rows_of(as_problem(P, y), lam, 4)
    assert not gaps.any()
    iteration = ultimate(as_problem(P, y), lam=lam)
    iteration.advance(4)
    assert not iteration.coef.any()
    assert iteration.certificate == 0


@settings(deadline=None, derandomize=True, max_examples=150)
@given(
    st.integers(0, 10**6),
    st.sampled_from([1e-3, 0.03, 0.3, 0.9, 1.0, 1.5]),
    st.sampled_from([1e-8, 1.0, 1e8]),
    st.booleans(),
)
def test_never_ascends_whatever_the_ties(seed, share, unit, from_zero):
    rng = np.random.default_rng(seed)
    n, p = rng.integers(2, 7), rng.integers(1, 12)
    P, y = unit * rng.integers(-2, 3, (n, p)), rng.integers(-3, 4, n).astype(float)
    lam = share * np.abs(P.T @ y).max() / n
    if lam == 0:
        return
    problem = as_problem(P, y)
    start = np.zeros(p) if from_zero else rng.integers(-2, 3, p) / unit
    gaps, proved = rows_of(Problem(problem.X, problem.y, start=start[:, None]), lam, 25)
    scale = max(objective(P, y, start, lam), objective(P, y, np.zeros(p), lam))
    assert np.diff(gaps).max() <= 2e-15 * scale
    assert np.all(gaps <= proved + 1e-13 * scale)


@pytest.mark.parametrize(("P", "y", "lam"), AT_ZERO[:3])
def test_the_dual_of_no_move_has_no_multipliers(P, y, lam):
    # t, x and all multipliers vanish, and ties make the way there degenerate.
    space = gauge_step.gauge_coordinates(np.array(P, dtype=float), np.array(y, dtype=float))
    x = np.zeros(len(space.aim))
    c = space.gradient(x)
    estimate, move, v, status = gauge_step.kernel.gauge_step(
        space.atoms, x, c, lam, space.smoothness, x, np.zeros(0, int), 300
    )
    assert status == gauge_step.kernel.SOLVED
    assert np.abs(v + c).max() <= 1e-14
    assert not estimate.any()
    assert not move.any()


def test_dependent_atoms_are_not_held_together():
    atoms = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    # Both copies are at their price of 0.5 from the beginning.
    estimate, move, _, status = gauge_step.kernel.gauge_step(
        atoms,
        np.array([1.0, 0.2]),
        np.array([-3.0, 0.1]),
        0.5,
        2.0,
        np.array([0.5, 0.0]),
        np.array([0, 1]),
        300,
    )
    assert status == gauge_step.kernel.SOLVED
    assert (estimate - move) @ atoms == pytest.approx([1.0, 0.2], abs=1e-15)


def test_a_better_dual_brings_no_worse_point(monkeypatch):
    P, y = gaussian_data(21, 8, 20)
    coef = np.random.default_rng(0).standard_normal(20) * (np.arange(20) < 4)
    space = gauge_step.gauge_coordinates(P, y)
    solved = gauge_step.kernel.gauge_step(
        space.atoms,
        space.point(coef),
        space.gradient(space.point(coef)),
        0.1,
        space.smoothness,
        np.zeros(8),
        np.flatnonzero(coef),
        900,
    )
    spoiled = (9 * solved[0], solved[1], *solved[2:])
    monkeypatch.setattr(gauge_step.kernel, "gauge_step", lambda *_: spoiled)
    monkeypatch.setattr("greedyexp.solvers.gauge.conic_step", lambda *_: None)
    step = gauge_step.GaugeStep(P, y, 0.1)
    first, again = step(coef), step(coef)
    assert np.array_equal(first.estimate, coef)
    # The dual that came with the worse point is exact, so that staying lacks what the step gains.
    gain = 0.1 * np.abs(coef).sum() - primal_step(P, y, coef, 0.1)[0]
    assert first.certificate == pytest.approx(gain / objective(P, y, coef, 0.1), rel=1e-7)
    assert again.certificate == first.certificate
