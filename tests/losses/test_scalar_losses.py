import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import expit

from greedyexp.kernels import scalar_losses
from greedyexp.theory.sparsity_smoothing import smoothing_error

CODES = {"absolute": scalar_losses.ABSOLUTE, "hinge": scalar_losses.HINGE}
kinds = pytest.mark.parametrize("kind", CODES)
betas = st.floats(-3, 6).map(lambda power: 10.0**power)
places = st.floats(-5, 5)


def values(code, beta, a, y):
    """The value of each prediction (n,), from a total over this one alone."""
    return np.array(
        [scalar_losses.total(code, beta, a[i : i + 1], y[i : i + 1]) for i in range(len(a))]
    )


def smoothed(kind, beta, a, y, compute=values):
    """Values, or what else is computed, of predictions (n,), and responses (n,) or one."""
    a = np.atleast_1d(np.asarray(a, dtype=float))
    return compute(CODES[kind], beta, a, np.zeros_like(a) + y)


def slopes(kind, beta, a, y):
    return smoothed(kind, beta, a, y, scalar_losses.slopes)


def plain(kind, a, y):
    return np.abs(a - y) if kind == "absolute" else np.maximum(0.0, 1.0 - y * a)


def responses(kind, number):
    return number if kind == "absolute" else (1.0 if number > 0 else -1.0)


def infimum(kind, a, y, weight):
    """inf_v weight v^2 / 2 + L(a - v), v up to the 2 / weight beyond which the square is larger."""

    def total(v):
        return 0.5 * weight * v**2 + plain(kind, a - v, y)

    low, high = -2.0 / weight, 2.0 / weight
    for _ in range(8):
        # Convex, so that the minimum is beside the best point of a grid.
        grid = np.linspace(low, high, 1001)
        best = int(np.argmin(total(grid)))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, 1000)]
    return total(grid[best])


@kinds
@settings(max_examples=60, deadline=None, derandomize=True)
@given(beta=betas, a=places, y=places)
def test_values_are_the_infimal_convolution(kind, beta, a, y):
    y = responses(kind, y)
    value = smoothed(kind, beta, a, y)[0]
    assert value == pytest.approx(infimum(kind, a, y, beta), rel=1e-10, abs=1e-12)


@kinds
@settings(max_examples=60, deadline=None, derandomize=True)
@given(beta=betas, a=places, y=places)
def test_smoothing_takes_off_at_most_its_error(kind, beta, a, y):
    """Lemma 2 of 2009."""
    y = responses(kind, y)
    error = smoothing_error(1.0, beta)
    assert error == pytest.approx(1.0 / (2.0 * beta), rel=1e-14)
    assert smoothed(kind, np.inf, a, y)[0] == plain(kind, a, y)
    difference = plain(kind, a, y) - smoothed(kind, beta, a, y)[0]
    slack = 4 * np.finfo(float).eps * (1 + plain(kind, a, y))
    assert -slack <= difference <= error + slack
    # On a straight piece all of it, at the kink nothing.
    far = y + 2.0 / beta if kind == "absolute" else y * (1.0 - 2.0 / beta)
    assert plain(kind, far, y) - smoothed(kind, beta, far, y)[0] == pytest.approx(error, rel=1e-6)
    assert smoothed(kind, beta, y, y)[0] == 0.0


@kinds
@settings(max_examples=80, deadline=None, derandomize=True)
@given(beta=betas, a=places, b=places, y=places, near=st.booleans())
def test_the_slope_has_lipschitz_constant_beta(kind, beta, a, b, y, near):
    y = responses(kind, y)
    if near:
        a, b = y + a / beta, y + b / beta
    one, other = slopes(kind, beta, np.array([a, b]), y)
    change = abs(one - other)
    assert change <= beta * abs(a - b) + 1e-9
    if near and abs(a - y) * beta < 1 and abs(b - y) * beta < 1 and kind == "absolute":
        # Attained where the loss is bent.
        assert change == pytest.approx(beta * abs(a - b), abs=1e-8)


