"""Statements of Moucer, Taylor & Bach (2024) on constants of designs, against other means."""

import cvxpy as cp
import numpy as np
import pytest
import scipy
from geometry_oracles import (
    curvature_by_hull,
    curvature_by_orthants,
    curvature_by_signs,
    gauge,
    gaussian,
    relaxed_curvature,
    relaxed_lojasiewicz,
    sign_vectors,
    smoothness,
)

from greedyexp.theory.convergence_rates import gradient_rate
from greedyexp.theory.l1_curvature import curvature_l1, curvature_l1_sdp


def test_the_two_forms_of_lemma_one_agree():
    # Over the ellipsoid ||P b|| <= 1 the largest ||b||_1^2 is that of signs v: v^T (P^T P)^-1 v.
    for seed in range(6):
        P = gaussian(seed, 6, 2 + seed % 4)
        assert curvature_by_orthants(P) == pytest.approx(curvature_by_signs(P), rel=1e-9)
        assert curvature_l1(P).value == pytest.approx(curvature_by_orthants(P), rel=1e-9)


def test_the_second_form_of_lemma_one_needs_the_norm_of_the_first():
    # It is printed with ||b||_2 for any norm.
    P = np.sqrt(2.0) * np.eye(2)
    assert 1 / curvature_by_orthants(P) == pytest.approx(2)
    printed = 2 / np.linalg.eigvalsh(P.T @ P)[0]  # n times the largest ||b||_2^2 with ||P b|| <= 1
    assert printed == pytest.approx(1)


def test_strong_convexity_is_lost_with_more_features_than_samples():
    # Section 2 prints "especially when dimension d < n".
    few, many = gaussian(1, 8, 5), gaussian(1, 5, 8)
    assert curvature_by_orthants(few) > 1e-3
    kernel = scipy.linalg.null_space(many)[:, 0]
    assert np.abs(many @ kernel / np.abs(kernel).sum()).max() < 1e-14


def test_noise_gives_a_design_its_full_rank():
    low = np.outer(np.arange(1.0, 7), np.arange(1.0, 10))
    for seed in range(20):
        noisy = low + 1e-3 * gaussian(seed, 6, 9)
        assert np.linalg.eigvalsh(noisy @ noisy.T)[0] > 1e-9
        assert curvature_l1(noisy[:3]).lower > 0
    assert np.linalg.matrix_rank(low) == 1


def test_the_weight_is_the_multiplier_of_the_bound_on_the_norm():
    # Problems 1 and 2 have one solution if R is the norm of the first.
    P, y, lam = gaussian(7, 12, 6), np.arange(12.0) / 4, 0.3
    a = cp.Variable(6)
    loss = cp.sum_squares(P @ a - y) / 24
    cp.Problem(cp.Minimize(loss + lam * cp.norm1(a))).solve(solver="CLARABEL")
    penalised = a.value
    ball = cp.norm1(a) <= np.abs(penalised).sum()
    cp.Problem(cp.Minimize(loss), [ball]).solve(solver="CLARABEL")
    assert a.value == pytest.approx(penalised, abs=1e-4)
    assert ball.dual_value == pytest.approx(lam, rel=1e-3)


@pytest.mark.parametrize(("n", "p"), [(6, 3), (5, 4), (3, 3), (3, 9), (2, 20)])
def test_gradients_are_as_large_as_lemmas_two_and_three_say(n, p):
    # In an orthonormal basis of the range the columns have a hull, which needs no signs.
    P = gaussian(n * p, n, p)
    square = np.linalg.qr(P)[1] if p < n else P
    weakest = curvature_by_hull(square) * len(square) / n
    if p <= n:
        assert weakest == pytest.approx(curvature_by_orthants(P), rel=1e-8)
    directions = np.random.default_rng(0).standard_normal((p, 2000))
    gradients = np.abs(P.T @ (P @ directions)).max(axis=0) / n
    gaps = ((P @ directions) ** 2).sum(axis=0) / (2 * n)
    assert (gradients**2 / 2 >= weakest * gaps * (1 - 1e-9)).all()
    # The direction in which it is reached is the normal of the nearest facet.
    hull = scipy.spatial.ConvexHull(np.concatenate([square, -square], axis=1).T).equations
    nearest = hull[hull[:, -1].argmax(), :-1]
    steepest = np.abs(square.T @ nearest).max() / n
    assert steepest**2 / 2 == pytest.approx(weakest / (2 * n), rel=1e-9)


def test_without_one_over_n_the_curvature_is_no_lojasiewicz_constant():
    # Section 2.2 and Proposition 8 print inf ||P^T P b||_inf^2, Lemma 2 has 1 / n before it.
    n = 4
    P = np.sqrt(n) * np.eye(n)
    printed = n * curvature_by_orthants(P)
    assert curvature_by_orthants(P) == pytest.approx(1 / n)
    assert smoothness(P) == 1
    # The rate 1 - mu / L would be 0, but one step of coordinate descent leaves three of four parts.
    assert 1 - printed / smoothness(P) == pytest.approx(0)
    residual = np.ones(n)
    residual[0] = 0
    assert (residual**2).sum() / n == 1 - curvature_by_orthants(P) / smoothness(P)


