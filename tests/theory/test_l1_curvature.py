"""The exact curvature in the l1 norm against exact arithmetic, brute force and theorems."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from greedyexp.core.errors import DataError
from greedyexp.kernels.max_cut import largest_form
from greedyexp.theory import l1_curvature
from greedyexp.theory.constants import lojasiewicz_l2
from greedyexp.theory.l1_curvature import curvature_l1, enumeration_fits

SETTINGS = settings(deadline=None, derandomize=True, max_examples=60)


def inverse(G):
    """The inverse of a rational matrix."""
    p = len(G)
    rows = [list(line) + [Fraction(int(i == j)) for j in range(p)] for i, line in enumerate(G)]
    for k in range(p):
        rows[k] = [a / rows[k][k] for a in rows[k]]
        for i in range(p):
            if i != k:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [line[p:] for line in rows]


def rational_mu1(P):
    """mu1 of exactly this design, as a fraction."""
    n, p = P.shape
    columns = [[Fraction(float(a)) for a in column] for column in P.T]
    gram = [[sum(map(Fraction.__mul__, a, b)) for b in columns] for a in columns]
    C = inverse(gram)
    largest = max(
        sum(v[i] * v[j] * C[i][j] for i in range(p) for j in range(p))
        for v in itertools.product([1, -1], repeat=p)
    )
    return 1 / (n * largest)


@pytest.mark.parametrize(("n", "p", "near"), [(5, 4, 1), (4, 4, 1), (7, 3, 1e-4), (4, 1, 1)])
def test_bounds_hold_in_exact_arithmetic(n, p, near):
    P = np.random.default_rng(n * p).standard_normal((n, p))
    P[:, -1] = near * P[:, -1] + (1 - near) * P[:, 0]
    exact, found = rational_mu1(P), curvature_l1(P)
    assert Fraction(found.lower) <= exact <= Fraction(found.upper)
    assert found.upper - found.lower <= 1e-8 * found.value


@SETTINGS
@given(st.integers(0, 10**6), st.integers(1, 9))
def test_gray_code_visits_every_sign_vector(seed, p):
    A = np.random.default_rng(seed).standard_normal((p, p))
    C = A + A.T
    values = [np.array(v) @ C @ np.array(v) for v in itertools.product([1.0, -1.0], repeat=p)]
    best, value = largest_form(C)
    assert value == pytest.approx(max(values), abs=1e-10)
    assert best @ C @ best == pytest.approx(value, abs=1e-10)


def test_long_enumerations_do_not_drift():
    A = np.random.default_rng(0).standard_normal((16, 16))
    best, value = largest_form(A @ A.T)
    assert best @ A @ A.T @ best == pytest.approx(value, rel=1e-12)


@SETTINGS
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_both_enumerations_agree_on_square_designs(seed, n):
    P = np.random.default_rng(seed).standard_normal((n, n))
    signs = curvature_l1(P)
    facets = l1_curvature._by_facets(P, l1_curvature.spectrum(P))
    assert facets.lower <= signs.upper
    assert signs.lower <= facets.upper
    assert facets.value == pytest.approx(signs.value, rel=1e-6)


@pytest.mark.parametrize(("n", "p"), [(2, 6), (3, 6), (4, 6)])
def test_facets_are_those_of_all_vertices(n, p):
    P = np.random.default_rng(p).standard_normal((n, p))
    farthest = 0.0
    for chosen in itertools.combinations(range(p), n):
        for signs in itertools.product([1.0, -1.0], repeat=n):
            v = np.linalg.solve(P[:, chosen].T, signs)
            if np.abs(P.T @ v).max() <= 1 + 1e-9:
                farthest = max(farthest, v @ v)
    found = curvature_l1(P)
    assert found.lower <= 1 / (n * farthest) * (1 + 1e-12)
    assert 1 / (n * farthest) <= found.upper * (1 + 1e-12)
    assert found.value == pytest.approx(1 / (n * farthest), rel=1e-9)


@SETTINGS
@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(1, 8))
def test_no_direction_is_flatter(seed, n, more):
    rng = np.random.default_rng(seed)
    P = rng.standard_normal((n + 1, n + more))
    P -= P.mean(axis=0)
    found = curvature_l1(P)
    v = P @ rng.standard_normal((n + more, 300))
    v /= np.linalg.norm(v, axis=0)
    assert found.lower <= (np.abs(P.T @ v).max(axis=0) ** 2).min() / len(P)
    assert lojasiewicz_l2(P).lower / P.shape[1] <= found.upper


def rational_solution(A, b):
    """The solution of a rational system, or None when it is singular."""
    rows = [[*line, right] for line, right in zip(A, b, strict=True)]
    for k in range(len(rows)):
        pivot = next((i for i in range(k, len(rows)) if rows[i][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [a / rows[k][k] for a in rows[k]]
        for i in range(len(rows)):
            if i != k:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [line[-1] for line in rows]


def rational_mu1l(P):
    """mu1L of an integer design of full row rank: 1 / n over the longest vertex of the polar."""
    n = len(P)
    columns = [[Fraction(int(a)) for a in column] for column in P.T]
    longest = Fraction(0)
    for chosen in itertools.combinations(columns, n):
        for signs in itertools.product([1, -1], repeat=n - 1):
            v = rational_solution(chosen, [Fraction(1), *map(Fraction, signs)])
            if v and all(abs(sum(map(Fraction.__mul__, v, a))) <= 1 for a in columns):
                longest = max(longest, sum(a * a for a in v))
    return 1 / (n * longest)


INTEGERS = {
    "sparse signs": np.array([[1, 1, 0, -1], [0, 1, 1, 1], [1, 0, 1, 1]]),
    "edges of a cube": np.array([[1, 1, 1, 1, 1], [1, 1, -1, -1, 0], [1, -1, 1, -1, 0]]),
    "lengths apart": np.array([[100, 1, 2, 0], [3, 1, -1, 7]]),
    "nearly flat": np.array([[20, 21, 19], [1, 2, -1]]),
    **{f"drawn in {n}, {p}": np.random.default_rng(p).integers(-9, 10, (n, p))
       for n, p in [(2, 3), (2, 7), (3, 4), (3, 5), (3, 8)]},
}  # fmt: skip


@pytest.mark.parametrize("P", INTEGERS.values(), ids=INTEGERS)
def test_bounds_by_facets_hold_in_exact_arithmetic(P):
    exact, found = rational_mu1l(P), curvature_l1(P)
    assert Fraction(found.lower) <= exact <= Fraction(found.upper)
    assert found.upper - found.lower <= 1e-9 * found.value


def test_bounds_by_facets_hold_in_a_plane_of_the_space():
    # Orthogonal rows of equal length carry the plane, so that lengths there are rational.
    flat = INTEGERS["drawn in 2, 7"]
    P = np.array([[1, 2], [2, 1], [2, -2]]) @ flat
    # ||P^T v|| over unit v = A w / 3 is 3 ||flat^T w||; n is 3 and not 2.
    exact, found = rational_mu1l(flat) * 9 * 2 / 3, curvature_l1(P)
    assert Fraction(found.lower) <= exact <= Fraction(found.upper)
    assert found.upper - found.lower <= 1e-9 * found.value


DRAWN = {
    "gaussian": lambda rng, n, p: rng.standard_normal((n, p)),
    "heavy tails": lambda rng, n, p: rng.standard_t(2, (n, p)),
    "equal lengths": lambda rng, n, p: (
        (P := rng.standard_normal((n, p))) / np.linalg.norm(P, axis=0)
    ),
    "lattice, with repeated columns": lambda rng, n, p: rng.integers(-2, 3, (n, p)).astype(float),
    "one long direction": lambda rng, n, p: (
        rng.standard_normal((n, p)) * np.geomspace(1, 1e-3, n)[:, None]
    ),
}


@pytest.mark.parametrize("law", DRAWN)
@pytest.mark.parametrize(
    ("n", "p"), [(2, 5), (2, 5000), (3, 2000), (4, 400), (5, 100), (6, 40), (6, 150)]
)
def test_the_hull_of_few_columns_has_the_inradius_of_the_hull_of_all(law, n, p):
    P = DRAWN[law](np.random.default_rng(n * p), n, p)
    corners = np.concatenate([P, -P], axis=1).T
    inradius = -scipy.spatial.ConvexHull(corners).equations[:, -1].max()
    found = curvature_l1(P)
    assert found.value == pytest.approx(inradius**2 / n, rel=1e-8)
    assert found.lower <= found.value <= found.upper
    assert found.upper - found.lower <= 1e-6 * found.value


def test_the_inradius_of_many_columns_is_that_of_linear_programs():
    # The gauge of x is the least ||a||_1 with P a = x; the inradius is 1 / its maximum on the
    # sphere, which is at the foot of the nearest facet.
    P = np.random.default_rng(5).standard_normal((4, 3000))
    inradius = np.sqrt(4 * curvature_l1(P).value)

    def gauge(x):
        signed = np.concatenate([P, -P], axis=1)
        return scipy.optimize.linprog(np.ones(6000), A_eq=signed, b_eq=x).fun

    directions = np.random.default_rng(6).standard_normal((20, 4))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    assert all(gauge(inradius * v) <= 1 for v in directions)
    normals = scipy.spatial.ConvexHull(np.concatenate([P, -P], axis=1).T).equations[:, :-1]
    nearest = normals[np.abs(normals @ P).max(axis=1).argmin()]
    assert gauge(inradius * nearest) == pytest.approx(1, rel=1e-9)


def test_a_million_columns_in_the_plane():
    P = np.random.default_rng(1).standard_normal((2, 1_000_000))
    found = curvature_l1(P)
    turn = np.linspace(0, np.pi, 20_000)
    longest = P[:, np.linalg.norm(P, axis=0) > 4]
    heights = np.abs(np.array([np.cos(turn), np.sin(turn)]).T @ longest).max(axis=1)
    assert heights.min() > 4
    # Between two directions of this grid a height changes by at most 6 * pi / 20_000.
    assert heights.min() - 1e-3 <= np.sqrt(2 * found.lower) <= heights.min()


def test_the_hull_of_all_signs_is_a_cube():
    P = np.random.default_rng(2).choice([-1.0, 1.0], (5, 2000))
    assert curvature_l1(P).value == pytest.approx(1 / 5, rel=1e-12)


def test_special_ranks():
    column = curvature_l1(np.array([[3.0], [4.0]]))
    assert column.value == pytest.approx(25 / 2)
    row = curvature_l1(np.array([[1.0, -3.0, 2.0]]))
    assert row.value == pytest.approx(9)
    with_zero = curvature_l1(np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]))
    assert with_zero.value == pytest.approx(1 / (1 + 1 / 4) / 2)


def test_too_large_designs_are_refused():
    assert enumeration_fits(20, 20)
    assert not enumeration_fits(21, 21)
    assert enumeration_fits(3, 200)
    assert enumeration_fits(6, 1_000_000)
    assert not enumeration_fits(7, 1_000_000)
    assert not enumeration_fits(20, 200)
    with pytest.raises(DataError, match="25 columns of rank 25 are too many"):
        curvature_l1(np.random.default_rng(0).standard_normal((30, 25)))


def test_hulls_with_too_many_facets_are_refused(monkeypatch):
    P = np.random.default_rng(0).standard_normal((4, 500))
    assert curvature_l1(P).value > 0
    with monkeypatch.context() as patch:
        patch.setattr(l1_curvature, "_MOST_FACETS", 100)
        with pytest.raises(DataError, match="too many of the 500 columns of rank 4 are corners"):
            curvature_l1(P)
    monkeypatch.setattr(l1_curvature, "_MOST_PRODUCTS", 1000)
    with pytest.raises(DataError, match="too many of the 500 columns of rank 4 are corners"):
        curvature_l1(P)
