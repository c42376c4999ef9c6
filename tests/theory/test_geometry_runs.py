"""Statements of Moucer, Taylor & Bach (2024) on steps and runs, on every step of runs."""

from itertools import pairwise

import cvxpy as cp
import numpy as np
import pytest
from descent_oracles import gradient, one_task, smoothness_l1, smoothness_l2, value
from geometry_oracles import (
    curvature_by_hull,
    curvature_by_signs,
    estimates,
    gauge,
    smoothness,
)

from greedyexp.algorithms.matching_pursuit.coordinate_descent import (
    gs_coordinate_descent,
    proximal_gs_coordinate_descent,
    rmp,
)
from greedyexp.algorithms.matching_pursuit.gradient_descent import (
    gradient_descent,
    proximal_gradient,
)
from greedyexp.problems.problem import as_problem
from greedyexp.protocols.trajectory._optimum import optimum
from greedyexp.theory.convergence_rates import proximal_gradient as bound_of_proximal_gradient


def gaps_at(iteration, marks, best):
    found = []
    for k in marks:
        iteration.advance(k)
        found.append(iteration.objective - best)
    return np.array(found)


def exact_curvature(P):
    return curvature_by_signs(P) if P.shape[1] <= len(P) else curvature_by_hull(P)


SHAPES = [(8, 5), (5, 5), (3, 8), (2, 12)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("method", [gradient_descent, gs_coordinate_descent])
def test_every_step_without_a_penalty_contracts_the_gap(shape, method):
    # Propositions 4 and 7 and the lines of Appendix B, step by step.
    for seed in range(4):
        problem = one_task(seed, *shape, start=seed % 2 == 1)
        P, y = problem.X[0], problem.y[0]
        if method is gradient_descent:
            L, norm = smoothness_l2(problem), 2
            curved = np.linalg.svd(P, compute_uv=False)[-1] ** 2 / len(P)
        else:
            L, norm, curved = smoothness_l1(problem), np.inf, exact_curvature(P)
        least = value(problem, np.linalg.lstsq(P, y, rcond=None)[0], 0.0)
        path = estimates(method(problem), 60)
        values = np.array([value(problem, a, 0.0) for a in path])
        falls = [np.linalg.norm(gradient(problem, a), norm) ** 2 / (2 * L) for a in path[:-1]]
        noise = 1e-14 * values[0]
        assert 0 < curved <= L
        assert (values[1:] <= values[:-1] - falls + noise).all()
        assert (values[1:] - least <= (1 - curved / L) * (values[:-1] - least) + noise).all()


def test_the_coordinate_step_minimises_the_bound_in_the_l1_norm():
    # Equations 9 and 10: the least value is -||grad||_inf^2 / (2 L1), and F lies below the bound.
    problem = one_task(3, 12, 7, start=True)
    L, (a, after) = smoothness_l1(problem), estimates(gs_coordinate_descent(problem), 1)
    g = gradient(problem, a)

    def bound(b):
        return value(problem, a, 0.0) + g @ b + L / 2 * np.abs(b).sum() ** 2

    move = cp.Variable(7)
    least = cp.Problem(cp.Minimize(g @ move + L / 2 * cp.norm1(move) ** 2)).solve(solver="CLARABEL")
    assert bound(after - a) == pytest.approx(value(problem, a, 0.0) + least, abs=1e-7)
    assert least == pytest.approx(-(np.abs(g).max() ** 2) / (2 * L), rel=1e-5)
    for b in np.random.default_rng(0).standard_normal((200, 7)):
        assert value(problem, a + b, 0.0) <= bound(b) + 1e-12


def test_equation_eight_lacks_one_over_n():
    problem = one_task(4, 10, 4)
    P, y = problem.X[0], problem.y[0]
    printed = P.T @ y / smoothness_l2(problem)
    _, right = estimates(gradient_descent(problem), 1)
    assert right == pytest.approx(printed / 10)
    assert (
        value(problem, printed, 0.0) > value(problem, np.zeros(4), 0.0) > value(problem, right, 0)
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_coordinate_descent_is_matching_pursuit_among_samples(shape):
    # Equation 11, with the atoms P and -P and no coefficient.
    problem = one_task(sum(shape), *shape)
    P, y, L = problem.X[0], problem.y[0], smoothness_l1(problem)
    atoms, x = np.concatenate([P, -P], axis=1), np.zeros(len(P))
    for a in estimates(gs_coordinate_descent(problem), 40):
        assert P @ a == pytest.approx(x, abs=1e-10)
        slope = (x - y) / len(y)
        atom = atoms[:, (slope @ atoms).argmin()]
        x = x - slope @ atom / L * atom


def test_the_oracle_of_section_2_4_needs_both_signs():
    # Printed: the least of grad F^T e_i over i = 1, ..., d. The steepest coordinate may go down.
    g = np.array([-1.0, 3.0])
    assert (g @ np.eye(2)).argmin() == 0
    assert np.abs(g).argmax() == 1
    assert (g @ np.concatenate([np.eye(2), -np.eye(2)], axis=1)).argmin() == 2 + 1


@pytest.mark.parametrize("shape", SHAPES)
def test_matching_pursuit_falls_at_a_sublinear_rate(shape):
    # Theorem 32 and the lines of its proof. With n samples of rank n, f* = 0 at x = y, and the
    # level set is a ball, whose largest gauge is its radius divided by the inradius of the atoms.
    problem = one_task(sum(shape) + 1, *shape)
    P, y, L = problem.X[0], problem.y[0], smoothness_l1(problem)
    if shape[1] < shape[0]:
        P = np.linalg.qr(P)[1] * np.sqrt(shape[1] / shape[0])
        y = np.random.default_rng(0).standard_normal(shape[1])
        problem, L = as_problem(P, y), smoothness(P)
    n = len(y)
    radius2 = y @ y / (n * curvature_by_hull(P))
    path = estimates(gs_coordinate_descent(problem), 40)
    gaps = np.array([value(problem, a, 0.0) for a in path])
    for k, a in enumerate(path[:-1]):
        steepest = np.abs(gradient(problem, a)).max()
        assert gaps[k] <= gauge(P, P @ a - y) * steepest + 1e-12
        assert gaps[k + 1] <= gaps[k] - steepest**2 / (2 * L) + 1e-14
        assert gaps[k + 1] <= 2 * L * radius2 / (k + 1)
    assert gauge(P, y) ** 2 <= radius2 * (1 + 1e-9)


@pytest.mark.parametrize("x", [1e-4, 0.01, 0.5, 1.0])
def test_the_linear_bound_is_below_the_sublinear_one(x):
    # Appendix D.2, for least squares and x = mu1L / L1: R^2 in Theorem 32 is 2 f(0) / mu1L. The
    # linear bound is at most a tenth of the other.
    k = np.arange(1, 20_000)
    assert ((1 - x) ** k <= 4 / (x * k) / 10).all()


def lasso_run(method, problem, lam, count, **parameters):
    """Gaps of a run and the l1 distances of its estimates from the minimiser."""
    best = optimum(problem, lam)
    path = estimates(method(problem, lam=lam, **parameters), count)
    gaps = np.array([value(problem, a, lam) - best.value for a in path])
    return gaps, np.array([np.abs(a - best.coef).sum() for a in path])


@pytest.mark.parametrize("shape", [(8, 5), (5, 5), (20, 8)])
@pytest.mark.parametrize("lam", [0.003, 0.1, 1.0])
def test_every_step_of_rmp_contracts_as_proposition_17_says(shape, lam):
    for seed in range(4):
        problem = one_task(seed, *shape, start=seed % 2 == 1)
        gaps, _ = lasso_run(rmp, problem, lam, 60)
        rate = 1 - curvature_by_signs(problem.X[0]) / smoothness_l1(problem)
        assert (gaps[1:] <= rate * gaps[:-1] + 1e-13 * (1 + gaps[0])).all()


@pytest.mark.parametrize("shape", [(8, 5), (6, 15), (10, 60)])
@pytest.mark.parametrize("lam", [0.003, 0.1, 1.0])
def test_every_step_of_rmp_falls_as_the_proof_of_proposition_18_says(shape, lam):
    for seed in range(3):
        problem = one_task(seed, *shape, start=seed % 2 == 1)
        gaps, away = lasso_run(rmp, problem, lam, 80)
        L, noise = smoothness_l1(problem), 1e-13 * (1 + gaps[0])
        moved = (gaps[:-1] > 1e-10) & (away[:-1] > 1e-6)
        share = 1 - gaps[:-1][moved] / (2 * L * away[:-1][moved] ** 2)
        limit = np.maximum(share, 0.5) * gaps[:-1][moved]
        assert (gaps[1:][moved] <= limit + noise).all()
        # The radius is at least the distances met; the bound holds with them.
        later = np.arange(1, 81)
        assert (gaps[1:] <= 2 * L * away.max() ** 2 / (later + 1) + noise).all()


@pytest.mark.parametrize("shape", [(8, 5), (20, 8)])
def test_proximal_coordinate_descent_is_no_slower_than_random_choices(shape):
    lam = 0.05
    for seed in range(4):
        problem = one_task(seed, *shape, start=seed % 2 == 1)
        P, p, L = problem.X[0], shape[1], smoothness_l2(problem)
        smallest = np.linalg.svd(P, compute_uv=False)[-1] ** 2 / len(P)
        gaps, _ = lasso_run(proximal_gs_coordinate_descent, problem, lam, 60, smoothness="l2")
        assert (gaps[1:] <= (1 - smallest / (p * L)) * gaps[:-1] + 1e-13 * (1 + gaps[0])).all()
        path = estimates(proximal_gs_coordinate_descent(problem, lam=lam, smoothness="l2"), 20)
        for a, after in pairwise(path):
            at = a - gradient(problem, a) / L
            each = np.sign(at) * np.maximum(np.abs(at) - lam / L, 0)
            moves = np.tile(a, (p, 1))
            np.fill_diagonal(moves, each)

            g = gradient(problem, a)

            def model(b, a=a, g=g, L=L):
                away = b - a
                return g @ away + L / 2 * away @ away + lam * np.abs(b).sum()

            assert model(after) <= np.mean([model(b) for b in moves]) + 1e-12
        # Section 3.2.1 compares this rate with that of RMP.
        assert smallest / (p * L) <= curvature_by_signs(P) / smoothness_l1(problem)


def test_rmp_tends_to_coordinate_descent_as_the_weight_falls():
    problem = one_task(6, 50, 500)
    plain = np.array(estimates(gs_coordinate_descent(problem), 150))
    lams = (1e-3, 1e-5, 1e-7)
    away = [np.abs(np.array(estimates(rmp(problem, lam=w), 150)) - plain).max() for w in lams]
    # As fast as the weight itself.
    assert (np.array(away) < 100 * np.array(lams)).all()
    assert away[2] < 0.02 * away[1] < 0.02 * 0.02 * away[0] * 4
    # The gap of both falls linearly: parallel lines in Figure 5.
    best = optimum(problem, 1e-7).value
    marks = [0, 50, 100, 150]
    pursued = gaps_at(rmp(problem, lam=1e-7), marks, best)
    free = gaps_at(gs_coordinate_descent(problem), marks, 0.0)
    assert pursued == pytest.approx(free, rel=0.05, abs=1e-6)


def test_the_end_of_rmp_is_linear_for_few_features_and_not_for_many():
    # In 400 iterations a linear rate takes a part of the gap away that does not get smaller.
    marks = np.arange(400, 3201, 400)
    for seed in range(4):
        few, many = (one_task(seed, 50, p) for p in (30, 500))
        linear = gaps_at(rmp(few, lam=0.001), marks, optimum(few, 0.001).value)
        stuck = gaps_at(rmp(many, lam=0.001), marks, optimum(many, 0.001).value)
        open_ = linear[:-1] > 1e-12
        assert open_.sum() >= 2
        assert (linear[1:] < 0.3 * linear[:-1])[open_].all()
        assert (stuck[1:] > 0.9 * stuck[:-1]).all()


def test_the_accuracy_at_which_rmp_is_stuck_depends_on_the_optimum():
    # Section 3.2.1: "an accuracy of about 1e-5" after the 500 iterations of Figure 3. The least
    # value among 600 iterations gives it; the gap itself is much larger.
    for seed in range(4):
        problem = one_task(seed, 50, 500)
        pursuit, best = rmp(problem, lam=0.001), optimum(problem, 0.001).value
        pursuit.advance(500)
        reached = pursuit.objective
        pursuit.advance(600)
        assert 1e-6 < reached - pursuit.objective < 3e-5
        assert reached - best > 3e-4
        # The support of the iterates is larger than n, that of the solution is not.
        pursuit.advance(5000)
        assert np.count_nonzero(pursuit.coef) > 50 >= np.count_nonzero(optimum(problem, 0.001).coef)


def identified(iteration, inside, count, stride):
    """The last of the iterations looked at whose support is not that of the minimiser."""
    last = 0
    for k in range(0, count, stride):
        iteration.advance(k)
        if not np.array_equal(iteration.coef != 0, inside):
            last = k
    return last


@pytest.mark.parametrize(("method", "stride"), [(proximal_gradient, 20), (rmp, 4)])
def test_larger_weights_identify_the_support_sooner(method, stride):
    lams = (0.1, 0.2, 0.4, 0.8)
    times = np.zeros((3, len(lams)))
    for seed in range(3):
        problem = one_task(seed, 50, 500)
        for j, lam in enumerate(lams):
            inside = optimum(problem, lam).coef != 0
            times[seed, j] = identified(method(problem, lam=lam), inside, 6000, stride)
    assert (times < 6000 - stride).all()
    assert (np.diff(np.log(times + stride).mean(axis=0)) < 0).all()
    assert (times[:, 0] > 5 * times[:, -1]).all()


def test_the_proximal_gradient_has_three_phases():
    lam, problem = 0.03, one_task(1, 50, 500)
    best = optimum(problem, lam)
    inside = best.coef != 0
    run = proximal_gradient(problem, lam=lam)
    run.watch(inside)
    marks = [0, 3, 40, 80, 160, 320, 640, 13_000, 16_000, 19_000]
    gaps = gaps_at(run, marks, best.value)
    # First as without the penalty.
    plain, penalised = gradient_descent(problem), proximal_gradient(problem, lam=lam)
    plain.advance(3), penalised.advance(3)
    P, y = problem.X[0], problem.y[0]
    assert np.linalg.norm(P @ (plain.coef - penalised.coef)) < 0.1 * np.linalg.norm(y)
    assert gaps[1] / gaps[0] < 0.5**3
    # Then sublinear: doubling the iterations does not square the factor.
    doubled = gaps[3:7] / gaps[2:6]
    assert (doubled > 0.3).all()
    assert (doubled < 0.8).all()
    # At last linear, with the constants of the support.
    assert 1000 < run.last_outside < 13_000
    contraction = (gaps[8:] / gaps[7:-1]) ** (1 / 3000)
    local = bound_of_proximal_gradient(problem, best, lam=lam, support=inside).contraction
    assert np.log(contraction) == pytest.approx([np.log(local)] * 2, rel=0.1)


def test_rmp_has_the_same_three_phases():
    lam, problem = 0.03, one_task(1, 50, 500)
    run, best = rmp(problem, lam=lam), optimum(problem, lam)
    run.watch(best.coef != 0)
    plain, penalised = gs_coordinate_descent(problem), rmp(problem, lam=lam)
    plain.advance(40), penalised.advance(40)
    P, y = problem.X[0], problem.y[0]
    assert np.linalg.norm(P @ (plain.coef - penalised.coef)) < 0.1 * np.linalg.norm(y)
    gaps = gaps_at(run, [0, 80, 160, 320, 640, 25_000, 30_000, 35_000], best.value)
    assert gaps[1] / gaps[0] < 0.02
    assert (gaps[2:5] / gaps[1:4] > 0.5).all()
    assert 1000 < run.last_outside < 25_000
    assert gaps[7] / gaps[6] == pytest.approx(gaps[6] / gaps[5], rel=0.1)
    assert gaps[6] / gaps[5] < 0.3


@pytest.mark.parametrize(
    ("method", "later"), [(gradient_descent, 200), (gs_coordinate_descent, 800)]
)
def test_convergence_without_a_penalty_is_slow_where_features_equal_samples(method, later):
    for seed in range(3):
        found = {}
        for p in (10, 50, 500):
            problem = one_task(seed, 50, p)
            P, y = problem.X[0], problem.y[0]
            least = value(problem, np.linalg.lstsq(P, y, rcond=None)[0], 0.0)
            once, twice = gaps_at(method(problem), [later, 2 * later], least)
            found[p] = np.log(max(twice, 1e-14) / max(once, 1e-7 if p != 50 else 0))
        assert found[50] > np.log(0.2)
        assert found[10] < np.log(1e-4)
        assert found[500] < np.log(1e-4)


def test_accelerated_methods_are_less_than_four_and_two_times_as_fast():
    # After Corollary 6; d / n is 1 / 100.
    problem = one_task(7, 800, 8)
    P, y = problem.X[0], problem.y[0]
    values = np.linalg.eigvalsh(P.T @ P / 800)
    small, large = values[0], values[-1]
    best = np.linalg.lstsq(P, y, rcond=None)[0]
    least, away = value(problem, best, 0.0), 1e-10 * np.linalg.norm(best)
    roots = np.sqrt(large), np.sqrt(small)
    momentum = (roots[0] - roots[1]) / (roots[0] + roots[1])
    rules = {
        "gradient": (1 / large, 0.0, False),
        "nesterov": (1 / large, momentum, True),
        "polyak": (4 / (roots[0] + roots[1]) ** 2, momentum**2, False),
    }
    needed = {}
    for name, (length, inertia, ahead) in rules.items():
        a = last = np.zeros(8)
        needed[name] = 0
        while np.linalg.norm(a - best) > away:
            needed[name] += 1
            forward = inertia * (a - last)
            a, last = a + forward - length * gradient(problem, a + ahead * forward), a
        assert value(problem, a, 0.0) == pytest.approx(least)
    expected = {"gradient": 1 - small / large, "polyak": momentum}
    for name, factor in expected.items():
        assert needed[name] == pytest.approx(np.log(1e-10) / np.log(factor), rel=0.2)
    assert 1 < needed["gradient"] / needed["polyak"] < 3
    assert 1 < needed["gradient"] / needed["nesterov"] < 1.9


def test_random_features_do_not_all_reach_the_same_prediction():
    # Section 2.3: "all models converge to the same optimal solution y".
    rng = np.random.default_rng(8)
    X, y = rng.standard_normal((30, 12)), rng.standard_normal(30)
    misses = {}
    for d in (10, 29, 200):
        features = np.maximum(X @ (np.sqrt(0.5) * rng.standard_normal((12, d))), 0)
        misses[d] = np.linalg.norm(features @ np.linalg.lstsq(features, y, rcond=None)[0] - y)
    assert misses[10] > misses[29] > 1e-3
    assert misses[200] < 1e-10
