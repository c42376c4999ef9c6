"""Statements of the reports of 2008 and 2009 on sparse predictors that no other test checks.

Probabilities and means over draws are exact sums over all draws; minimisers are those of plain
numpy, of a linear program or of least squares.
"""

from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize_scalar
from sparsity_oracles import (
    Risk,
    drawn,
    forward_greedy,
    minimiser_in_ball,
    replacement_steps,
    sparsified,
)

from greedyexp.algorithms.sparsity import fully_corrective as corrective
from greedyexp.algorithms.sparsity import replacement_steps as replacing
from greedyexp.losses.risk import bind_risk
from greedyexp.problems.problem import as_problem
from greedyexp.theory import sparsity_bounds as bounds

SETTINGS = settings(deadline=None, derandomize=True, max_examples=25)
SEEDS = st.integers(0, 10**6)
SMOOTH = st.sampled_from(["squared", "logistic"])
ROUNDING = 1e-9


def chance_of(value, w, k, most):
    """The probability that k draws from w have a value of at most ``most``."""
    return sum(chance for chance, v in sparsified(w, k) if value(v) <= most + ROUNDING)


def convexity(risk, support):
    """lambda of R on a support: the least eigenvalue for the squared loss, else the ridge."""
    if risk.name != "squared" or not len(support):
        return risk.ridge
    columns = risk.X[:, list(support)]
    return risk.ridge + np.linalg.eigvalsh(columns.T @ columns / len(columns))[0]


@SETTINGS
@given(SEEDS, st.integers(1, 4), st.sampled_from([0.3, 1.0]))
def test_draws_predict_without_bias_and_with_a_small_variance(seed, k, size):
    """Equation 6, the variance in the proof of Lemma 3, and at most k features."""
    risk, _ = drawn(seed, p=4, size=size)
    w = np.random.default_rng(seed).standard_normal(4)
    norm = np.abs(w).sum()
    draws = list(sparsified(w, k))
    assert sum(chance for chance, _ in draws) == pytest.approx(1)
    np.testing.assert_allclose(sum(chance * v for chance, v in draws), w, atol=1e-12)
    variance = sum(chance * (risk.X @ (v - w)) ** 2 for chance, v in draws)
    assert (variance <= norm**2 * size**2 / k + 1e-12).all()
    assert all(np.count_nonzero(v) <= k for _, v in draws)
    assert all(np.abs(v).sum() == pytest.approx(norm) for _, v in draws)


@SETTINGS
@given(SEEDS, SMOOTH, st.sampled_from([0.3, 1.0, 3.0]), st.integers(1, 4))
def test_two_repeats_are_enough_on_average_and_log_many_for_a_probability(seed, name, radius, k):
    """After Theorem 1: the mean number of repeats until one succeeds, and logarithms of base 2."""
    risk, _ = drawn(seed, name, p=4, ridge=0.05)
    w, _ = minimiser_in_ball(risk, radius)
    norm = np.abs(w).sum()
    assume(norm > 0)
    assert all(risk.value(v) >= risk.value(w) - ROUNDING for _, v in sparsified(w, k))
    chance = chance_of(risk.value, w, k, risk.value(w) + risk.smoothness * norm**2 / k)
    assert 1 / chance <= 2
    for delta in (0.3, 0.1, 0.01):
        assert (1 - chance) ** np.ceil(np.log2(1 / delta)) <= delta
        # A success in every second run would not be enough for as many as printed.
        assert delta > 0.1 or 0.5 ** np.ceil(np.log(1 / delta)) > delta


@SETTINGS
@given(SEEDS, SMOOTH, st.sampled_from([0.0, 0.1, 1.0]), st.integers(1, 4))
def test_strong_convexity_bounds_the_l1_norm_of_a_fit(seed, name, ridge, n):
    """Lemma 1."""
    risk, _ = drawn(seed, name, ridge=ridge if name == "squared" else max(ridge, 0.05))
    support = np.random.default_rng(seed).choice(6, n, replace=False)
    w = risk.minimise(support)
    strong = convexity(risk, support)
    assume(strong > 1e-6)
    drop = risk.value(0 * w) - risk.value(w)
    assert np.abs(w).sum() <= np.sqrt(2 * n * drop / strong) * (1 + 1e-6) + ROUNDING


