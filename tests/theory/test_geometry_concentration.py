"""Statements of Moucer, Taylor & Bach (2024) on constants of random designs."""

import numpy as np
import pytest
import scipy
from geometry_oracles import curvature_by_hull, curvature_by_signs, gaussian, smoothness
from scipy import stats

# A count of violations above this quantile of its distribution is no accident.
SURE = 1 - 1e-9


def violations(values, low, high):
    return np.count_nonzero((values < low) | (values > high))


def allowed(trials, probability):
    return stats.binom.ppf(SURE, trials, min(1.0, probability))


@pytest.mark.parametrize("t", [0.3, 0.8, 1.5])
@pytest.mark.parametrize(("n", "p"), [(60, 4), (200, 8)])
def test_mu1_concentrates_as_proposition_nine_says(n, p, t):
    # For normal entries the constant C_3 K^2 is the root of two: below by Davidson and Szarek,
    # above since mu1 is at most the mean of ||P v||^2 / (n p^2) over signs v.
    constant, trials = np.sqrt(2.0), 300
    values = [p * curvature_by_signs(gaussian(seed, n, p)) for seed in range(trials)]
    low = max(0.0, 1 - constant * (np.sqrt(p / n) + t / np.sqrt(n))) ** 2
    high = (1 + constant * (1 / np.sqrt(n) + t / np.sqrt(n * p))) ** 2
    assert violations(np.array(values), low, high) <= allowed(trials, 2 * np.exp(-(t**2)))
    # It is no bound that nothing can break.
    assert violations(np.array(values), 0.99, high) > trials / 2


@pytest.mark.parametrize("t", [0.3, 0.8, 1.5])
@pytest.mark.parametrize(("n", "p"), [(2, 40), (3, 60)])
def test_mu1l_is_as_large_as_proposition_nine_says(n, p, t):
    trials = 300
    values = [n * curvature_by_hull(gaussian(seed, n, p)) for seed in range(trials)]
    low = max(0.0, 1 - np.sqrt(2.0) * (np.sqrt(n / p) + t / np.sqrt(p))) ** 2
    assert violations(np.array(values), low, np.inf) <= allowed(trials, np.exp(-(t**2)))


@pytest.mark.parametrize("n", [2, 3])
def test_mu1l_grows_with_the_logarithm_of_the_number_of_features(n):
    # The third bullet of Proposition 9 bounds n mu1L as the first one bounds L1.
    sizes = [1000, 10_000, 100_000]
    exact = [np.mean([n * curvature_by_hull(gaussian(s, n, p)) for s in range(5)]) for p in sizes]
    longest = [np.mean([smoothness(gaussian(s, n, p)) for s in range(5)]) for p in sizes]
    assert all(value > bound for value, bound in zip(exact, longest, strict=True))
    assert np.diff(exact).min() > 0.3 * np.log(10)
    ratios = np.array(exact) / np.log(np.array(sizes) / n)
    assert 1 < ratios.min() < ratios.max() < 2


@pytest.mark.parametrize("t", [0.2, 0.5])
@pytest.mark.parametrize(("n", "p"), [(30, 10), (100, 400)])
def test_smoothness_concentrates_as_proposition_nine_says(n, p, t):
    # For normal entries and log(p) of the size of n or less; the union over columns gives the
    # probability exp(-n t^2 / 2) above, independent columns its power p below.
    trials = 300
    roots = np.sqrt([smoothness(gaussian(seed, n, p)) for seed in range(trials)])
    high = 1 + np.sqrt(2 * np.log(p) / n) + t
    assert violations(roots, 0, high) <= allowed(trials, np.exp(-n * t**2 / 2))
    assert violations(roots, 1 - t, np.inf) <= allowed(trials, np.exp(-n * t**2 / 2) ** p)
    assert violations(roots, 0, 1.0) > trials / 2


