"""Steps of regularised matching pursuit against a conic solver, and its path against others."""

import clarabel
import numpy as np
import pytest
from array_checks import assert_close
from descent_oracles import gradient, greatest_difference, iterates, one_task, smoothness_l1
from scipy import sparse

from greedyexp.algorithms.matching_pursuit.coordinate_descent import (
    proximal_gs_coordinate_descent,
    rmp,
)
from greedyexp.kernels.coordinate_descent import propose


def model(step, coef, grad, lam, smoothness):
    """<g, b> + (L/2) ||b||_1^2 + lam ||a + b||_1."""
    length = np.abs(step).sum()
    return grad @ step + smoothness / 2 * length**2 + lam * np.abs(coef + step).sum()


def conic_step(coef, grad, lam, smoothness):
    """The same minimised by an interior point method over b = u - v and bounds w of |a + b|."""
    p = len(coef)
    each, none = sparse.identity(p), sparse.csc_matrix((p, p))
    ones, zeros = np.ones((1, p)), np.zeros((1, p))
    rows = [
        [ones, ones, zeros, -np.ones((1, 1))],
        [-each, none, none, None],
        [none, -each, none, None],
        [each, -each, -each, None],
        [-each, each, -each, None],
    ]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-13
    solver = clarabel.DefaultSolver(
        sparse.diags([0.0] * 3 * p + [smoothness]).tocsc(),
        np.concatenate([grad, -grad, np.full(p, lam), [0.0]]),
        sparse.bmat(rows).tocsc(),
        np.concatenate([np.zeros(1 + 2 * p), -coef, coef]),
        [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(4 * p)],
        settings,
    )
    found = np.array(solver.solve().x)
    return found[:p] - found[p : 2 * p]


def own_step(coef, grad, lam, smoothness):
    """The compiled step, and the number of moves it proposes."""
    features, values = propose(coef, grad, lam, smoothness)
    after = coef.copy()
    for i, value in zip(features, values, strict=True):
        after[i] = value
    return after - coef, len(features)


def drawn(rng):
    """A point, gradient, penalty and smoothness, of all kinds: see the counts in the test."""
    p = int(rng.integers(1, 13))
    coef = rng.standard_normal(p) * rng.choice([0.05, 0.3, 2.0], p)
    coef[rng.permutation(p)[: rng.integers(0, p + 1)]] = 0.0
    grad = rng.standard_normal(p) * rng.choice([0.1, 1.0])
    return coef, grad, float(rng.choice([0.0, 0.05, 0.5, 5.0])), float(rng.choice([0.3, 1.0, 10.0]))


def test_every_step_minimises_the_model_of_a_conic_solver():
    rng = np.random.default_rng(0)
    kinds = {"none": 0, "inner": 0, "kink": 0, "outward": 0, "several": 0}
    for _ in range(600):
        coef, grad, lam, smoothness = drawn(rng)
        step, moved = own_step(coef, grad, lam, smoothness)
        theirs = conic_step(coef, grad, lam, smoothness)
        own_value = model(step, coef, grad, lam, smoothness)
        their_value = model(theirs, coef, grad, lam, smoothness)
        scale = max(1.0, abs(own_value))
        assert own_value <= their_value + 1e-12 * scale
        assert own_value == pytest.approx(their_value, abs=1e-9 * scale)
        after = coef + step
        gone = np.count_nonzero((coef != 0) & (after == 0))
        changed = np.count_nonzero(step)
        kinds["none"] += moved == 0
        kinds["several"] += gone > 1
        kinds["inner"] += changed > 0 and gone == changed
        kinds["outward"] += (np.abs(after) > np.abs(coef)).any()
        kinds["kink"] += ((np.abs(after) < np.abs(coef)) & (after != 0)).any()
    assert min(kinds.values()) > 20, kinds


