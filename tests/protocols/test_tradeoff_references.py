"""What the tradeoff protocol compares with, and the unit box its features are to be in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from tradeoff_lab import (
    TRUTH,
    follow,
    halving,
    part_of,
    risk_at,
    rows_of,
    signs_problem,
)

from greedyexp.core.errors import ConfigError, DataError
from greedyexp.problems.moments import SpreadMoments
from greedyexp.problems.problem import Problem
from greedyexp.protocols.base import Status
from greedyexp.protocols.tradeoff import _bounds as tradeoff_references
from greedyexp.protocols.tradeoff._run import in_unit_box
from greedyexp.solvers.l1_ball import BallMinimum

POWER = float((TRUTH**2).sum() / 2)


def test_the_references_are_those_of_closed_forms():
    truth = np.array([0.5, 0.25, 0.0, 0.0])
    problem = signs_problem(truth)
    # Noise along a column of no support, which the minimiser there does not see.
    problem = replace(problem, y=(problem.y[0] + 0.125 * problem.X[0][:, 3],))
    best = np.array([0.5, 0.25, 0.0, 0.125])
    found = follow(problem, steps=4, points=2, references=["l1_ball", "truth", "support"])
    rows = {row["reference"]: row for row in rows_of(found, "reference")}
    # Projection onto the ball of radius 0.75: every size is lowered by (0.875 - 0.75) / 3.
    lower = 0.125 / 3
    near = best - lower * (best > 0)
    assert rows["l1_ball"]["reference_risk"] == pytest.approx(risk_at(near, best))
    assert rows["l1_ball"]["reference_l1_norm"] == pytest.approx(0.75)
    assert rows["l1_ball"]["reference_features"] == 3
    assert rows["l1_ball"]["reference_gap"] < 1e-12
    assert rows["truth"]["reference_risk"] == pytest.approx(0.125**2 / 2)
    assert rows["support"]["reference_risk"] == pytest.approx(0.125**2 / 2)
    for name in rows:
        excess = [row["excess"] for row in rows_of(found, "bound", reference=name)]
        risks = [row["risk"] - rows[name]["reference_risk"] for row in rows_of(found, "step")]
        assert excess == pytest.approx(risks)


@pytest.mark.parametrize(
    ("given", "own", "norm"), [(None, None, 0.75), (None, 0.25, 0.25), (0.5, 0.25, 0.5)]
)
def test_the_ball_is_that_asked_for_or_of_the_algorithm_or_of_the_truth(given, own, norm):
    def balled(problem, *, steps, radius=None, grid):
        return halving(problem, grid=grid)

    params = {"steps": 1, "radius": own}
    found = follow(part=part_of(balled), params=params, steps=4, points=2, radius=given)
    (row,) = rows_of(found, "reference")
    assert row["reference_l1_norm"] == pytest.approx(norm)


def test_without_a_truth_a_reference_must_be_something_else():
    problem = replace(signs_problem(), truth=None)

    def plain(problem, *, steps, grid):
        return halving(signs_problem(), grid=grid)

    asked = {"part": part_of(plain), "steps": 4, "points": 2}
    with pytest.raises(DataError, match="reference 'truth' needs the true coefficients"):
        follow(problem, references=["truth"], **asked)
    with pytest.raises(
        ConfigError, match=r"coefficients are not known\. Give radius of protocol 'tradeoff'"
    ):
        follow(problem, **asked)
    assert follow(problem, radius=1.0, **asked).status is Status.OK


def test_a_reference_that_is_too_coarse_is_told(monkeypatch):
    def coarse(loss, radius):
        return BallMinimum(TRUTH, 0.0, 2e-4, True)

    monkeypatch.setattr(tradeoff_references, "minimise_over_ball", coarse)
    assert follow(steps=4, epsilons=[1e-2]).status is Status.OK
    found = follow(steps=4, epsilons=[1e-2, 1e-3])
    assert found.status is Status.NOT_CONVERGED
    assert found.message == (
        "reference l1_ball is known to 2.0e-04, too coarse for an accuracy of 1.0e-03"
    )

    def unproved(loss, radius):
        return BallMinimum(TRUTH, 0.0, 0.0, False, "The gap is open.")

    monkeypatch.setattr(tradeoff_references, "minimise_over_ball", unproved)
    doubted = follow(steps=4, epsilons=[1e-2])
    assert doubted.status is Status.NOT_CONVERGED
    assert "the minimiser over the l1 ball has no proof: The gap is open" in doubted.message


def test_features_beyond_the_unit_box_are_refused_or_scaled():
    problem = signs_problem()
    sizes = np.array([4.0, 0.5, 1.0, 3.0])
    wide = replace(problem, X=(problem.X[0] * sizes,), truth=problem.truth / sizes[:, None])
    with pytest.raises(DataError, match=r"a feature has the value 4, .* in \[-1, 1\]\. Let the"):
        follow(wide, steps=4)
    found = follow(wide, steps=4, features="scale", epsilons=[0.01])
    plain = follow(problem, steps=4, epsilons=[0.01])
    assert {row.pop("feature_scale") for row in found.rows} == {4.0}
    for one, other in zip(found.rows, plain.rows, strict=True):
        assert one == pytest.approx(other)
    again = follow(problem, steps=4, features="scale")
    assert {row["feature_scale"] for row in again.rows} == {1.0}


def test_moments_are_those_of_features_as_they_were():
    problem = replace(signs_problem(), moments=SpreadMoments(np.ones(4), np.zeros(4), TRUTH, 1.0))
    wide = replace(problem, X=(2.0 * problem.X[0],))
    assert in_unit_box(problem, "scale")[0].moments is problem.moments
    assert in_unit_box(wide, "scale")[0].moments is None


def test_sparse_features_are_scaled_likewise():
    X = sparse.csr_array(np.array([[0.0, 2.0, 0.0], [-4.0, 1.0, 0.0]]))
    problem = Problem((X,), (np.ones(2),), np.array([[1.0], [3.0], [5.0]]))
    boxed, factor = in_unit_box(problem, "scale")
    assert factor == 4.0
    assert boxed.X[0].toarray().tolist() == [[0.0, 1.0, 0.0], [-1.0, 0.5, 0.0]]
    # A feature that is zero everywhere is left as it is.
    assert boxed.truth[:, 0].tolist() == [4.0, 6.0, 5.0]
    with pytest.raises(DataError):
        in_unit_box(problem, "refuse")


def test_a_population_is_in_the_box():
    empty = Problem((np.zeros((0, 2)),), (np.zeros(0),))
    assert in_unit_box(empty, "refuse") == (empty, 1.0)
