"""Theorems on accuracy and sparsity on random problems, by algorithms in plain numpy."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sparsity_oracles import (
    Risk,
    drawn,
    forward_greedy,
    fully_corrective,
    minimiser_in_ball,
    replacement_steps,
    sparsified,
)

from greedyexp.theory import sparsity_bounds as bounds
from greedyexp.theory import sparsity_smoothing as smoothing

SETTINGS = settings(deadline=None, derandomize=True, max_examples=50)
SEEDS = st.integers(0, 10**6)
LOSSES = st.sampled_from(["squared", "logistic", "absolute", "hinge"])
SIZES = st.sampled_from([0.3, 1.0, 3.0])
RIDGES = st.sampled_from([0.05, 0.5])
RADII = st.sampled_from([0.2, 1.0, 5.0])
ROUNDING = 1e-9


def references(risk, truth, radius):
    """The minimiser over the ball, the truth made to fit, and points of few coefficients."""
    best, gap = minimiser_in_ball(risk, radius)
    assert gap < 1e-6
    found = [best, truth * min(1.0, radius / max(np.abs(truth).sum(), 1e-9))]
    rng = np.random.default_rng(len(truth))
    for n in (1, 2):
        w = np.zeros(len(truth))
        w[rng.choice(len(truth), n, replace=False)] = rng.choice([-1, 1], n) * radius / n
        found.append(w)
    return found


def excesses(risk, points, wbar):
    return np.array([risk.value(point) for point in points]) - risk.value(wbar)


@SETTINGS
@given(SEEDS, LOSSES, SIZES, RIDGES, st.integers(1, 4))
def test_theorem_one_bounds_the_mean_over_all_draws(seed, name, size, ridge, k):
    risk, _ = drawn(seed, name, p=4, size=size, ridge=ridge)
    w = np.random.default_rng(seed).standard_normal(4)
    norm = np.abs(w).sum()
    draws = list(sparsified(w, k))
    mean = sum(chance * risk.value(v) for chance, v in draws) - risk.value(w)
    assert mean <= bounds.theorem1_smooth(risk.smoothness, norm).excess(k) + ROUNDING
    if name != "squared":
        rho = max(1.0, size)
        plain = risk.value if name == "logistic" else risk.original
        mean = sum(chance * plain(v) for chance, v in draws) - plain(w)
        promise = bounds.theorem1_lipschitz(rho, norm, ridge=ridge)
        assert mean <= promise.excess(k) + ROUNDING


def chance_of(risk, w, k, epsilon, value):
    """The probability that k draws leave an excess of at most epsilon."""
    here = value(w)
    draws = sparsified(w, k)
    return sum(chance for chance, v in draws if value(v) - here <= epsilon + ROUNDING)


@SETTINGS
@given(SEEDS, LOSSES, SIZES, RADII, st.integers(1, 5))
def test_theorem_one_holds_with_probability_one_half_at_a_minimiser(seed, name, size, radius, k):
    risk, _ = drawn(seed, name, p=4, size=size, ridge=0.05)
    w, _ = minimiser_in_ball(risk, radius)
    norm = np.abs(w).sum()
    assume(norm > 0)
    epsilon = risk.smoothness * norm**2 / k
    assert bounds.theorem1_smooth(risk.smoothness, norm).steps(epsilon) == k
    assert chance_of(risk, w, k, epsilon, risk.value) >= 0.5


@SETTINGS
@given(SEEDS, st.sampled_from(["logistic", "absolute", "hinge"]), SIZES, st.integers(1, 5))
def test_the_printed_theorem_one_for_lipschitz_losses_holds_of_any_vector(seed, name, size, k):
    """Its constant is 2, where its proof has 4; the second moment proves it."""
    risk, _ = drawn(seed, name, p=4, size=size)
    w = np.random.default_rng(seed).standard_normal(4)
    rho, norm = max(1.0, size), np.abs(w).sum()
    epsilon = np.sqrt(2 / k) * rho * norm
    promise = bounds.theorem1_lipschitz(rho, norm, reading="printed")
    assert promise.steps(epsilon) == k
    plain = risk.value if name == "logistic" else risk.original
    assert chance_of(risk, w, k, epsilon, plain) >= 0.5


@settings(SETTINGS, max_examples=30)
@given(SEEDS, LOSSES, SIZES, RIDGES, RADII)
def test_theorem_two_bounds_every_step_and_the_end(seed, name, size, ridge, radius):
    risk, truth = drawn(seed, name, size=size, ridge=ridge)
    points, gaps = forward_greedy(risk, radius, 300)
    promise = bounds.theorem2(risk.smoothness, radius)
    k = np.arange(301)
    for wbar in references(risk, truth, radius):
        excess = excesses(risk, points, wbar)
        # Lemma 5, Lemma 6 and the theorem.
        assert (excess <= gaps + ROUNDING).all()
        whole = 8 * risk.smoothness * radius**2
        above = np.maximum(excess[:-1], 0.0)
        fall = np.where(above > whole / 2, whole / 4, above**2 / whole)
        assert (excess[:-1] - excess[1:] >= fall - ROUNDING).all()
        assert (excess <= promise.excess(k) + ROUNDING).all()
    # Wherever a run ends within these steps, it does so in time.
    lowest = np.minimum.accumulate(gaps)[1:] * (1 + 1e-9) + 1e-12
    ends = bounds.theorem2(risk.smoothness, radius, counts="termination").steps(lowest)
    first = np.array([np.argmax(gaps <= epsilon) for epsilon in lowest])
    assert (first <= ends).all()
    assert (gaps[1:] <= 4 * risk.smoothness * radius**2 + ROUNDING).all()


@settings(SETTINGS, max_examples=25)
@given(SEEDS, LOSSES, SIZES, RIDGES, st.sampled_from(["gradient", "objective"]))
def test_theorems_three_and_four_bound_every_step(seed, name, size, ridge, rule):
    risk, truth = drawn(seed, name, size=size, ridge=ridge)
    points, _ = fully_corrective(risk, 6, rule)
    lam = ridge
    if name == "squared":
        lam += np.linalg.eigvalsh(risk.X.T @ risk.X / len(risk.X))[0]
    zero = risk.value(0 * truth)
    k = np.arange(7)
    for wbar in [*references(risk, truth, 2.0), risk.minimise([0, 1]), truth]:
        excess = excesses(risk, points, wbar)
        third = bounds.theorem3(risk.smoothness, np.abs(wbar).sum()).excess(k)
        assert (excess <= third + ROUNDING).all()
        n = np.count_nonzero(wbar)
        fourth = bounds.theorem4(risk.smoothness, lam, n, zero - risk.value(wbar))
        assert (excess <= fourth.excess(k) + ROUNDING).all()


def well_conditioned(seed, name, *, p, ridge):
    """Independent signs and a ridge, lam of their risk, and the features, true ones first."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (60, p))
    truth = np.zeros(p)
    truth[rng.choice(p, 2, replace=False)] = rng.uniform(0.2, 2.0, 2)
    y = X @ truth + 0.5 * rng.standard_normal(60)
    if name != "squared":
        y = np.where(y > 0, 1.0, -1.0)
    risk = Risk(X, y, name, ridge=ridge)
    lam = ridge + (np.linalg.eigvalsh(X.T @ X / 60)[0] if name == "squared" else 0.0)
    return risk, lam, np.argsort(-np.abs(truth), kind="stable")


