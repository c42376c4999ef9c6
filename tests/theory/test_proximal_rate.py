"""The proximal gradient rate in objective values, by performance estimation."""

import cvxpy as cp
import numpy as np
import pytest


@pytest.mark.parametrize("mu", [0.05, 0.4])
def test_worst_decrease_of_the_objective_is_the_square(mu):
    """max G(a_1) - G* over all problems with G(a_0) - G* <= 1 is (1 - mu / L)^2, here L = 1.

    The smooth part is L-smooth and mu-strongly convex, the other convex; interpolation conditions
    of Taylor, Hendrickx & Glineur make it a semidefinite programme over Gram matrices.
    """

    x0, g0, g1, g_best, s1, s0 = np.eye(6)
    best, x1 = np.zeros(6), x0 - g0 - s1
    gram, values = cp.Variable((6, 6), PSD=True), cp.Variable(6)

    def inner(a, b):
        return cp.sum(cp.multiply((np.outer(a, b) + np.outer(b, a)) / 2, gram))

    smooth = [(x0, g0, values[0]), (x1, g1, values[1]), (best, g_best, values[2])]
    other = [(x0, s0, values[3]), (x1, s1, values[4]), (best, -g_best, values[5])]
    rules = [values[0] + values[3] - values[2] - values[5] <= 1]
    for i in range(3):
        for j in set(range(3)) - {i}:
            (xi, gi, fi), (xj, gj, fj) = smooth[i], smooth[j]
            dx, dg = xi - xj, gi - gj
            curved = inner(dg, dg) + mu * inner(dx, dx) - 2 * mu * inner(dg, dx)
            rules.append(fi >= fj + inner(gj, dx) + curved / (2 * (1 - mu)))
            (xi, _, hi), (xj, sj, hj) = other[i], other[j]
            rules.append(hi >= hj + inner(sj, xi - xj))
    left = values[1] + values[4] - values[2] - values[5]
    worst = cp.Problem(cp.Maximize(left), rules).solve(solver="CLARABEL")
    assert worst == pytest.approx((1 - mu) ** 2, rel=1e-5)
