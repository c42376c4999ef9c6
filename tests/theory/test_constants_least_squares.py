"""Spectra, smoothness and curvature: known values, proved errors, and sentences for mistakes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import hadamard

from greedyexp.core.errors import DataError
from greedyexp.theory.constants import (
    curvature_l1_upper,
    lojasiewicz_l2,
    smoothness_l1,
    smoothness_l2,
)
from greedyexp.theory.l1_curvature import curvature_l1
from greedyexp.theory.spectrum import checked_design, spectrum

SETTINGS = settings(deadline=None, derandomize=True, max_examples=60)


def holds(constant, truth):
    return constant.lower <= truth <= constant.upper and (
        constant.lower <= constant.value <= constant.upper
    )


@pytest.mark.parametrize("order", [4, 16])
@pytest.mark.parametrize("decay", [1, 2])
def test_errors_of_singular_values_are_proved(order, decay):
    # H Diag(2^-k) H is exact in floating point and has the singular values order 2^-k.
    H = hadamard(order).astype(float)
    exact = order * 2.0 ** -(decay * np.arange(order))
    found = spectrum(H * 2.0 ** -(decay * np.arange(order)) @ H)
    assert (np.abs(found.values - exact) <= found.error).all()
    assert found.error < 1e-12 * order
    assert found.rank == order
    assert found.smallest == found.values[-1]


def test_errors_grow_with_a_wrong_decomposition(monkeypatch):
    P = np.random.default_rng(0).standard_normal((9, 6))
    U, s, Vt = np.linalg.svd(P, full_matrices=False)

    def shifted(*_, **__):
        return U, s + 1e-3, Vt

    monkeypatch.setattr("scipy.linalg.svd", shifted)
    wrong = spectrum(P)
    assert 1e-3 <= wrong.error < 1e-2

    def slanted(*_, **__):
        return U * (1 + 1e-3), s / (1 + 1e-3), Vt

    monkeypatch.setattr("scipy.linalg.svd", slanted)
    wrong = spectrum(P)
    assert (np.abs(wrong.values - s) <= wrong.error).all()


@pytest.mark.parametrize(("n", "p", "rank"), [(12, 5, 5), (5, 12, 5), (12, 12, 11), (9, 30, 8)])
def test_rank_of_centred_designs(n, p, rank):
    P = np.random.default_rng(n + p).standard_normal((n, p))
    if rank < min(n, p):
        P -= P.mean(axis=0)
        P /= P.std(axis=0)
    assert spectrum(P).rank == rank


def test_diagonal_design_has_known_constants():
    P = np.diag([3.0, 1.0, 2.0])
    assert holds(smoothness_l2(P), 3.0)
    assert holds(smoothness_l1(P), 3.0)
    assert holds(lojasiewicz_l2(P), 1 / 3)
    assert holds(curvature_l1_upper(P), 14 / 27)
    # A separable quadratic: 1 / mu1 is the sum of the inverse curvatures.
    assert curvature_l1(P).value == pytest.approx(1 / (3 / 9 + 3 / 1 + 3 / 4), rel=1e-12)


@SETTINGS
@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(1, 12))
def test_constants_agree_with_eigenvalues(seed, n, p):
    P = np.random.default_rng(seed).standard_normal((n, p))
    values = np.sort(np.linalg.eigvalsh(P.T @ P / n))
    rank = min(n, p)
    assert smoothness_l2(P).value == pytest.approx(values[-1])
    assert smoothness_l1(P).value == pytest.approx((P**2).sum(axis=0).max() / n)
    assert lojasiewicz_l2(P).value == pytest.approx(values[-rank], rel=1e-7)
    curved = lojasiewicz_l2(P)
    for constant in (smoothness_l2(P), smoothness_l1(P), curved):
        assert 0 <= constant.lower <= constant.value <= constant.upper
    if p <= n:
        # Lemma 23.
        exact = curvature_l1(P)
        assert (curved / p).lower <= exact.upper
        assert exact.lower <= curvature_l1_upper(P).upper


def test_smallest_nonzero_eigenvalue_of_a_centred_design():
    rng = np.random.default_rng(1)
    P = rng.standard_normal((6, 10))
    P -= P.mean(axis=0)
    values = np.linalg.svd(P, compute_uv=False)
    assert holds(lojasiewicz_l2(P), values[4] ** 2 / 6)
    assert lojasiewicz_l2(P.T).value == pytest.approx(values[4] ** 2 / 10)


@pytest.mark.parametrize(
    ("design", "sentence"),
    [
        ([1.0, 2.0], "a matrix with entries is needed"),
        (np.empty((0, 3)), "a matrix with entries is needed"),
        ([["a"]], "are not numbers"),
        ([[1.0, np.inf]], "not finite"),
        (np.zeros((2, 2)), "the design is zero"),
        ([[1e200]], "out of range"),
        ([[1e-200]], "out of range"),
    ],
)
def test_designs_that_cannot_be_used(design, sentence):
    with pytest.raises(DataError, match=sentence):
        checked_design(design)
    with pytest.raises(DataError, match=sentence):
        smoothness_l1(design)


def test_upper_bound_needs_independent_columns():
    with pytest.raises(DataError, match="rank 2 and p = 3"):
        curvature_l1_upper(np.ones((5, 3)) + np.arange(15.0).reshape(5, 3))