@pytest.mark.parametrize("C", [1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("C_1", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("C_2", [0.01, 1.0])
def test_the_first_bullet_of_proposition_nine_fails_for_few_samples(C, C_1, C_2):
    # The union over d columns is printed as exp(-x log d) for d exp(-x). With one sample, and t
    # twice the least that is allowed, L1 exceeds the bound more often than the bullet says.
    K2 = 8 / 3  # the squared norm of a standard normal variable
    log_d = 1e3 * max(1, C_1) / C
    t = 4 * K2 * np.sqrt(C_1 * log_d)
    above = 1 + 2 * K2 * np.sqrt(C_1 * log_d) + t
    # 1 - (1 - q)^d is at least d q / 2 if d q <= 1, and at least 1 / 2 otherwise.
    exceeded = min(log_d + stats.norm.logsf(above), 0.0) - np.log(2)
    first = log_d * (t + C_2 * K2) ** 2  # the second number of the minimum is far larger
    assert exceeded > -C / K2**2 * first


def test_signs_have_columns_of_one_length():
    # So the expectation in Lemma 28 is 0 and not above C_2 K^2 sigma; with one column it is never
    # above 0, whatever the entries.
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (30, 7))
    assert np.linalg.norm(signs, axis=0).max() - np.sqrt(30) == pytest.approx(0, abs=1e-12)
    assert all(stats.chi(n).mean() < np.sqrt(n) for n in (1, 5, 50, 500))


@pytest.mark.parametrize(("n", "p"), [(1, 50), (20, 5), (20, 2000)])
def test_the_longest_of_normal_columns_is_as_lemma_28_says(n, p):
    roots = [np.sqrt(n * smoothness(gaussian(seed, n, p))) for seed in range(200)]
    assert np.mean(roots) - np.sqrt(n) <= np.sqrt(2 * np.log(p))


@pytest.mark.parametrize("n", [1, 2, 10, 100, 1000])
def test_lengths_of_normal_vectors_concentrate(n):
    # Theorem 27 with C / K^4 = 1 / 2, and Proposition 31, whose vector P 1 / sqrt(d) is normal.
    t = np.linspace(0, 8, 200)
    length = stats.chi(n)
    missed = length.sf(np.sqrt(n) + t) + length.cdf(np.sqrt(n) - t)
    assert (missed <= 2 * np.exp(-(t**2) / 2)).all()
    missed = length.sf(np.sqrt(n) + np.sqrt(2) * (1 + t)) + length.cdf(
        np.sqrt(n) - np.sqrt(2) * (1 + t)
    )
    assert (missed <= 2 * np.exp(-(t**2))).all()


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_theorem_27_for_another_variance_needs_the_norm_of_scaled_entries(C):
    # Printed: exp(-C t^2 / (sigma^2 K^4)) with K the norm of the entries, which scales as sigma.
    # One normal entry is off by t = sigma with one probability for all sigma.
    sigma = (1e-2 * min(C, 1)) ** 0.25
    K = sigma * np.sqrt(8 / 3)
    printed = 2 * np.exp(-C * sigma**2 / (sigma**2 * K**4))
    assert 2 * stats.norm.sf(2) > printed
    assert 2 * stats.norm.sf(2) < 2 * np.exp(-0.5 * sigma**2 / sigma**2)


@pytest.mark.parametrize(("n", "p"), [(60, 10), (10, 60)])
def test_singular_values_of_normal_designs_stay_where_theorem_30_puts_them(n, p):
    trials, t = 300, 1.2
    values = np.array([np.linalg.svd(gaussian(s, n, p), compute_uv=False) for s in range(trials)])
    few, many = sorted((n, p))
    away = np.sqrt(2) * (np.sqrt(few) + t)
    outside = (values[:, -1] < np.sqrt(many) - away) | (values[:, 0] > np.sqrt(many) + away)
    assert np.count_nonzero(outside) <= allowed(trials, 2 * np.exp(-(t**2)))


def test_norms_of_definition_24():
    # E exp(X^2 / t^2) = 2 at t^2 = 8 / 3 for a normal variable, at t^2 = 1 / log 2 for a sign.
    exponent = scipy.integrate.quad(lambda x: np.exp(3 * x**2 / 8 - x**2 / 2), -40, 40)[0]
    assert exponent / np.sqrt(2 * np.pi) == pytest.approx(2, rel=1e-9)
    assert np.exp(1 / (1 / np.log(2))) == pytest.approx(2)
    t = np.linspace(0, 10, 100)
    assert (2 * stats.norm.sf(t) <= 2 * np.exp(-3 * t**2 / 8)).all()
    assert ((t <= 1) <= 2 * np.exp(-(t**2) * np.log(2)) * (1 + 1e-12)).all()


def test_the_rate_of_coordinate_descent_tends_to_that_of_corollary_ten():
    p = 6
    away = []
    for n in (100, 400, 1600, 6400):
        designs = [gaussian(seed, n, p) for seed in range(30)]
        rates = [1 - curvature_by_signs(P) / smoothness(P) for P in designs]
        away.append(np.mean(np.abs(np.array(rates) - (1 - 1 / p))))
    halved = np.array(away[:-1]) / away[1:]
    assert (halved > 1.6).all()
    assert (halved < 2.6).all()
    assert away[-1] < 0.01


def test_expansions_of_appendix_c3():
    # With a = C_3 K^2 and b = C_2 K^2. The printed brackets have t / sqrt(d) without a.
    a, b, t, d, n = 1.7, 0.4, 0.9, 5.0, 1e12

    def factor(sign, other):
        above = 1 + sign * a * (1 / np.sqrt(n) + t / np.sqrt(n * d))
        return (above**2 / (1 + other / np.sqrt(n)) ** 2 - 1) * np.sqrt(n) / 2

    left, right = factor(1, b + t), factor(-1, 2 + t)
    assert left == pytest.approx(a - b + a * t / np.sqrt(d) - t, rel=1e-3)
    assert right == pytest.approx(-(a + 2 + a * t / np.sqrt(d) + t), rel=1e-3)
    assert abs(left - (a - b + t / np.sqrt(d) - t)) > 0.1
    assert abs(right + (a + 2 + t / np.sqrt(d) + t)) > 0.1


def test_the_first_line_of_appendix_c3_has_a_wrong_sign():
    # L1 >= (1 + C_2 K^2 / sqrt(n) - t)^2, but the line divides by (1 + C_2 K^2 / sqrt(n) +
    # t / sqrt(n))^2: for d = 100 and a large t it promises mu1 / L1 < 1 / (2 d) almost surely.
    a, b, d, n, t = np.sqrt(2.0), 0.5, 10, 4000, 100.0
    printed = (1 + a * (1 / np.sqrt(n) + t / np.sqrt(n * d))) ** 2
    printed /= d * (1 + (b + t) / np.sqrt(n)) ** 2
    ratios = [curvature_by_signs(P) / smoothness(P) for P in (gaussian(s, n, d) for s in range(3))]
    assert min(ratios) > 1.2 * printed


def test_heavy_tails_have_no_marchenko_pastur_edge():
    # Theorem 5 needs a fourth moment. Without it the largest of the entries decides: its square
    # grows faster than n.
    rng, n = np.random.default_rng(0), 400
    edge = (1 + np.sqrt(0.5)) ** 2
    degrees = 2.2
    heavy = rng.standard_t(degrees, (7, n, n // 2)) / np.sqrt(degrees / (degrees - 2))
    light = rng.standard_normal((7, n, n // 2))
    largest = [[np.linalg.norm(P, 2) ** 2 / n for P in designs] for designs in (light, heavy)]
    assert max(largest[0]) < 1.1 * edge
    assert np.median(largest[1]) > 2 * edge
    assert (np.abs(heavy).max(axis=(1, 2)) ** 2 / n <= largest[1]).all()
