"""Statements of Moucer, Taylor & Bach (2024) on steps and runs, on every step of runs."""

from itertools import pairwise

import cvxpy as cp
import numpy as np
import pytest
import scipy
from descent_oracles import gradient, one_task, smoothness_l1, smoothness_l2, value
from geometry_oracles import (
    algorithm_one,
    curvature_by_hull,
    curvature_by_signs,
    gauge,
    model_of_a_step,
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
from greedyexp.algorithms.matching_pursuit.ultimate import ultimate, ultimate_alternating
from greedyexp.kernels.coordinate_descent import propose
from greedyexp.kernels.ultimate_inner import InnerLoop
from greedyexp.problems.problem import as_problem
from greedyexp.protocols.trajectory._optimum import optimum
from greedyexp.theory.convergence_rates import proximal_gradient as bound_of_proximal_gradient


def estimates(iteration, count):
    """The estimates 0, ..., ``count`` of a run."""
    found = []
    for k in range(count + 1):
        iteration.advance(k)
        found.append(iteration.coef)
    return found


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