@kinds
@pytest.mark.parametrize("beta", [1e-3, 0.4, 7.0, 1e5])
def test_the_slope_is_the_derivative(kind, beta):
    rng = np.random.default_rng(0)
    y = np.sign(rng.standard_normal(400)) if kind == "hinge" else rng.standard_normal(400)
    a = np.where(rng.random(400) < 0.5, 3 * rng.standard_normal(400), y)
    a = a + rng.standard_normal(400) / beta
    h = 1e-5 / beta
    found = slopes(kind, beta, a, y)
    # The slope changes by at most beta h between, and so does the mean slope.
    means = (smoothed(kind, beta, a + h, y) - smoothed(kind, beta, a - h, y)) / (2 * h)
    rounding = 1e-15 * (np.abs(a) + 1) / h
    assert (np.abs(means - found) <= beta * h + rounding).all()
    assert (np.abs(found) <= 1.0).all()


@kinds
@pytest.mark.parametrize("beta", [0.3, 4.0])
def test_moreau_decomposition(kind, beta):
    """beta a is beta times the proximal point of L and the one of its conjugate.

    The conjugate of |. - y| is theta y on [-1, 1], that of the hinge y theta on y theta in [-1, 0].
    """
    rng = np.random.default_rng(1)
    for a in 3 * rng.standard_normal(40):
        y = responses(kind, rng.standard_normal())
        low, high = (-1.0, 1.0) if kind == "absolute" else sorted((0.0, -y))
        slope = slopes(kind, beta, a, y)[0]

        def dual(theta, a=a, y=y):
            return theta * y + (theta - beta * a) ** 2 / (2 * beta)

        found = minimize_scalar(
            dual, bounds=(low, high), method="bounded", options={"xatol": 1e-10}
        )
        assert slope == pytest.approx(found.x, abs=1e-6)
        # The v of the infimum is the slope over beta: no other is better.
        value = 0.5 * slope**2 / beta + plain(kind, a - slope / beta, y)
        assert value == pytest.approx(smoothed(kind, beta, a, y)[0], rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("code", range(4))
@pytest.mark.parametrize("beta", [0.25, 3.0])
def test_kernels_agree_with_the_formulas(code, beta):
    rng = np.random.default_rng(2)
    a = np.concatenate([5 * rng.standard_normal(500), [0.0, 1.0, -1.0, 800.0, -800.0]])
    y = np.sign(rng.standard_normal(505))
    sizes = np.abs(a - y) if code == 2 else 1.0 - y * a
    bend = np.where(sizes * beta <= 1.0, beta / 2 * sizes**2, sizes - 1 / (2 * beta))
    expected = {
        0: (a - y) ** 2 / 2,
        1: np.logaddexp(0.0, -y * a),
        2: bend,
        3: np.where(sizes <= 0.0, 0.0, bend),
    }[code]
    derivatives = {
        0: a - y,
        1: -y * expit(-y * a),
        2: np.where(sizes * beta <= 1.0, beta * (a - y), np.sign(a - y)),
        3: -y * np.where(sizes <= 0.0, 0.0, np.where(sizes * beta <= 1.0, beta * sizes, 1.0)),
    }[code]
    np.testing.assert_allclose(values(code, beta, a, y), expected, rtol=1e-14, atol=1e-300)
    found = scalar_losses.slopes(code, beta, a, y)
    np.testing.assert_allclose(found, derivatives, rtol=1e-14, atol=1e-300)
    total = scalar_losses.total(code, beta, a, y)
    assert total == pytest.approx(expected.sum(), rel=1e-13)


def test_small_logistic_slopes_keep_their_digits():
    predictions = np.array([700.0, -700.0])
    out = scalar_losses.slopes(scalar_losses.LOGISTIC, 0.25, predictions, np.ones(2))
    assert out[0] == pytest.approx(-np.exp(-700.0), rel=1e-12)
    assert out[1] == -1.0
