"""Statements of Moucer, Taylor & Bach (2024) on the ultimate method and its inner loops."""

from itertools import pairwise

import cvxpy as cp
import numpy as np
import pytest
import scipy
from descent_oracles import gradient, one_task, smoothness_l1, value
from geometry_oracles import curvature_by_hull, estimates, gauge

from greedyexp.algorithms.matching_pursuit.coordinate_descent import rmp
from greedyexp.algorithms.matching_pursuit.ultimate import ultimate, ultimate_alternating
from greedyexp.kernels.ultimate_inner import InnerLoop
from greedyexp.problems.problem import as_problem
from greedyexp.protocols.trajectory._optimum import optimum


def test_the_ultimate_method_adds_several_atoms_and_leaves_rmp():
    for seed in range(3):
        problem = one_task(seed, 50, 500)
        own, pursued = (estimates(method(problem, lam=0.2), 60) for method in (ultimate, rmp))
        apart = [np.abs(a - b).max() > 1e-6 for a, b in zip(own, pursued, strict=True)]
        # "About 30" in Section 3.4.
        assert 10 < np.argmax(apart) < 50
        new = [np.count_nonzero((b != 0) & (a == 0)) for a, b in pairwise(own)]
        assert max(new[: np.argmax(apart) - 1]) == 1
        assert max(new) > 1
        values = [value(problem, a, 0.2) for a in (own[-1], pursued[-1])]
        assert values[0] < values[1]


def test_proposition_20_is_about_the_objective_with_its_penalty():
    # Printed with f alone, whose minimum 0 is at a = 2; the method goes to a = 1.
    problem, lam = as_problem(np.ones((2, 1)), np.array([2.0, 2.0])), 1.0
    path = estimates(ultimate(problem, lam=lam), 5)
    rate = 1 - 1.0 / smoothness_l1(problem)
    for a in path[1:]:
        assert value(problem, a, 0.0) > rate * value(problem, path[0], 0.0) + 0.4
        assert value(problem, a, lam) == pytest.approx(1.5)


@pytest.mark.parametrize("rounds", [3, 30])
@pytest.mark.parametrize("lam", [0.01, 0.2])
def test_inexact_steps_keep_theorem_33_with_the_errors_that_they_make(rounds, lam):
    # With f for the whole objective, and errors of at most epsilon.
    problem = one_task(9, 3, 8)
    P, L = problem.X[0], smoothness_l1(problem)
    rate = 1 - curvature_by_hull(P) / L
    run = ultimate_alternating(problem, lam=lam, inner_iterations=rounds, inner_growth=1.0)
    path, best = estimates(run, 12), optimum(problem, lam).value
    bound = value(problem, path[0], lam) - best
    errors = []
    for a, after in pairwise(path):
        g = gradient(problem, a)
        move, rest = cp.Variable(8), cp.Variable(8)
        model = g @ move + L / 2 * cp.square(cp.norm1(move)) + lam * cp.norm1(rest)
        least = cp.Problem(cp.Minimize(model), [P @ (a + move) == P @ rest])
        exact = least.solve(solver="CLARABEL")
        length = gauge(P, P @ (after - a))
        made = g @ (after - a) + L / 2 * length**2 + lam * np.abs(after).sum()
        errors.append(made - exact)
        gap = value(problem, a, lam) - best
        after_gap = value(problem, after, lam) - best
        assert after_gap <= rate * gap + errors[-1] + 1e-7
        bound = rate * bound + errors[-1]
        assert after_gap <= bound + 1e-6
    assert max(errors) > 1e-4


def test_sums_of_inner_errors_after_theorem_33():
    rate, k = 0.9, 400

    def collected(error):
        total = 0.0
        for i in range(1, k + 1):
            total = rate * total + error(i)
        return total

    assert collected(lambda i: 0.3) == pytest.approx(0.3 / (1 - rate))
    # Errors that fall at the rate of the method add a factor k; faster ones keep the rate.
    assert collected(lambda i: rate**i) == pytest.approx(k * rate**k)
    assert collected(lambda i: rate ** (2 * i)) == pytest.approx(rate**k * rate / (1 - rate))
    # With errors of 1 / i the gap falls as 1 / k.
    assert collected(lambda i: 1 / i) == pytest.approx(1 / k / (1 - rate), rel=0.1)


class Blocks:
    """AR-BCD of Appendix F.1 in numpy, with absolute values smoothed by e."""

    def __init__(self, P, a, g, lam, L, e):
        self.Q, self.a, self.g, self.lam, self.L, self.e = (
            scipy.linalg.null_space(P),
            a,
            g,
            lam,
            L,
            e,
        )
        self.eta, self.z = a.copy(), np.zeros(self.Q.shape[1])
        self.weigh()

    def weigh(self):
        size = np.sqrt((self.eta + self.Q @ self.z - self.a) ** 2 + self.e**2)
        self.gamma, self.theta = size / size.sum(), np.sqrt(self.eta**2 + self.e**2)

    def round(self, eta):
        rest = self.Q @ self.z
        if eta:
            scale = self.L / self.gamma + self.lam / self.theta
            self.eta = (self.L / self.gamma * (self.a - rest) - self.g) / scale
        else:
            weighted = self.Q / self.gamma[:, None]
            self.z = np.linalg.solve(self.Q.T @ weighted, weighted.T @ (self.a - self.eta))
        self.weigh()

    def value(self):
        u = self.eta + self.Q @ self.z - self.a
        norm = ((self.eta**2 + self.e**2) / self.theta + self.theta).sum() / 2
        square = ((u**2 + self.e**2) / self.gamma).sum()
        return self.g @ (self.eta - self.a) + self.L / 2 * square + self.lam * norm

    def largest(self):
        """The largest curvatures of the value in eta and in z."""
        weighted = self.Q.T @ (self.Q * (self.L / self.gamma)[:, None])
        eta = (self.L / self.gamma + self.lam / self.theta).max()
        return np.array([eta, np.linalg.eigvalsh(weighted)[-1]])


