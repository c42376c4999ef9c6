"""The relaxations against cvxpy, exact enumeration, closed forms and exact arithmetic."""

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greedyexp.core.errors import ConfigError, DataError
from greedyexp.kernels.max_cut import is_dual
from greedyexp.theory import l1_curvature
from greedyexp.theory.l1_curvature import curvature_l1, curvature_l1_sdp, relaxation_fits
from greedyexp.theory.max_cut import max_cut

SETTINGS = settings(deadline=None, derandomize=True, max_examples=60)


def covariance(seed, n, p, decay=0.0):
    P = np.random.default_rng(seed).standard_normal((n, p)) * np.arange(1.0, p + 1) ** -decay
    return np.linalg.inv(P.T @ P)


def exactly_semidefinite(C, y):
    """Whether Diag(y) - C is positive semidefinite, by rational elimination."""
    p = len(y)
    S = [[Fraction(-float(C[i, j])) for j in range(p)] for i in range(p)]
    for i in range(p):
        S[i][i] += Fraction(float(y[i]))
    for k in range(p):
        if S[k][k] <= 0:
            return False
        for i in range(k + 1, p):
            factor = S[i][k] / S[k][k]
            for j in range(k + 1, p):
                S[i][j] -= factor * S[k][j]
    return True


@pytest.mark.parametrize("most_sweeps", [5000, 1])
@pytest.mark.parametrize(
    ("seed", "n", "p", "decay"), [(0, 12, 6, 0), (1, 7, 7, 0), (2, 10, 8, 1), (3, 9, 1, 0)]
)
def test_dual_point_is_feasible_in_exact_arithmetic(seed, n, p, decay, most_sweeps):
    C = covariance(seed, n, p, decay)
    C = (C + C.T) / 2
    cut = max_cut(C, most_sweeps=most_sweeps)
    assert exactly_semidefinite(C, cut.multipliers)
    assert sum(map(Fraction, cut.multipliers)) <= Fraction(cut.dual)
    value = sum(
        Fraction(float(C[i, j])) * Fraction(float(a)) * Fraction(float(b))
        for i in range(p)
        for j in range(p)
        for a, b in zip(cut.factor[:, i], cut.factor[:, j], strict=True)
    )
    lengths = [sum(Fraction(float(a)) ** 2 for a in column) for column in cut.factor.T]
    assert Fraction(cut.primal) <= value / max(*lengths, 1)
    assert (cut.dual - cut.primal) / cut.dual <= 1e-6
    assert (cut.sweeps == 0) == (most_sweeps == 1 and p > 1)


@pytest.mark.parametrize("p", [1, 2, 7, 40])
def test_dual_test_is_sharp(p):
    # Diag(y) - 1 1^T with y = p (1 - shortfall) has the smallest eigenvalue -p shortfall.
    shortfall = 1e-6
    C, y = np.ones((p, p)), np.full(p, p * (1 - shortfall))
    needed, allowance = shortfall / (1 - shortfall), p * (p + 8) * 2.3e-16
    assert is_dual(C, y, 1.001 * needed, allowance)
    assert not is_dual(C, y, 0.999 * needed, allowance)
    assert not is_dual(C, y, needed, 1e-9)
    y[-1] = 0.0
    assert not is_dual(C, y, 1.0, allowance)


def test_known_optima():
    identity = max_cut(np.eye(5))
    assert identity.primal <= 5 <= identity.dual
    equal = max_cut(np.ones((5, 5)) + np.eye(5))
    assert equal.primal <= 30 <= equal.dual
    ring = np.roll(np.eye(5), 1, axis=0)
    cycle = max_cut((2 * np.eye(5) - ring - ring.T) / 4)
    # The relaxation of the maximum cut of a cycle of five; the cut itself is 4.
    assert cycle.primal <= (25 + 5 * 5**0.5) / 8 <= cycle.dual
    for cut in (identity, equal, cycle):
        assert (cut.dual - cut.primal) / cut.dual <= 1e-6


@SETTINGS
@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(0, 20), st.sampled_from([0, 0.5, 1]))
def test_every_gap_is_certified_by_the_ascent_itself(seed, p, more, decay):
    cut = max_cut(covariance(seed, p + more, p, decay))
    assert cut.sweeps > 0
    assert 0 < cut.primal <= cut.dual
    assert (cut.dual - cut.primal) / cut.dual <= 1e-6


@SETTINGS
@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(0, 5))
def test_relaxation_is_below_the_exact_constant_by_at_most_half_pi(seed, p, more):
    P = np.random.default_rng(seed).standard_normal((p + more, p))
    relaxed, exact = curvature_l1_sdp(P), curvature_l1(P)
    assert relaxed.lower <= exact.upper
    assert exact.lower <= np.pi / 2 * relaxed.upper
    assert relaxed.upper - relaxed.lower <= 1e-6 * relaxed.upper