@settings(SETTINGS, max_examples=12)
@given(
    SEEDS,
    st.sampled_from(["squared", "logistic"]),
    st.integers(1, 2),
    st.floats(1.0, 20.0),
    st.booleans(),
)
def test_theorem_five_bounds_every_replacement(seed, name, n, ridge, greedy):
    """From the greedy support, and from any: Lemma 8 does not ask where it comes from."""
    p = 20
    risk, lam, order = well_conditioned(seed, name, p=p, ridge=ridge)
    ratio = risk.smoothness / lam
    k = int(np.ceil(n * (1 + 4 * ratio**2))) - 1
    assume(k + n <= p)
    start = fully_corrective(risk, k)[1] if greedy else order[n : n + k]
    points, ended = replacement_steps(risk, start, 12)
    zero = risk.value(np.zeros(p))
    for wbar in (risk.minimise(order[:n]), risk.minimise(fully_corrective(risk, n)[1])):
        excess = excesses(risk, points, wbar)
        values = {"features": k, "first_gap": excess[0], "span": zero - risk.value(wbar)}
        promise = bounds.theorem5(risk.smoothness, lam, n, **values)
        assert promise.why_infinite == ""
        assert (excess <= promise.excess(np.arange(len(points))) + ROUNDING).all()
        assert greedy or n < 2 or excess[0] > 0
        assert not ended or excess[-1] <= ROUNDING
        assert (np.diff(excess) <= ROUNDING).all()


@settings(SETTINGS, max_examples=15)
@given(SEEDS, st.sampled_from(["absolute", "hinge"]), SIZES, st.sampled_from([0.0, 0.1]), RADII)
def test_smoothed_runs_keep_what_the_mended_corollary_promises(seed, name, size, ridge, radius):
    rho = max(1.0, size)
    values = {"ridge": ridge, "epsilon": 0.6 * rho * radius}
    for promise, sharpness in (
        (smoothing.corollary2(rho, radius, **values), 1.0),
        (smoothing.theorem2_2008(rho, radius, **values), 2.0),
    ):
        epsilon = values["epsilon"]
        risk, truth = drawn(seed, name, size=size, ridge=ridge, beta=sharpness / epsilon)
        bound = promise.excess(np.arange(int(promise.steps(epsilon)) + 1))
        points, gaps = forward_greedy(risk, radius, len(bound) - 1)
        certified = gaps + smoothing.certified_error(1.0, risk.beta)
        risks = np.array([risk.original(point) for point in points])
        for wbar in references(risk, truth, radius):
            excess = risks - risk.original(wbar)
            assert (excess <= np.minimum(bound, certified) + ROUNDING).all()
            assert (excess[gaps <= epsilon / 2] <= epsilon).all()
            assert excess[-1] <= epsilon