def inner_problem():
    problem = one_task(10, 3, 7)
    a = estimates(rmp(problem, lam=0.1), 6)[-1]
    return problem.X[0], a, gradient(problem, a), 0.1, smoothness_l1(problem)


def test_block_descent_keeps_the_bound_behind_theorem_34():
    # The mean value is at most 2 sum_i L_i R_i^2 / p_i / k above the least, where L_i and R_i are
    # the curvatures and distances met; the weights, which have no smoothness, do not count.
    data, e, count, trials = inner_problem(), 0.2, 60, 40
    settled = Blocks(*data, e)
    for _ in range(1500):
        settled.round(True), settled.round(False)
    rng = np.random.default_rng(11)
    means, curved, away = np.zeros(count), np.zeros(2), np.zeros(2)
    for _ in range(trials):
        run = Blocks(*data, e)
        for k in range(count):
            curved = np.maximum(curved, run.largest())
            eta, z = run.eta - settled.eta, run.z - settled.z
            away = np.maximum(away, [eta @ eta, z @ z])
            run.round(rng.random() < 0.5)
            means[k] += (run.value() - settled.value()) / trials
    assert (means >= -1e-9).all()
    assert (np.diff(means) <= 1e-12).all()
    assert (means <= 2 * (curved * away / 0.5).sum() / np.arange(1, count + 1)).all()
    # The compiled loop makes the same rounds.
    P, a, g, lam, L = data
    choices = np.random.default_rng(12).random(30) < 0.5
    own, plain = InnerLoop(P.T, a, g, lam, L, e), Blocks(*data, e)
    plain.gamma, plain.theta = own.state.gamma.copy(), own.state.theta.copy()
    _, values = own.random_blocks(choices)
    for choice, found in zip(choices, values, strict=True):
        plain.round(choice)
        assert plain.value() == pytest.approx(found, rel=1e-9)


def test_printed_weights_hold_coefficients_at_zero():
    # Appendix F.1 has theta = |eta| and calls G smooth in eta. Its curvature there is lam / theta:
    # no constant bounds it, and from a = 0, where runs start, no round moves eta.
    P, _, _, lam, L = inner_problem()
    g = -P.T @ np.array([3.0, -1.0, 2.0]) / 3
    assert lam < np.abs(g).max()
    with np.errstate(divide="ignore", invalid="ignore"):
        printed = Blocks(P, np.zeros(7), g, lam, L, 0.0)
        printed.gamma = np.full(7, 1 / 7)
        printed.round(True)
    assert not printed.eta.any()
    for e in (1e-3, 1e-6):
        smoothed = Blocks(P, np.zeros(7), g, lam, L, e)
        assert smoothed.largest()[0] >= lam / e
        for _ in range(50):
            smoothed.round(True), smoothed.round(False)
        assert np.abs(smoothed.eta).max() > 0.1


def test_the_function_of_appendix_f2_is_convex_and_has_a_kink():
    P, a, g, lam, L = inner_problem()
    Q, rng = scipy.linalg.null_space(P), np.random.default_rng(13)

    def F(eta, z, gamma):
        u = eta + Q @ z - a
        return g @ (eta - a) + L / 2 * (u**2 / gamma).sum() + lam * np.abs(eta).sum()

    for _ in range(300):
        one, other = (
            (rng.standard_normal(7), rng.standard_normal(4), rng.dirichlet(np.ones(7)))
            for _ in range(2)
        )
        middle = [(x + y) / 2 for x, y in zip(one, other, strict=True)]
        assert F(*middle) <= (F(*one) + F(*other)) / 2 + 1e-9
    # Remark 35: smooth in z, not in eta.
    z, gamma, step, unit = np.zeros(4), np.full(7, 1 / 7), 1e-6, np.eye(7)[2]
    sides = [(F(s * step * unit, z, gamma) - F(0 * unit, z, gamma)) / step for s in (1, -1)]
    assert sum(sides) == pytest.approx(2 * lam, rel=1e-3)
    along = [F(a, s * 1e-4 * np.eye(4)[0], gamma) - F(a, z, gamma) for s in (1, -1)]
    assert sum(along) == pytest.approx(L * 1e-8 * (Q[:, 0] ** 2 * 7).sum(), rel=1e-3)


def test_decreases_of_appendix_e_are_those_of_the_model():
    # Atoms come with both signs, so coefficients are not negative.
    rng = np.random.default_rng(14)
    for _ in range(200):
        g, lam, L = rng.standard_normal(), rng.random(), rng.random() + 0.3
        a = rng.random() * rng.integers(0, 2)

        def model(u, g=g, lam=lam, L=L, a=a):
            return g * u + L / 2 * u**2 + lam * (u + a)

        found = scipy.optimize.minimize_scalar(
            model, bounds=(-a, 10), method="bounded", options={"xatol": 1e-10}
        )
        decrease = lam * a - min(found.fun, model(-a))
        visited = (g + lam) ** 2 - max(g + lam - L * a, 0) ** 2
        assert decrease == pytest.approx(visited / (2 * L), abs=1e-8)
        if a == 0:
            assert decrease == pytest.approx(max(-g - lam, 0) ** 2 / (2 * L), abs=1e-8)
        assert model(max(a - (g + lam) / L, 0) - a) == pytest.approx(lam * a - decrease, abs=1e-8)