@settings(deadline=None, derandomize=True, max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 8), st.booleans())
def test_relaxation_is_below_the_exact_constant_of_dependent_columns(seed, n, more, centred):
    P = np.random.default_rng(seed).standard_normal((n + centred, n + more))
    P -= centred * P.mean(axis=0)
    relaxed, exact = curvature_l1_sdp(P), curvature_l1(P)
    assert relaxed.lower <= exact.upper
    assert relaxed.upper - relaxed.lower <= 1e-6 * relaxed.upper
    # Lemma 23 holds for the relaxation, with the rank for n when columns are centred.
    largest = (P**2).sum(axis=0).max() / len(P)
    assert relaxed.lower <= largest / n * (1 + 1e-9)


def test_three_columns_at_120_degrees():
    angles = np.deg2rad([0, 120, 240])
    P = np.array([np.cos(angles), np.sin(angles)])
    relaxed, exact = curvature_l1_sdp(P), curvature_l1(P)
    assert relaxed.lower <= 1 / 4 <= relaxed.upper * (1 + 1e-12)
    assert exact.lower <= 3 / 8 <= exact.upper


@pytest.mark.parametrize("shape", [(5, 5), (12, 9), (9, 4)])
def test_both_formulations_are_one_programme(shape):
    P = np.random.default_rng(5).standard_normal(shape)
    known = l1_curvature.spectrum(P)
    eta, factor = l1_curvature._dependent(known, 1e-7)
    lower = l1_curvature._from_weights(P, eta, known.rank)
    upper = l1_curvature._from_factor(P, factor, known)
    cut = curvature_l1_sdp(P)
    assert max(lower, cut.lower) <= min(upper, cut.upper)
    assert upper - lower <= 1e-5 * upper


@pytest.mark.parametrize(("n", "p"), [(12, 8), (40, 40), (30, 20)])
def test_max_cut_agrees_with_cvxpy(n, p):

    C = covariance(n, n, p)
    C = (C + C.T) / 2
    Z = cp.Variable((p, p), PSD=True)
    value = cp.Problem(cp.Maximize(cp.trace(C @ Z)), [cp.diag(Z) <= 1]).solve(solver="CLARABEL")
    cut = max_cut(C)
    assert cut.primal * (1 - 1e-6) <= value <= cut.dual * (1 + 1e-6)


@pytest.mark.parametrize("kind", ["plain", "decaying", "centred", "large"])
def test_dependent_columns_agree_with_cvxpy(kind):

    P = np.random.default_rng(8).standard_normal((8, 15))
    if kind == "decaying":
        P /= np.arange(1, 16)
    if kind == "large":
        P[:, -1] *= 10
    if kind == "centred":
        P -= P.mean(axis=0)
    basis = np.linalg.svd(P)[0][:, : np.linalg.matrix_rank(P)]
    B = basis.T @ P
    M = cp.Variable((len(B), len(B)), PSD=True)
    largest = cp.max(cp.diag(B.T @ M @ B))
    value = cp.Problem(cp.Minimize(largest), [cp.trace(M) == 1]).solve(solver="CLARABEL") / len(P)
    relaxed = curvature_l1_sdp(P)
    assert relaxed.lower * (1 - 1e-6) <= value <= relaxed.upper * (1 + 1e-6)
    assert relaxed.upper - relaxed.lower <= 1e-6 * relaxed.upper


@SETTINGS
@given(st.integers(0, 10**6), st.floats(1e-6, 1e6), st.integers(1, 6))
def test_units_signs_and_order_of_columns_do_not_matter(seed, unit, p):
    rng = np.random.default_rng(seed)
    P = rng.standard_normal((6, p))
    turned = unit * P[:, rng.permutation(p)] * rng.choice([-1.0, 1.0], p)
    one, other = curvature_l1_sdp(P), curvature_l1_sdp(turned)
    assert one.lower <= other.upper / unit**2 * (1 + 1e-12)
    assert other.lower / unit**2 <= one.upper * (1 + 1e-12)


def test_nearly_dependent_columns_keep_honest_bounds():
    P = np.random.default_rng(0).standard_normal((10, 4))
    P[:, 3] = P[:, 2] + 1e-7 * P[:, 3]
    relaxed, exact = curvature_l1_sdp(P), curvature_l1(P)
    assert relaxed.lower <= exact.upper
    assert 0.9 * exact.lower <= relaxed.upper
    assert relaxed.lower > 0.9 * exact.lower


def test_strongly_correlated_columns_keep_the_accuracy():
    rng = np.random.default_rng(2)
    P = rng.standard_normal((20, 3)) @ rng.standard_normal((3, 20))
    P += 1e-2 * rng.standard_normal((20, 20))
    P -= P.mean(axis=0)
    relaxed = curvature_l1_sdp(P)
    assert relaxed.upper - relaxed.lower <= 1e-6 * relaxed.upper


def test_mistakes_are_told_in_a_sentence():
    with pytest.raises(DataError, match="not finite"):
        max_cut(np.full((1, 1), np.nan))
    for tol in (0.0, 1e-11, 2, np.nan):
        for shape in ((5, 3), (3, 5)):
            with pytest.raises(ConfigError, match=f"tol = {tol} must be in"):
                curvature_l1_sdp(np.random.default_rng(0).standard_normal(shape), tol=tol)
    with pytest.raises(DataError, match="rank 130"):
        curvature_l1_sdp(np.random.default_rng(0).standard_normal((130, 140)))
    assert relaxation_fits(100, 100)
    assert not relaxation_fits(130, 140)