def test_lemma_1_is_reached_by_orthonormal_features_of_equal_weight():
    w = np.full(5, 0.4)
    risk = Risk(np.sqrt(5) * np.eye(5), np.sqrt(5) * w)
    drop = risk.value(0 * w) - risk.value(w)
    assert np.abs(w).sum() == pytest.approx(np.sqrt(2 * 5 * drop / 1.0))


@settings(SETTINGS, max_examples=15)
@given(SEEDS, SMOOTH, st.integers(1, 2), st.integers(1, 5))
def test_corollary_1_holds_with_probability_one_half(seed, name, n, k):
    """Smooth losses: the minimiser over the ball of Lemma 1, against the fit on n features."""
    risk, _ = drawn(seed, name, p=4, ridge=0.1)
    support = np.random.default_rng(seed).choice(4, n, replace=False)
    wbar = risk.minimise(support)
    drop, strong = risk.value(0 * wbar) - risk.value(wbar), convexity(risk, support)
    assume(drop > 1e-6)
    radius = np.sqrt(2 * n * drop / strong)
    assert np.abs(wbar).sum() <= radius * (1 + 1e-9)
    w, _ = minimiser_in_ball(risk, radius)
    assert risk.value(w) <= risk.value(wbar) + ROUNDING
    epsilon = n * 2 * risk.smoothness * drop / (strong * k)
    assert chance_of(risk.value, w, k, risk.value(wbar) + epsilon) >= 0.5


def absolute_minimiser(X, y, radius):
    """The minimiser of mean |X w - y| over the l1 ball by a linear program."""
    n, d = X.shape
    cost = np.concatenate([np.zeros(2 * d), np.full(n, 1 / n)])
    signed = np.hstack([X, -X])
    rows = np.vstack(
        [
            np.hstack([signed, -np.eye(n)]),
            np.hstack([-signed, -np.eye(n)]),
            np.concatenate([np.ones(2 * d), np.zeros(n)])[None],
        ]
    )
    found = linprog(cost, A_ub=rows, b_ub=np.concatenate([y, -y, [radius]]), bounds=(0, None))
    return found.x[:d] - found.x[d : 2 * d]


@settings(SETTINGS, max_examples=10)
@given(SEEDS, st.integers(1, 2), st.integers(1, 5))
def test_corollary_1_for_lipschitz_losses_holds_with_strong_convexity_to_zero(seed, n, k):
    """Lemma 1 compares wbar with 0 only, so lambda of these two points serves."""
    risk, _ = drawn(seed, "absolute", p=4)

    def value(w):
        return np.abs(risk.X @ w - risk.y).mean()

    support = np.random.default_rng(seed).choice(4, n, replace=False)
    wbar = np.zeros(4)
    wbar[support] = absolute_minimiser(risk.X[:, support], risk.y, 1e3)
    drop = value(0 * wbar) - value(wbar)
    assume(drop > 1e-6)
    strong = 2 * drop / (wbar @ wbar)
    radius = np.sqrt(2 * n * drop / strong)
    assert np.abs(wbar).sum() <= radius * (1 + 1e-9)
    w = absolute_minimiser(risk.X, risk.y, radius)
    assert value(w) <= value(wbar) + ROUNDING
    epsilon = np.sqrt(n * 4 * drop / (strong * k))
    assert chance_of(value, w, k, value(wbar) + epsilon) >= 0.5


@pytest.mark.parametrize("name", ["absolute", "hinge", "logistic"])
def test_no_risk_of_a_lipschitz_loss_is_strongly_convex(name):
    """It grows linearly, so that Corollary 1 for such losses speaks of no risk at all."""
    risk, _ = drawn(3, name)
    value = risk.value if name == "logistic" else risk.original
    direction = np.eye(6)[0]
    slope = risk.gradient(0 * direction) @ direction
    for t in (1e2, 6e2):
        rise = value(t * direction) - value(0 * direction) - t * slope
        assert 2 * rise / t**2 <= 4 / t