def test_smoothness_is_that_of_the_longest_column():
    for seed in range(20):
        P = gaussian(seed, 5, 8)
        a = np.random.default_rng(seed).standard_normal((8, 500))
        a /= np.abs(a).sum(axis=0)
        assert ((P @ a) ** 2).sum(axis=0).max() / 5 <= smoothness(P)
        assert ((P @ np.eye(8)) ** 2).sum(axis=0).max() / 5 == pytest.approx(smoothness(P))


@pytest.mark.parametrize(("n", "p"), [(7, 2), (9, 6), (6, 6)])
def test_the_relaxation_of_mu1_is_below_it_by_at_most_half_pi(n, p):
    for seed in range(4):
        P = gaussian(seed, n, p) * np.arange(1, p + 1) ** -float(seed)
        relaxed, exact = relaxed_curvature(P), curvature_by_signs(P)
        assert relaxed <= exact * (1 + 1e-6)
        assert exact <= np.pi / 2 * relaxed * (1 + 1e-6)
        assert relaxed == pytest.approx(curvature_l1_sdp(P).value, rel=1e-5)


def test_the_relaxation_of_mu1_can_be_below_it():
    # For C = Diag(y) - W with the cycle of five, signs reach 4 / 5 of what unit vectors do.
    ring = np.roll(np.eye(5), 1, axis=0)
    C = 2 * np.eye(5) - ring - ring.T + 1e-3 * np.eye(5)
    P = np.linalg.inv(np.linalg.cholesky(C)).copy()  # (P^T P)^-1 = C
    assert np.linalg.inv(P.T @ P) == pytest.approx(C)
    assert curvature_by_signs(P) > 1.1 * relaxed_curvature(P)


@pytest.mark.parametrize(("n", "p"), [(2, 7), (3, 8), (4, 9)])
def test_the_relaxation_of_mu1l_is_a_lower_bound_with_two_forms(n, p):
    for seed in range(3):
        P = gaussian(seed, n, p)
        relaxed = relaxed_lojasiewicz(P)
        assert relaxed <= curvature_by_hull(P) * (1 + 1e-6)
        assert relaxed <= smoothness(P) / n * (1 + 1e-6)
        # The proof of Lemma 23 takes this for mu1L; it is the dual of the relaxation.
        weights, level = cp.Variable(p, nonneg=True), cp.Variable()
        rules = [cp.sum(weights) == 1, P @ cp.diag(weights) @ P.T >> level * np.eye(n)]
        dual = cp.Problem(cp.Maximize(level), rules).solve(solver="CLARABEL") / n
        assert dual == pytest.approx(relaxed, rel=1e-5)


def test_the_relaxation_of_mu1l_has_no_factor_of_half_pi():
    # Columns all around the circle: the inradius tends to 1, and M = I / 2 leaves half of it.
    angles = np.pi * np.arange(40) / 40
    P = np.array([np.cos(angles), np.sin(angles)])
    assert curvature_by_hull(P) > 1.9 * relaxed_lojasiewicz(P)


@pytest.mark.parametrize(("n", "p"), [(2, 5), (3, 12), (4, 30)])
def test_norms_sandwich_mu1l(n, p):
    for seed in range(10):
        P = gaussian(seed, n, p)
        smallest = np.linalg.eigvalsh(P @ P.T / n)[0]
        assert smallest / p <= curvature_by_hull(P) <= smallest * (1 + 1e-12)
        assert curvature_by_hull(P) <= min(1, 2 * np.log(2 * p) / n) * smoothness(P)


def test_corollary_six_for_extreme_shapes():
    for r in (1e-4, 1e-6):
        assert gradient_rate(r) == pytest.approx(4 * np.sqrt(r), rel=5 * np.sqrt(r))
        assert gradient_rate(1 / r) == pytest.approx(4 * np.sqrt(r), rel=5 * np.sqrt(r))


@pytest.mark.parametrize("r", [1e-4, 0.01, 0.25, 0.81])
def test_factors_of_momentum_are_a_quarter_and_a_half_only_for_small_ratios(r):
    smallest, largest = (1 - r**0.5) ** 2, (1 + r**0.5) ** 2
    gradient = 1 - smallest / largest
    nesterov = 1 - np.sqrt(smallest / largest)
    polyak = (largest**0.5 - smallest**0.5) / (largest**0.5 + smallest**0.5)
    assert polyak == pytest.approx(np.sqrt(r))
    assert gradient / polyak == pytest.approx(4, rel=2.1 * r**0.5)
    assert gradient / nesterov == pytest.approx(2, rel=1.1 * r**0.5)
    # Numbers of iterations are as the inverse logarithms: less than four and two times for small
    # ratios, more for large ones.
    faster = np.log(polyak) / np.log(gradient), np.log(nesterov) / np.log(gradient)
    assert faster[0] < 2.1 if r < 0.1 else faster[0] > 5
    assert faster[1] < 1.6 if r < 0.1 else faster[1] > 2.5


