"""The transition of l1 minimisation against its parametric form, cones and linear programs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog, minimize_scalar
from scipy.stats import norm

from greedyexp.theory.donoho_tanner import donoho_tanner


@pytest.mark.parametrize("a", [0.01, 0.1, 0.5, 1.0, 2.0, 3.0, 4.0])
def test_the_parametric_form_of_message_passing(a):
    """Donoho, Maleki & Montanari (2009): delta and rho by the threshold of the state evolution."""
    tail = norm.pdf(a) - a * norm.cdf(-a)
    delta = 2 * norm.pdf(a) / (a + 2 * tail)
    rho = 1 - a * norm.cdf(-a) / norm.pdf(a)
    assert donoho_tanner(rho * delta) == pytest.approx(delta, rel=1e-9)


@pytest.mark.parametrize(("sparsity", "seed"), [(0.05, 1), (0.3, 2), (0.8, 3)])
def test_the_statistical_dimension_of_the_descent_cone(sparsity, seed):
    """The mean squared distance of a Gaussian vector to the multiples of the subdifferential."""
    p = 4000
    s = round(sparsity * p)
    g = np.random.default_rng(seed).standard_normal(p)

    def squared_distance(tau):
        beyond = np.maximum(np.abs(g[s:]) - tau, 0.0)
        return np.sum((g[:s] - tau) ** 2) + np.sum(beyond**2)

    nearest = minimize_scalar(squared_distance, bounds=(0, 10), method="bounded").fun
    assert donoho_tanner(sparsity) == pytest.approx(nearest / p, abs=0.04)


def test_linear_programs_succeed_above_the_curve_and_fail_below_it():
    rng, p, s = np.random.default_rng(5), 120, 24
    at = float(donoho_tanner(s / p)) * p
    for n, wanted in ((round(at + 20), True), (round(at - 20), False)):
        found = []
        for _ in range(4):
            X = rng.standard_normal((n, p))
            truth = np.zeros(p)
            truth[:s] = rng.choice([-1.0, 1.0], s)
            # b = u - v with u, v >= 0.
            done = linprog(np.ones(2 * p), A_eq=np.hstack([X, -X]), b_eq=X @ truth)
            found.append(np.allclose(done.x[:p] - done.x[p:], truth, atol=1e-6))
        assert found == [wanted] * 4


def test_ends_and_impossible_values():
    assert donoho_tanner([0.0, 1.0]).tolist() == [0.0, 1.0]
    assert np.isnan(donoho_tanner([-0.1, 1.1, np.nan])).all()
    curve = donoho_tanner(np.linspace(1e-6, 1 - 1e-4, 101))
    assert (np.diff(curve) > 0).all()
    assert ((curve > 0) & (curve < 1)).all()


@pytest.mark.parametrize("sparsity", [1e-10, 1e-30, 1e-100, 1e-300])
def test_few_nonzeros_need_two_logarithms_each(sparsity):
    # Donoho & Tanner (2009): n ~ 2 s log(p / n) as s / p tends to 0.
    ratio = float(donoho_tanner(sparsity))
    assert ratio == pytest.approx(2 * sparsity * np.log(1 / ratio), rel=2 / np.log(1 / sparsity))