def test_features_of_section_3_are_those_of_theorem_1():
    for radius, epsilon in ((2.0, 0.1), (5.0, 0.03)):
        squared = bounds.theorem1_smooth(1.0, radius).steps(epsilon)
        assert squared == np.ceil(radius**2 / epsilon * (1 - 1e-12))
        logistic = bounds.theorem1_smooth(0.25, radius).steps(epsilon)
        assert logistic == np.ceil(radius**2 / (4 * epsilon) * (1 - 1e-12))
        printed = bounds.theorem1_lipschitz(1.0, radius, reading="printed").steps(epsilon)
        # True, since Theorem 1 needs fewer.
        assert printed <= 8 * np.sqrt(2) * radius**2 / epsilon**2


def all_signs(seed, d=10):
    """All rows of signs, and a label of -1 or 1 that is the sign of a linear function."""
    X = np.array(list(product([-1.0, 1.0], repeat=d)))
    a = np.random.default_rng(seed).standard_normal(d) ** 3
    return X, np.where(X @ a > 0, 1.0, -1.0)


def test_uniform_signs_have_the_risk_of_section_3():
    """The second moments are the identity, so R is 1-strongly convex; the sign of w.E[y x]."""
    X, y = all_signs(0)
    np.testing.assert_allclose(X.T @ X / len(X), np.eye(10), atol=1e-12)
    risk, rng = Risk(X, y), np.random.default_rng(1)
    cross = X.T @ y / len(X)
    for _ in range(5):
        w, u = rng.standard_normal((2, 10))
        assert risk.value(w) == pytest.approx(w @ w / 2 - w @ cross + 0.5)
        rise = risk.value(w) - risk.value(u) - risk.gradient(u) @ (w - u)
        assert rise == pytest.approx((w - u) @ (w - u) / 2)
        assert risk.value(0 * w) - risk.value(w) <= 1


@pytest.mark.parametrize("rule", ["objective", "gradient", "residual"])
def test_uniform_signs_need_the_features_of_section_3(rule):
    """2 n log(1 / epsilon) by Theorem 4, and 5 n by Theorem 5, against the best n features."""
    for seed in range(3):
        X, y = all_signs(seed)
        risk, problem = Risk(X, y), as_problem(X, y)
        path = corrective.fully_corrective(problem, rule=rule, steps=10)
        for n in (1, 2):
            best = min(risk.value(risk.minimise(F)) for F in combinations(range(10), n))
            for epsilon in (0.3, 0.1, 0.02):
                k = int(np.ceil(2 * n * np.log(1 / epsilon)))
                if k < 10:  # a path ends early where nothing is left to gain
                    assert path.objective[: k + 1].min() <= best + epsilon
            for start in ("best", "worst"):
                # k + 1 >= 5 n
                swapped = replacing.replacement_steps(
                    problem, rule=rule, features=5 * n - 1, start=start
                )
                assert np.count_nonzero(swapped.coef[-1]) <= 5 * n - 1
                assert swapped.objective[-1] <= best + ROUNDING


def test_few_rows_of_signs_keep_half_of_the_convexity():
    """lambda = 1/2 for all pairs of features, from a number of rows of the order of k log d."""
    rng = np.random.default_rng(0)
    for d in (20, 200, 2000):
        n = int(np.ceil(12 * 2 * np.log(d)))
        X = rng.choice([-1.0, 1.0], (n, d))
        gram = X.T @ X / n
        least = 1 - np.abs(gram[np.triu_indices(d, 1)]).max()
        assert least >= 0.5
    assert n < d / 10
    # With rank n < d the risk itself is not strongly convex.
    assert np.linalg.matrix_rank(gram[:400, :400]) == n