def test_the_gauge_is_a_norm_whose_dual_is_the_largest_correlation():
    rng = np.random.default_rng(1)
    P = gaussian(0, 3, 7)
    for _ in range(10):
        x, other = rng.standard_normal((2, 3))
        size = gauge(P, x)
        assert size > 0
        assert gauge(P, -2.5 * x) == pytest.approx(2.5 * size)
        assert gauge(P, x + other) <= size + gauge(P, other) + 1e-9
        dual = np.abs(P.T @ other).max()
        assert x @ other <= dual * size * (1 + 1e-9)
        best = P[:, np.abs(P.T @ other).argmax()]
        assert gauge(P, best) <= 1 + 1e-9
        assert abs(best @ other) == pytest.approx(dual)
        # With the vectors of the standard basis it is the l1 norm.
        assert gauge(np.eye(3), x) == pytest.approx(np.abs(x).sum())


def test_smoothness_and_curvature_in_the_gauge_are_those_in_the_l1_norm():
    P = gaussian(2, 3, 8)
    rng = np.random.default_rng(3)
    ratios = [x @ x / (3 * gauge(P, x) ** 2) for x in rng.standard_normal((60, 3))]
    assert max(ratios) <= smoothness(P) * (1 + 1e-9)
    assert min(ratios) >= curvature_by_hull(P) * (1 - 1e-9)
    longest = P[:, (P**2).sum(axis=0).argmax()]
    assert longest @ longest / (3 * gauge(P, longest) ** 2) == pytest.approx(smoothness(P))
    facets = scipy.spatial.ConvexHull(np.concatenate([P, -P], axis=1).T).equations
    foot = facets[facets[:, -1].argmax(), :-1]
    assert foot @ foot / (3 * gauge(P, foot) ** 2) == pytest.approx(curvature_by_hull(P))


def test_lemma_twelve_with_the_square_holds_beyond_least_squares():
    # f(x) = sum log cosh(x_i - y_i) + m ||x||^2 / 2 is m-strongly convex, so m n mu1L in the gauge.
    P, y, m = gaussian(4, 3, 9), np.array([1.0, -2.0, 0.5]), 0.3

    def f(x):
        return np.log(np.cosh(x - y)).sum() + m * x @ x / 2

    def slope(x):
        return np.tanh(x - y) + m * x

    least = scipy.optimize.minimize(f, np.zeros(3), jac=slope, tol=1e-12).fun
    strong = m * 3 * curvature_by_hull(P)
    for a in np.random.default_rng(5).standard_normal((300, 9)):
        x = P @ a
        assert np.abs(P.T @ slope(x)).max() ** 2 / 2 >= strong * (f(x) - least) - 1e-9


def test_the_hoffman_constant_is_an_inverse():
    # Printed: theta(P) is the largest ||z||^2 with ||P z|| = 1, and ||grad F||^2 / 2 is at least
    # theta mu (F - F*). With P = 1 / 2 that theta is 4; the smallest eigenvalue 1 / 4 is meant.
    P, a = 0.5, 1.0
    gradient, gap = P**2 * a, (P * a) ** 2 / 2
    assert gradient**2 / 2 < 4 * gap
    assert gradient**2 / 2 == pytest.approx(P**2 * gap)


def test_quadratic_forms_of_the_l1_norm():
    x = np.array([0.5, -2.0, 1.25])
    size, L = np.abs(x).sum(), 1.7
    eta = cp.Variable(3)
    squares = cp.sum([cp.quad_over_lin(value, eta[i]) for i, value in enumerate(x)])
    either = cp.Problem(cp.Minimize(squares / 2 + cp.sum(eta) / 2)).solve(solver="CLARABEL")
    assert either == pytest.approx(size, rel=1e-6)
    shares = cp.Problem(cp.Minimize(squares), [cp.sum(eta) == 1]).solve(solver="CLARABEL")
    assert shares == pytest.approx(size**2, rel=1e-6)
    assert (sign_vectors(3) @ x).max() == pytest.approx(size) or (
        -sign_vectors(3) @ x
    ).max() == size
    z = np.linspace(0, 20, 200_001)
    values = -(z**2) / (2 * L) + z * size
    assert values.max() == pytest.approx(L / 2 * size**2)
    assert z[values.argmax()] == pytest.approx(L * size, abs=1e-3)


def test_a_qr_decomposition_gives_a_basis_of_the_kernel():
    P = gaussian(6, 4, 9)
    basis = scipy.linalg.qr(P.T)[0][:, 4:]
    assert basis.T @ basis == pytest.approx(np.eye(5), abs=1e-12)
    assert np.abs(P @ basis).max() < 1e-12


def test_the_exponential_of_fifty():
    assert np.exp(50) == pytest.approx(5e21, rel=0.05)