def test_steps_are_optimal_at_ties_and_through_zero():
    # Equal rates; a coefficient that is removed and goes on to the other side; exact removal.
    cases = [
        ([1.0, 1.0], [1.0, 1.0], 0.5, 1.0),
        ([0.1, 0.0], [3.0, 3.0], 0.5, 1.0),
        ([0.1], [3.0], 0.5, 1.0),
        ([0.5, -0.2], [1.0, -1.0], 0.0, 2.0),
        ([-0.5, 0.5], [0.0, 0.0], 1.0, 1.0),
        ([0.0, 0.0], [1.0, -1.0], 1.0, 1.0),
        ([1.0, 2.0, 3.0], [0.0, 0.0, 0.0], 5.0, 0.1),
    ]
    for coef, grad, lam, smoothness in cases:
        coef, grad = np.array(coef), np.array(grad)
        step, _ = own_step(coef, grad, lam, smoothness)
        theirs = conic_step(coef, grad, lam, smoothness)
        assert model(step, coef, grad, lam, smoothness) == pytest.approx(
            model(theirs, coef, grad, lam, smoothness), abs=1e-9
        )


def test_every_iterate_follows_from_the_last_by_the_conic_step():
    problem, lam = one_task(1, 20, 12, start=True), 0.3
    smoothness = smoothness_l1(problem)
    iteration = rmp(problem, lam=lam)
    before = iteration.coef
    for k in range(1, 80):
        iteration.advance(k)
        step = iteration.coef - before
        grad = gradient(problem, before)
        theirs = conic_step(before, grad, lam, smoothness)
        values = [model(b, before, grad, lam, smoothness) for b in (step, theirs)]
        assert values[0] == pytest.approx(values[1], abs=1e-9)
        before = iteration.coef


@pytest.mark.parametrize("shape", [(50, 30), (50, 500), (10, 2100)])
@pytest.mark.parametrize("lam", [0.001, 0.2])
def test_a_plain_loop_of_steps_gives_every_iterate(shape, lam):
    problem = one_task(sum(shape), *shape, start=True)
    smoothness = smoothness_l1(problem)
    path = iterates(
        problem, lambda coef, grad: coef + own_step(coef, grad, lam, smoothness)[0], 300
    )
    assert greatest_difference(rmp(problem, lam=lam), path) < 1e-11


@pytest.mark.parametrize("shape", [(50, 30), (50, 500), (20, 50)])
@pytest.mark.parametrize("lam", [0.001, 0.07, 0.2])
def test_from_zero_it_is_coordinate_descent_until_two_coordinates_move_at_once(shape, lam):
    # A step that removes a coefficient and has length left moves another; coordinate descent
    # cannot. No step before differs, and this one lowers the common upper bound further.
    for seed in range(4):
        problem = one_task(seed, *shape)
        pursuit = rmp(problem, lam=lam)
        descent = proximal_gs_coordinate_descent(problem, lam=lam, smoothness="l1")
        before = pursuit.coef
        for k in range(1, 500):
            pursuit.advance(k)
            descent.advance(k)
            step = pursuit.coef - before
            if np.count_nonzero(step) > 1:
                data = (before, gradient(problem, before), lam, smoothness_l1(problem))
                assert (before[step != 0] == -step[step != 0]).any()
                assert model(step, *data) < model(descent.coef - before, *data)
                break
            if np.abs(step).max() < 1e-6:
                break  # from here on it is rounding that decides which of two is the larger
            assert_close(pursuit.coef, descent.coef, abs=1e-11)
            before = pursuit.coef
        assert k > 20


def test_from_elsewhere_it_is_not():
    problem = one_task(0, 50, 30, start=True)
    pursuit = rmp(problem, lam=0.001)
    descent = proximal_gs_coordinate_descent(problem, lam=0.001, smoothness="l1")
    apart = []
    for k in range(1, 300):
        pursuit.advance(k)
        descent.advance(k)
        apart.append(np.abs(pursuit.coef - descent.coef).max())
    assert max(apart) > 1e-3