def test_a_sample_of_fewer_rows_than_features_keeps_the_features_of_theorem_4():
    """Section 3: k >= 2 n log(1 / epsilon) where lambda of the supports met is 1/2."""
    checked = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.choice([-1.0, 1.0], (150, 300))
        y = np.where(X[:, :2] @ [1.0, 0.7] + 0.5 * rng.standard_normal(150) > 0, 1.0, -1.0)
        risk = Risk(X, y)
        for n, epsilon in ((1, 0.1), (2, 0.2)):
            k = int(np.ceil(2 * n * np.log(1 / epsilon)))
            path = corrective.fully_corrective(as_problem(X, y), steps=k)
            F = range(n)
            met = np.union1d(np.flatnonzero(path.coef[-1]), F)
            if convexity(risk, met.astype(int)) >= 0.5:
                checked += 1
                assert path.objective[k] <= risk.value(risk.minimise(F)) + epsilon
    assert checked > 4


def test_copies_of_a_feature_leave_the_condition_of_corollary_1_and_not_that_of_theorem_4():
    risk, _ = drawn(0)
    doubled = Risk(np.hstack([risk.X, risk.X[:, :1]]), risk.y)
    assert convexity(doubled, [0, 1]) == pytest.approx(convexity(risk, [0, 1]))
    w, again = risk.minimise([0, 1]), doubled.minimise([0, 1])
    np.testing.assert_allclose(again[:6], w)
    assert convexity(doubled, [0, 6]) == pytest.approx(0, abs=1e-12)
    assert convexity(risk, range(6)) > 0.001


@settings(SETTINGS, max_examples=15)
@given(SEEDS, SMOOTH, st.sampled_from([0.05, 0.5]), st.booleans())
def test_a_greedy_step_gains_what_lemma_7_says(seed, name, ridge, strong):
    """Where R(w) >= R(wbar), with lambda = 0 and with that of the risk."""
    risk, _ = drawn(seed, name, ridge=ridge)
    rng = np.random.default_rng(seed)
    F = rng.choice(6, rng.integers(0, 4), replace=False)
    w = risk.minimise(F)
    lam = convexity(risk, range(6)) if strong else 0.0
    j = np.eye(6)[np.abs(risk.gradient(w)).argmax()]
    gained = risk.value(w) - minimize_scalar(lambda a: risk.value(w + a * j), tol=1e-14).fun
    for size in (1, 2, 3):
        other = rng.choice(6, size, replace=False)
        wbar = risk.minimise(other)
        ahead = risk.value(w) - risk.value(wbar)
        new = np.setdiff1d(other, F)
        if ahead < 0 or not len(new) or not np.abs(wbar[new]).sum():
            continue
        square = (ahead + lam / 2 * ((w - wbar) ** 2).sum()) ** 2
        assert gained >= square / (2 * risk.smoothness * np.abs(wbar[new]).sum() ** 2) - ROUNDING


def test_replacements_at_the_least_size_take_twice_the_steps_of_theorem_4():
    """After Theorem 5: the order of T, and sizes linear and quadratic in beta / lambda."""
    for beta, lam, n in ((1.0, 0.5, 3), (1.0, 0.25, 2)):
        k = int(n * (1 + 4 * (beta / lam) ** 2)) - 1
        fifth = bounds.theorem5(beta, lam, n, features=k, first_gap=1.0, span=1.0)
        fourth = bounds.theorem4(beta, lam, n, 1.0)
        assert fifth.steps(1e-9) == pytest.approx(2 * fourth.steps(1e-9), abs=2)
        halved = bounds.theorem4(beta, lam / 2, n, 1.0)
        assert halved.steps(1e-9) == pytest.approx(2 * fourth.steps(1e-9), abs=2)
        needed = int(n * (1 + 4 * (2 * beta / lam) ** 2)) - 1
        less, enough = (
            bounds.theorem5(beta, lam / 2, n, features=size, first_gap=1.0, span=1.0)
            for size in (needed - 1, needed)
        )
        assert less.why_infinite
        assert not enough.why_infinite
        # Only the time of Theorem 5 depends on the accuracy.
        assert fifth.constants["features"] == k


