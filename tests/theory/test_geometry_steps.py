"""Statements of Moucer, Taylor & Bach (2024) on the step of regularised matching pursuit."""

from itertools import pairwise

import numpy as np
import pytest
import scipy
from descent_oracles import gradient, one_task
from geometry_oracles import algorithm_one, estimates, model_of_a_step

from greedyexp.algorithms.matching_pursuit.coordinate_descent import rmp
from greedyexp.kernels.coordinate_descent import propose


def drawn_step(rng):
    """A point, a gradient, a weight and a smoothness."""
    p = int(rng.integers(1, 9))
    a = rng.standard_normal(p) * rng.choice([0.05, 0.3, 2.0], p) * (rng.random(p) > 0.3)
    g = rng.standard_normal(p) * rng.choice([0.1, 1.0])
    return a, g, float(rng.choice([0.05, 0.5, 5.0])), float(rng.choice([0.3, 1.0, 10.0]))


def exact_step(a, g, lam, L):
    after = a.copy()
    for i, moved in zip(*propose(a, g, lam, L), strict=True):
        after[i] = moved
    return after - a


def dual_of_a_step(z, a, g, lam, L):
    """h of Lemma 13."""
    active = a != 0
    linear = np.abs(a[active]) * z - g[active] * a[active]
    return -(z**2) / (2 * L) + np.minimum(lam * np.abs(a[active]), linear).sum()


def test_lemma_13_has_the_value_of_the_step():
    rng = np.random.default_rng(0)
    for _ in range(200):
        a, g, lam, L = drawn_step(rng)
        b = exact_step(a, g, lam, L)
        z_min = max(np.abs(g).max() - lam, 0)
        far = z_min + L * np.abs(b).sum() + 1
        found = scipy.optimize.minimize_scalar(
            lambda z, data=(a, g, lam, L): -dual_of_a_step(z, *data),
            bounds=(z_min, far),
            method="bounded",
            options={"xatol": 1e-10},
        )
        best = max(-found.fun, dual_of_a_step(z_min, a, g, lam, L))
        assert model_of_a_step(b, a, g, lam, L) == pytest.approx(best, abs=1e-7 * max(1, L))
        z = L * np.abs(b).sum()
        assert z >= z_min - 1e-12
        assert dual_of_a_step(z, a, g, lam, L) == pytest.approx(best, abs=1e-7 * max(1, L))


def test_algorithm_one_has_its_last_index_one_too_low():
    rng = np.random.default_rng(1)
    worse = undefined = 0
    for _ in range(600):
        a, g, lam, L = drawn_step(rng)
        least = model_of_a_step(exact_step(a, g, lam, L), a, g, lam, L)
        mended = algorithm_one(a, g, lam, L, mended=True)
        assert model_of_a_step(mended, a, g, lam, L) == pytest.approx(least, abs=1e-10)
        printed = algorithm_one(a, g, lam, L, mended=False)
        undefined += printed is None
        worse += printed is not None and model_of_a_step(printed, a, g, lam, L) > least + 1e-6
    assert worse > 20
    assert undefined > 20


def test_in_the_last_case_of_lemma_16_z_is_the_last_kink():
    # Printed: z* is above all z_i. There the slope of h is -z / L, so z* would be their maximum.
    a, g, lam, L = np.array([10.0]), np.array([0.5]), 1.0, 1.0
    kink = lam + g[0]
    b = exact_step(a, g, lam, L)
    assert L * np.abs(b).sum() == pytest.approx(kink)
    assert b[0] == pytest.approx(-kink / L)
    above = kink + np.linspace(0, 3, 100)
    assert np.argmax([dual_of_a_step(z, a, g, lam, L) for z in above]) == 0


@pytest.mark.parametrize("lam", [0.01, 0.05, 0.2])
def test_a_step_of_rmp_does_one_of_three_things(lam):
    # At most one atom is new or changed; others go to zero, if 2 lam allows it (Section 3.3).
    problem = one_task(5, 20, 80, start=True)
    path = estimates(rmp(problem, lam=lam), 1500)
    gone = 0
    for a, after in pairwise(path):
        g = gradient(problem, a)
        assert np.count_nonzero((a == 0) & (after != 0)) <= 1
        assert np.count_nonzero((a != after) & (after != 0)) <= 1
        removed = (a != 0) & (after == 0)
        gone += removed.sum()
        assert (np.abs(g).max() - np.sign(a[removed]) * g[removed] <= 2 * lam + 1e-9).all()
        added = (a == 0) & (after != 0)
        assert (np.abs(g[added]) >= np.abs(g).max() * (1 - 1e-9)).all()
    assert gone > 5
