"""The row minimiser against its optimality conditions and a linear program."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from row_oracles import penalty
from scipy.optimize import linprog

from greedyexp.kernels import native
from greedyexp.kernels.row_path import row_path

ZERO, UPPER = native.row_penalty.ZERO, native.row_penalty.UPPER
TIED, LOWER = native.row_penalty.TIED, native.row_penalty.LOWER
SETTINGS = settings(deadline=None, derandomize=True, max_examples=60)


def minimise(g, h, lam_s, lam_b):
    g, h = np.asarray(g, dtype=float), np.asarray(h, dtype=float)
    row, kind = np.empty(len(g)), np.empty(len(g), np.int8)
    theta = native.row_penalty.minimise(g, h, lam_s, lam_b, row, kind)
    return row, kind, theta


def gauges(grad, lam_s, lam_b):
    out = np.empty(grad.shape[1])
    native.row_penalty.gauges(grad, lam_s, lam_b, out)
    return out


@st.composite
def rows(draw):
    r = draw(st.integers(1, 6))
    whole = st.integers(-6, 6).map(float)
    real = st.floats(-5, 5).map(lambda v: 0.0 if abs(v) < 1e-6 else v)
    g = draw(st.lists(st.one_of(whole, real), min_size=r, max_size=r))
    h = draw(st.lists(st.one_of(st.just(1.0), st.floats(0.1, 4)), min_size=r, max_size=r))
    ratio = draw(st.one_of(st.integers(1, r).map(float), st.floats(1, r)))
    lam_s = draw(st.sampled_from([0.3, 1.0, 2.5]))
    return np.array(g), np.array(h), lam_s, ratio * lam_s


def largest_product(v, lam_s, lam_b):
    """max <u, |v|> over 0 <= u <= lam_s, sum u <= lam_b, by linear programming."""
    size = np.abs(v)
    found = linprog(-size, A_ub=np.ones((1, len(v))), b_ub=[lam_b], bounds=(0, lam_s))
    return -found.fun


@SETTINGS
@given(rows())
def test_minimiser_meets_the_optimality_conditions(case):
    g, h, lam_s, lam_b = case
    row, _, _ = minimise(g, h, lam_s, lam_b)
    u = g - h * row
    assert np.abs(u).max() <= lam_s * (1 + 1e-12)
    assert np.abs(u).sum() <= lam_b * (1 + 1e-12)
    assert u @ row == pytest.approx(largest_product(row, lam_s, lam_b), abs=1e-9)


@SETTINGS
@given(rows())
def test_theta_and_kinds_describe_the_minimiser(case):
    g, h, lam_s, lam_b = case
    row, kind, theta = minimise(g, h, lam_s, lam_b)
    size = np.abs(row)
    assert (size[kind == TIED] == theta).all()
    assert (row[kind == ZERO] == 0).all()
    assert (size[kind == UPPER] >= theta).all()
    assert (size[kind == LOWER] <= theta).all()
    assert (theta > 0) == (TIED in kind)
    by_level = lam_b * theta + lam_s * np.maximum(size - theta, 0).sum()
    assert by_level == pytest.approx(penalty(row[None], lam_s, lam_b), abs=1e-12)


@SETTINGS
@given(rows(), st.integers(0, 2**31))
def test_no_other_row_is_better(case, seed):
    g, h, lam_s, lam_b = case
    row, _, _ = minimise(g, h, lam_s, lam_b)

    def value(v):
        return h @ v**2 / 2 - g @ v + penalty(v[None], lam_s, lam_b)

    rng = np.random.default_rng(seed)
    for scale in (1e-4, 1e-2, 1.0):
        for _ in range(5):
            other = row + scale * rng.standard_normal(len(row))
            assert value(row) <= value(other) + 1e-12


def test_two_tasks_by_hand():
    # u = (1, 0.5): the first entry pays the box price, the second what is left of lam_b.
    row, kind, theta = minimise([4.0, 2.0], [1.0, 1.0], 1.0, 1.5)
    assert row.tolist() == [3.0, 1.5]
    assert theta == 1.5
    assert kind.tolist() == [UPPER, TIED]
    # Tied: (3 - t) + (2.9 - t) = 1.5.
    row, kind, theta = minimise([3.0, -2.9], [1.0, 1.0], 1.0, 1.5)
    assert row == pytest.approx([2.2, -2.2])
    assert kind.tolist() == [TIED, TIED]
    # linf: the smaller entry below the level goes free.
    row, kind, theta = minimise([3.0, 0.5], [1.0, 1.0], 1.0, 1.0)
    assert row.tolist() == [2.0, 0.5]
    assert kind.tolist() == [TIED, LOWER]


@pytest.mark.parametrize("ratio", [1.0, 1.5, 2.0])
def test_prices_far_below_the_gradient_keep_their_manifold(ratio):
    # lam_s is far smaller than g: the flat parts of sum u_j(theta) must not be lost in rounding.
    g, h, lam_s = np.array([3.0, 1.7, -0.9]), np.array([0.7, 1.3, 1.9]), 1e-9
    row, kind, theta = minimise(g, h, lam_s, ratio * lam_s)
    assert np.abs(g - h * row) == pytest.approx([lam_s, max(ratio - 1, 0) * lam_s, 0], abs=1e-15)
    assert kind.tolist() == [[TIED, LOWER, LOWER], [UPPER, TIED, LOWER]][ratio > 1]
    assert theta == abs(row[0 if ratio == 1 else 1])


def test_box_alone_is_soft_thresholding_in_spite_of_rounding():
    # The sum of r prices may exceed r * lam_s by an ulp; no level must come of it.
    for lam_s in np.linspace(0.1, 1, 50):
        g = np.array([3.0, -2.0, 4.0, 1.5, -1.2, 2.2, 5.0])
        row, kind, theta = minimise(g, np.ones(7), lam_s, 7 * lam_s)
        assert theta == 0
        assert set(kind) == {UPPER}
        assert row == pytest.approx(g - np.sign(g) * lam_s)


@pytest.mark.parametrize("theta", [0.0, -1e-300])
def test_a_row_vanishes_when_an_entry_joins_a_level_of_zero(theta):
    coef = np.array([[0.0], [0.0], [0.7]])
    level = np.array([theta])
    kind = np.array([[LOWER], [TIED], [UPPER]], np.int8)
    native.row_penalty.cross(coef, level, kind, 0, 0)
    assert kind[:, 0].tolist() == [ZERO, ZERO, UPPER]
    assert level[0] == 0
    assert coef[:, 0].tolist() == [0, 0, 0.7]


def test_zero_columns_stay_zero():
    row, kind, _ = minimise([0.0, 3.0, -2.0], [0.0, 1.0, 2.0], 1.0, 1.2)
    assert row[0] == 0
    assert kind[0] == ZERO
    assert row[1] > 0 > row[2]


@SETTINGS
@given(rows())
def test_gauge_is_the_dual_norm(case):
    g, _, lam_s, lam_b = case
    gauge = gauges(g[:, None], lam_s, lam_b)[0]
    assert gauge == pytest.approx(max(np.abs(g).max() / lam_s, np.abs(g).sum() / lam_b))
    # The gauge is the largest <g, v> over the unit ball of the penalty, reached on sign patterns.
    reached = 0.0
    order = np.argsort(-np.abs(g))
    for count in range(1, len(g) + 1):
        v = np.zeros(len(g))
        v[order[:count]] = np.sign(g[order[:count]]) + (g[order[:count]] == 0)
        reached = max(reached, g @ v / penalty(v[None], lam_s, lam_b))
    assert gauge == pytest.approx(reached, abs=1e-12)


def test_certificate_is_primal_minus_dual_at_any_point():
    rng = np.random.default_rng(3)
    n, p, r, lam_s, lam_b = 20, 6, 3, 0.2, 0.35
    X, y = rng.standard_normal((n, p)), rng.standard_normal((n, r))
    coef = rng.standard_normal((p, r)) * (rng.random((p, r)) < 0.5)
    theta = -np.sort(-np.abs(coef), axis=1)[:, 1]  # lam_b / lam_s in (1, 2): second largest
    residual = y - X @ coef
    grad, correlation = (X.T @ residual / n).T, (X.T @ y / n).T
    power = (y**2).sum() / n
    value, gap = native.row_penalty.certificate(
        coef.T, theta, grad, correlation, power, lam_s, lam_b
    )
    primal = (residual**2).sum() / (2 * n) + penalty(coef, lam_s, lam_b)
    gauge = gauges(grad, lam_s, lam_b).max()
    alpha = residual / n / max(gauge, 1)
    dual = (alpha * y).sum() - n / 2 * (alpha**2).sum()
    assert value == pytest.approx(primal, rel=1e-12)
    assert gap == pytest.approx(primal - dual, rel=1e-10)


@pytest.mark.parametrize("place", [(0, 0), (1, 2), (2, 3)])
def test_gauges_and_certificate_keep_what_is_not_a_number(place):
    grad = np.arange(12.0).reshape(3, 4)
    grad[place] = np.nan
    found = gauges(grad, 1.0, 2.0)
    assert np.isnan(found).tolist() == [i == place[1] for i in range(4)]
    # No coefficient is used, so that only the gauges see the gradient.
    coef, theta = np.zeros((3, 4)), np.zeros(4)
    _, gap = native.row_penalty.certificate(coef, theta, grad, coef, 1.0, 1.0, 2.0)
    assert np.isnan(gap)


def test_a_path_never_returns_what_is_not_a_number():
    gram, correlation = np.eye(3)[None], np.ones((2, 3))
    gram[0, 0, 1] = gram[0, 1, 0] = np.nan
    lam, most = np.array([0.5, 0.4]), np.array([6, 6])
    coef, value, gap, done = row_path(gram, correlation, 6.0, lam, 1.5 * lam, 6, 1e-7, 50, most)
    assert done == 2
    assert not coef.any()
    assert value.tolist() == [3.0, 3.0]
    assert (gap > 1).all()