@settings(SETTINGS, max_examples=10)
@given(SEEDS)
def test_replacements_end_near_a_reference_that_is_nearly_the_minimum(seed):
    """After Theorem 5: ||w - wbar||^2 <= 2 (R(w) - R(wbar) - <grad R(wbar), w - wbar>) / lambda."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (600, 20))
    truth = np.zeros(20)
    truth[:2] = rng.uniform(0.5, 2.0, 2)
    risk = Risk(X, X @ truth + 1e-3 * rng.standard_normal(600))
    wbar = risk.minimise([0, 1])
    lam = convexity(risk, range(20))
    assert 2 * (1 + 4 * (risk.smoothness / lam) ** 2) <= 14 + 1 or lam < 0.83
    points, _ = replacement_steps(risk, range(6, 20), 60)
    distances = [((w - wbar) ** 2).sum() for w in points]
    slope = np.abs(risk.gradient(wbar)).max()
    for w, distance in zip(points, distances, strict=True):
        excess = risk.value(w) - risk.value(wbar) + slope * np.abs(w - wbar).sum()
        assert distance <= 2 * excess / lam + ROUNDING
    assert distances[-1] < 1e-4 < distances[0]


def test_simple_replacements_leave_no_excess_either():
    """ "Similar results hold": nothing is proved, but no run ends above the best single feature."""
    moved = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(9, 16))
        shared = rng.uniform(0, 0.1) * rng.uniform(-1, 1, (d, d))
        gram = np.eye(d) + (shared + shared.T) / 2 * (1 - np.eye(d))
        X = np.sqrt(d) * np.linalg.cholesky(gram).T
        risk = Risk(X, X @ (rng.standard_normal(d) * rng.choice([0.05, 1.0, 3.0], d)))
        k = int(np.ceil(1 + 4 / np.linalg.eigvalsh(gram)[0] ** 2)) - 1
        if k + 2 > d:
            continue
        path = replacing.replacement_steps(
            as_problem(risk.X, risk.y), features=k, variant="simple", start="worst"
        )
        best = min(risk.value(risk.minimise([j])) for j in range(d))
        assert path.objective[-1] <= best + ROUNDING
        moved += path.objective[0] > best
    assert moved > 3


@settings(SETTINGS, max_examples=10)
@given(SEEDS, st.sampled_from(["absolute", "hinge"]), st.sampled_from([1.0, 5.0]))
def test_fully_corrective_selection_of_a_smoothed_loss_keeps_its_guarantee(seed, name, beta):
    """After Theorem 3: 2 beta ||wbar||_1^2 / k for the smoothed risk, and what smoothing costs."""
    risk, _ = drawn(seed, name, ridge=0.01, beta=beta)
    path = corrective.fully_corrective(
        as_problem(risk.X, risk.y), loss=name, beta=beta, ridge=0.01, steps=6
    )
    for size in (1, 2, 4, 6):
        wbar = risk.minimise(np.random.default_rng(seed).choice(6, size, replace=False))
        for k in range(1, len(path)):
            excess = risk.original(path.coef[k, :, 0]) - risk.original(wbar)
            bound = 2 * risk.smoothness * np.abs(wbar).sum() ** 2 / k
            assert excess <= bound + 1 / (2 * beta) + ROUNDING


def least_ratio(chances, degree):
    """The least E|Q| / E[Q^2]^(1/2) over polynomials of independent bits, with its constants.

    E[Q^2] is convex, so its maximum where E|Q| <= 1 is at a corner, a polynomial that is zero at
    as many points as there are monomials but one.
    """
    d = len(chances)
    points = np.array(list(product([0, 1], repeat=d)))
    weights = np.where(points, chances, 1 - np.array(chances)).prod(axis=1)
    monomials = [S for r in range(degree + 1) for S in combinations(range(d), r)]
    values = np.array([points[:, list(S)].prod(axis=1) for S in monomials], dtype=float).T
    least = 1.0
    for zeros in combinations(range(len(points)), len(monomials) - 1):
        kernel = np.linalg.svd(values[list(zeros)])[2][-1]
        Q = np.abs(values @ kernel)
        if Q.max() > 1e-9:
            least = min(least, (weights @ Q) / np.sqrt(weights @ Q**2))
    return least


@pytest.mark.parametrize(
    ("chances", "degree"),
    [((0.05,), 1), ((0.05, 0.05), 1), ((0.05, 0.5, 0.95), 1), ((0.05, 0.05), 2), ((0.25,) * 3, 1)],
)
def test_polynomials_of_biased_bits_keep_lemma_11(chances, degree):
    found = least_ratio(chances, degree)
    assert found >= 0.2**degree
    # The rarest outcome alone has the root of its probability.
    rarest = np.prod(np.minimum(chances, 1 - np.array(chances))[:degree])
    assert found <= np.sqrt(rarest) * (1 + 1e-9)


def test_a_step_of_forward_greedy_selection_changes_all_coefficients_and_adds_one_feature():
    """Both reports say that it alters a single element; the others shrink by 1 - eta."""
    risk = Risk(np.sqrt(3) * np.eye(3), np.sqrt(3) * np.array([1.0, 0.8, 0.6]))
    points, _ = forward_greedy(risk, 4.0, 12)
    changed = [np.count_nonzero(b != a) for a, b in pairwise(points)]
    added = [np.count_nonzero((b != 0) & (a == 0)) for a, b in pairwise(points)]
    assert max(changed) > 1
    assert max(added) == 1
    for k, point in enumerate(points):
        assert np.count_nonzero(point) <= k
        assert np.abs(point).sum() <= 4 + 1e-12


@SETTINGS
@given(
    SEEDS,
    st.sampled_from(["squared", "logistic", "absolute", "hinge"]),
    st.sampled_from([0.2, 1.0, 5.0]),
)
def test_each_step_of_2008_falls_as_its_lemma_2_says(seed, name, radius):
    """With beta the inverse of the smoothness; phases and end of the proof of Theorem 1."""
    risk, _ = drawn(seed, name, ridge=0.05)
    beta = 1 / risk.smoothness
    points, gaps = forward_greedy(risk, radius, 60)
    best, _ = minimiser_in_ball(risk, radius)
    values = np.array([risk.value(w) for w in points])
    excess = values - risk.value(best)
    eta = np.minimum(1, beta * gaps / (4 * radius**2))
    fall = eta * excess - 2 * eta**2 * radius**2 / beta
    assert (values[:-1] - values[1:] >= fall[:-1] - ROUNDING).all()
    assert (gaps >= excess - ROUNDING).all()
    assert (np.diff(values) <= ROUNDING).all()
    first = np.argmax(excess <= 4 * radius**2 / beta)
    assert first <= excess[0] * beta / (2 * radius**2) + 1
    assert first <= 1
    t = np.arange(1, 62 - first)
    assert (excess[first:] <= 8 * radius**2 / beta / (t + 1) + ROUNDING).all()


@given(st.floats(0.01, 0.49), st.floats(0.0, 1.0), st.integers(1, 60))
@settings(deadline=None, derandomize=True, max_examples=60)
def test_sequences_that_fall_by_their_square_keep_lemma_9_of_2008(r, share, length):
    e = share / (2 * r)
    for t in range(1, length + 1):
        assert e <= 1 / (r * (t + 1)) * (1 + 1e-12)
        e -= r * e**2


GRID = np.linspace(-40.0, 40.0, 8_001)
SHIFTS = np.linspace(-3.0, 3.0, 1_201)
FUNCTIONS = {  # proper convex functions with their conjugates
    "absolute": (np.abs, lambda t: np.where(np.abs(t) <= 1, 0.0, np.inf)),
    "hinge": (
        lambda a: np.maximum(1 - a, 0),
        lambda t: np.where((t >= -1) & (t <= 0), t, np.inf),
    ),
    "half square": (lambda a: a**2 / 2, lambda t: t**2 / 2),
    "twice square": (lambda a: 2 * a**2, lambda t: t**2 / 8),
}


def conjugate(values, slope):
    """max_a slope a - f(a) over the grid."""
    return (slope * GRID - values).max()


def convolved(f, beta, at):
    """inf_v v^2 / (2 beta) + f(a - v) over a grid, as in 2008."""
    return np.array([(SHIFTS**2 / (2 * beta) + f(a - SHIFTS)).min() for a in at])


@pytest.mark.parametrize("name", ["absolute", "hinge"])
def test_lemmas_3_to_8_of_2008_on_conjugates(name):
    """Conjugates by maximisation over a grid; both losses are 1-Lipschitz."""
    f, known = FUNCTIONS[name]
    slopes = np.linspace(-0.9, 0.9, 7)
    if name == "hinge":
        slopes = np.linspace(-0.9, -0.1, 5)
    beta = 0.5
    smooth = convolved(f, beta, GRID)
    inner = np.abs(GRID) < 30
    # Lemma 3: between 0 and beta lambda^2 / 2; the derivative is 1 / beta Lipschitz, not beta.
    loss = (f(GRID) - smooth)[inner]
    assert loss.min() >= -1e-9
    assert loss.max() == pytest.approx(beta / 2, abs=1e-3)
    coarse = convolved(f, beta, np.linspace(-3.0, 3.0, 61))
    bend = np.diff(coarse, 2).max() / 0.1**2
    assert beta < bend <= 1 / beta * (1 + 1e-6)
    for slope in slopes:
        plain = conjugate(f(GRID), slope)
        assert plain == pytest.approx(float(known(slope)), abs=1e-3)
        # Lemma 4: the conjugate of a convolution is the sum of the conjugates.
        convolution = conjugate(smooth, slope)
        assert convolution == pytest.approx(plain + beta / 2 * slope**2, abs=1e-3)
        # Lemma 6: functions that differ by at most z have conjugates that do.
        assert plain - 1e-9 <= convolution <= plain + beta / 2 + 1e-9
    # Lemma 5: the conjugate of a 1-Lipschitz function is infinite beyond slopes of 1.
    for slope in (-1.2, 1.2):
        assert conjugate(f(GRID), slope) > 5
    # Lemma 7: equality where the slope is a derivative.
    for a in (-2.0, 0.3, 2.5):
        at = np.abs(GRID - a).argmin()
        slope = np.gradient(f(GRID), GRID)[at]
        assert f(GRID[at]) + conjugate(f(GRID), slope) == pytest.approx(slope * GRID[at], abs=1e-3)


@pytest.mark.parametrize(("name", "sigma"), [("half square", 1.0), ("twice square", 4.0)])
def test_conjugates_of_strongly_convex_functions_are_smooth(name, sigma):
    """Lemma 8 of 2008: its inequality, and a derivative with constant 1 / sigma, not sigma."""
    f, known = FUNCTIONS[name]
    for theta, step in product((-2.0, 0.0, 1.0), (-1.0, 0.5, 3.0)):
        here, there = (conjugate(f(GRID), slope) for slope in (theta, theta + step))
        assert here == pytest.approx(float(known(theta)), abs=1e-5)
        slope = theta / sigma
        assert there - here <= slope * step + step**2 / (2 * sigma) + 1e-4
        assert there - here >= slope * step + step**2 / (2 * sigma) - 1e-4


def test_smoothing_of_figure_2_of_2008_costs_a_quarter_and_that_of_its_section_2_a_half():
    rho, epsilon = 1.3, 0.2
    assert epsilon / (2 * rho**2) * rho**2 / 2 == pytest.approx(epsilon / 4)
    assert epsilon / rho**2 * rho**2 / 2 == pytest.approx(epsilon / 2)


@SETTINGS
@given(SEEDS, st.sampled_from(["squared", "logistic", "absolute", "hinge"]), st.floats(0, 1))
def test_losses_of_section_1_are_convex(seed, name, share):
    """Assumption 1, for the losses of the package before smoothing, which have kinks."""
    risk, _ = drawn(seed, name)
    beta = {"beta": 2.0} if name in ("absolute", "hinge") else {}
    loss = bind_risk(name, as_problem(risk.X, risk.y), **beta)
    w, u = np.random.default_rng(seed).standard_normal((2, 6)) * 3
    between = loss.unsmoothed(share * w + (1 - share) * u)
    ends = share * loss.unsmoothed(w) + (1 - share) * loss.unsmoothed(u)
    assert between <= ends + ROUNDING
    plain = risk.original if beta else risk.value
    assert between == pytest.approx(plain(share * w + (1 - share) * u))
