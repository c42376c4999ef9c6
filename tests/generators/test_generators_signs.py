"""Signs: their laws by enumeration, exact moments, responses, what is known and refused."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from greedyexp.core import registry
from greedyexp.generators.signs import correlated, draw_truth, duplicated, rademacher
from greedyexp.generators.spread_label import spread_label
from greedyexp.losses.risk import bind_risk

SMALL = {"p": 4, "sparsity": 2}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def cube(d: int) -> np.ndarray:
    """All rows of signs, (2^d, d)."""
    return np.array(list(itertools.product([-1.0, 1.0], repeat=d)))


def uniform(x: np.ndarray, **_) -> float:
    return 0.5 ** len(x)


def chain(x: np.ndarray, *, correlation: float) -> float:
    """Of a Markov chain of signs."""
    return 0.5 * math.prod((1 + correlation * a * b) / 2 for a, b in itertools.pairwise(x))


def alike(x: np.ndarray, *, correlation: float) -> float:
    """Of independent signs given a common one."""
    weight = math.sqrt(correlation)
    return sum(0.5 * math.prod((1 + weight * z * a) / 2 for a in x) for z in (-1, 1))


def copied(x: np.ndarray, *, copies: int, flip: float) -> float:
    """Of originals, each followed by copies that have another sign now and then."""
    chance = 1.0
    for original, *others in x.reshape(-1, copies):
        chance *= 0.5 * math.prod(flip if other != original else 1 - flip for other in others)
    return chance


LAWS = [
    (rademacher, {"p": 5}, uniform, {}),
    (correlated, {"p": 5, "kind": "toeplitz", "correlation": 0.6}, chain, {"correlation": 0.6}),
    (correlated, {"p": 4, "kind": "toeplitz", "correlation": -0.3}, chain, {"correlation": -0.3}),
    (
        correlated,
        {"p": 5, "kind": "equicorrelated", "correlation": 0.4},
        alike,
        {"correlation": 0.4},
    ),
    (correlated, {"p": 3, "kind": "equicorrelated", "correlation": 0.0}, uniform, {}),
    (duplicated, {"p": 2, "copies": 3, "flip": 0.1}, copied, {"copies": 3, "flip": 0.1}),
    (duplicated, {"p": 3, "copies": 2, "flip": 0.0}, copied, {"copies": 2, "flip": 0.0}),
    (duplicated, {"p": 5, "copies": 1, "flip": 0.2}, uniform, {}),
]


def enumerated(make, given, law, known, **others):
    """A problem, all rows there can be and their probabilities."""
    problem = make(
        rng(7), sparsity=2, truth_l1_norm=1.5, decay=0.4, noise_std=0.3, **given, **others
    )
    rows = cube(problem.n_features)
    chances = np.array([law(x, **known) for x in rows])
    assert chances.sum() == pytest.approx(1.0, abs=1e-14)
    return problem, rows, chances


@pytest.mark.parametrize(("make", "given", "law", "known"), LAWS)
def test_the_moments_are_those_of_the_law(make, given, law, known):
    problem, rows, chances = enumerated(make, given, law, known, n_samples=0)
    moments, signal = problem.moments, rows @ problem.truth[:, 0]
    matrix = np.column_stack([moments.column(j) for j in range(moments.size)])
    exact = rows.T @ (chances[:, None] * rows)
    np.testing.assert_allclose(matrix, exact, rtol=0, atol=1e-14)
    np.testing.assert_allclose(moments.cross, rows.T @ (chances * signal), rtol=0, atol=1e-14)
    assert moments.power == pytest.approx(chances @ signal**2 + 0.3**2, abs=1e-14)
    assert np.count_nonzero(problem.truth) == 2


@pytest.mark.parametrize(("make", "given", "law", "known"), LAWS)
def test_rows_follow_the_law(make, given, law, known):
    problem, rows, chances = enumerated(make, given, law, known, n_samples=20_000)
    drawn = ((problem.X[0] + 1) / 2) @ (2 ** np.arange(problem.n_features)[::-1])
    counts = np.bincount(drawn.astype(int), minlength=len(rows))
    assert np.array_equal(rows[drawn.astype(int)], problem.X[0])
    assert counts[chances == 0].sum() == 0
    possible = chances > 0
    assert stats.chisquare(counts[possible], 20_000 * chances[possible]).pvalue > 1e-3


@pytest.mark.parametrize(
    "make",
    [
        lambda n: rademacher(rng(11), n_samples=n, p=30, truth_l1_norm=4.0, noise_std=0.5),
        lambda n: duplicated(rng(12), n_samples=n, p=15, copies=3, flip=0.15, truth_l1_norm=4.0),
        lambda n: correlated(rng(13), n_samples=n, p=30, truth_l1_norm=4.0, noise_std=0.5),
        lambda n: correlated(
            rng(14), n_samples=n, p=30, kind="equicorrelated", correlation=0.7, noise_std=0.2
        ),
        lambda n: spread_label(rng(15), n_samples=n, truth_l1_norm=2.5, accuracy=0.25),
    ],
)
def test_the_risk_of_the_population_is_the_mean_over_many_rows(make):
    problem = make(40_000)
    risk = bind_risk("squared", problem, population=True)
    directions = rng(16).standard_normal((4, problem.n_features)) / problem.n_features
    for w in (0.0 * directions[0], problem.truth[:, 0], *(problem.truth[:, 0] + directions)):
        losses = (problem.X[0] @ w - problem.y[0]) ** 2 / 2
        wide = stats.t.ppf(1 - 1e-4, len(losses) - 1) * losses.std(ddof=1) / math.sqrt(len(losses))
        assert abs(losses.mean() - risk.value(w)) <= wide + 1e-14


def test_independent_signs_make_the_risk_a_distance():
    problem = rademacher(rng(17), n_samples=0, p=40, truth_l1_norm=3.0, noise_std=0.4)
    risk = bind_risk("squared", problem, population=True)
    for w in rng(18).standard_normal((5, 40)):
        far = 0.4**2 / 2 + ((w - problem.truth[:, 0]) ** 2).sum() / 2
        assert risk.value(w) == pytest.approx(far, rel=1e-13)


# --- truth and responses ----------------------------------------------------------------------


def test_the_truth_has_the_stated_norm_sizes_and_laws():
    truths = np.hstack([draw_truth(rng(i), 6, 3, 2.5, 0.5) for i in range(2000)])
    np.testing.assert_allclose(np.abs(truths).sum(axis=0), 2.5, rtol=1e-14)
    sizes = np.sort(np.abs(truths), axis=0)[-3:]
    np.testing.assert_allclose(sizes[:-1] / sizes[1:], 0.5, rtol=1e-13)
    assert (np.count_nonzero(truths, axis=0) == 3).all()
    largest = np.abs(truths).argmax(axis=0)
    assert stats.chisquare(np.bincount(largest, minlength=6)).pvalue > 1e-3
    assert stats.chisquare((truths != 0).sum(axis=1)).pvalue > 1e-3
    assert stats.binomtest(int((truths > 0).sum()), 6000).pvalue > 1e-3
    equal = draw_truth(rng(), 6, 3, 2.5, 1.0)
    np.testing.assert_allclose(np.abs(equal[equal != 0]), 2.5 / 3, rtol=1e-14)


def test_only_originals_have_true_coefficients():
    problem = duplicated(rng(1), p=9, copies=4, sparsity=9)
    assert np.array_equal(np.flatnonzero(problem.truth[:, 0]), 4 * np.arange(9))
    assert np.abs(problem.truth).sum() == pytest.approx(1.0)
    groups = problem.X[0].reshape(200, 9, 4)
    assert (groups == groups[:, :, :1]).all()


def test_a_linear_response_is_the_signal_plus_normal_noise():
    problem = rademacher(rng(2), n_samples=4000, p=20, noise_std=0.5)
    noise = problem.y[0] - problem.X[0] @ problem.truth[:, 0]
    assert stats.kstest(noise / 0.5, "norm").pvalue > 1e-3
    assert problem.noise_std == 0.5
    exact = rademacher(rng(2), n_samples=50, p=20)
    np.testing.assert_allclose(exact.y[0], exact.X[0] @ exact.truth[:, 0], rtol=1e-12)


def test_classes_have_the_stated_probabilities():
    problem = correlated(
        rng(3), n_samples=20_000, p=3, sparsity=2, truth_l1_norm=3.0, decay=0.5, response="classes"
    )
    margins, group = np.unique(np.round(problem.X[0] @ problem.truth[:, 0], 9), return_inverse=True)
    assert margins == pytest.approx([-3, -1, 1, 3])
    assert set(np.unique(problem.y[0])) == {-1.0, 1.0}
    for k, margin in enumerate(margins):
        labels = problem.y[0][group == k]
        chance = 1 / (1 + math.exp(-margin))
        assert stats.binomtest(int((labels > 0).sum()), len(labels), chance).pvalue > 1e-3
    assert problem.moments is None
    assert problem.noise_std is None


# --- shapes and traits -------------------------------------------------------------------------


def part_of(name: str, **given):
    part = registry.find("generator", name)
    params = part.parameters(**given).model_dump()
    part.check(**params)
    return part, params


TOLD = [
    ("rademacher", {}, {"truth", "noise_std", "moments"}),
    ("rademacher", {"n_samples": 0}, {"truth", "noise_std", "moments", "population"}),
    ("rademacher", {"response": "classes"}, {"truth", "labels", "two_values"}),
    ("duplicated", {"copies": 5}, {"truth", "noise_std", "moments"}),
    ("duplicated", {"p": 1366, "copies": 3, "n_samples": 2}, {"truth", "noise_std"}),
    ("correlated", {"n_samples": 0}, {"truth", "noise_std", "moments", "population"}),
    ("correlated", {"p": 4097, "n_samples": 2}, {"truth", "noise_std"}),
    (
        "correlated",
        {"p": 4097, "n_samples": 0, "kind": "equicorrelated"},
        {"truth", "noise_std", "moments", "population"},
    ),
    ("spread_label", {}, {"truth", "moments", "spread_label", "population"}),
    (
        "spread_label",
        {"n_samples": 20},
        {"truth", "moments", "spread_label", "labels", "two_values"},
    ),
]


@pytest.mark.parametrize(("name", "given", "traits"), TOLD)
def test_declared_shapes_and_traits_are_those_of_the_problem(name, given, traits):
    part, params = part_of(name, **given)
    problem = part.function(rng(), **params)
    assert part.traits(params) == traits
    assert part.shape(**params) == problem.shape
    assert set(problem.facts) == set(part.facts)
    assert (problem.moments is not None) == ("moments" in traits)
    assert (problem.noise_std is not None) == ("noise_std" in traits)
    assert (problem.n_samples[0] == 0) == ("population" in traits)
    assert problem.sparsity == np.count_nonzero(problem.truth)
    assert problem.facts.get("n_features", problem.n_features) == problem.n_features


@pytest.mark.parametrize("make", [rademacher, duplicated, correlated])
def test_without_rows_only_the_truth_is_drawn(make):
    stream, other = rng(4), rng(4)
    problem = make(stream, n_samples=0, p=30, sparsity=4)
    truth = draw_truth(other, 30, 4, 1.0, 1.0)
    assert np.array_equal(problem.truth[problem.truth != 0], truth[truth != 0])
    assert stream.random() == other.random()
    assert problem.X[0].shape == (0, problem.n_features)
    assert problem.y[0].shape == (0,)


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("rademacher", {"p": 3, "sparsity": 4}, "sparsity = 4 is more than p = 3"),
        ("rademacher", {"n_samples": 1}, "n_samples = 1: give at least 2, or 0"),
        ("rademacher", {"decay": 1e-3}, "smallest of 10 coefficients 1.0e-27 times the largest"),
        ("rademacher", {"response": "classes", "noise_std": 0.1}, "omit noise_std"),
        (
            "rademacher",
            {"response": "classes", "n_samples": 0},
            "moments of classes .* response: linear",
        ),
        ("duplicated", {"p": 3}, "sparsity = 10 is more than p = 3"),
        ("duplicated", {"p": 2049, "n_samples": 0}, "at most 4096 features, not 4098"),
        ("correlated", {"p": 4097, "n_samples": 0}, "at most 4096 features, not 4097"),
        ("correlated", {"kind": "equicorrelated", "correlation": -0.1}, "cannot have a negative"),
        ("spread_label", {"n_samples": 1}, "give at least 2"),
        ("spread_label", {"accuracy": 1e-5, "accuracy_of": "absolute"}, "take 9e\\+10 features"),
        ("spread_label", {"truth_l1_norm": 1e200}, "take inf features"),
        ("spread_label", {"accuracy": 1e-300, "accuracy_of": "absolute"}, "take inf features"),
    ],
)
def test_the_impossible_is_refused_before_any_work(name, given, words):
    with pytest.raises(ValueError, match=words):
        part_of(name, **given)


# --- a label spread over features -------------------------------------------------------------


@pytest.mark.parametrize(("truth_l1_norm", "d"), [(1.5, 3), (2.0, 4), (2.5, 7)])
def test_the_spread_label_has_the_stated_law(truth_l1_norm, d):
    problem = spread_label(rng(5), n_samples=20_000, truth_l1_norm=truth_l1_norm, accuracy=1.0)
    a, rows = 1 / truth_l1_norm, cube(d)
    given_one = np.array([math.prod((1 + a * x) / 2 for x in row) for row in rows])
    chances = {1: given_one / 2, -1: given_one[::-1] / 2}
    both = chances[1] + chances[-1]
    matrix = np.column_stack([problem.moments.column(j) for j in range(d)])
    np.testing.assert_allclose(matrix, rows.T @ (both[:, None] * rows), rtol=0, atol=1e-14)
    cross = rows.T @ (chances[1] - chances[-1])
    np.testing.assert_allclose(problem.moments.cross, cross, rtol=0, atol=1e-14)
    assert problem.moments.power == 1.0
    drawn = (((problem.X[0] + 1) / 2) @ (2 ** np.arange(d)[::-1])).astype(int)
    counts = [np.bincount(drawn[problem.y[0] == y], minlength=2**d) for y in (1, -1)]
    expected = 20_000 * np.concatenate([chances[1], chances[-1]])
    assert stats.chisquare(np.concatenate(counts), expected).pvalue > 1e-3


@pytest.mark.parametrize("error", ["squared", "absolute"])
@pytest.mark.parametrize(("truth_l1_norm", "accuracy"), [(2.5, 1.0), (2.1, 0.7), (3.0, 0.9)])
def test_the_dense_predictor_has_the_stated_norm_and_error(truth_l1_norm, accuracy, error):
    problem = spread_label(rng(), truth_l1_norm=truth_l1_norm, accuracy=accuracy, accuracy_of=error)
    w, a = problem.truth[:, 0], 1 / truth_l1_norm
    rows = cube(len(w))
    chances = np.prod((1 + a * rows) / 2, axis=1)
    away = rows @ w - 1.0
    exact = chances @ (away**2 if error == "squared" else np.abs(away))
    assert problem.facts["dense_error"] == pytest.approx(exact, rel=1e-12)
    assert exact < accuracy
    assert np.abs(w).sum() == pytest.approx(truth_l1_norm, rel=1e-14)


@pytest.mark.parametrize(
    ("truth_l1_norm", "accuracy", "error", "d"),
    [
        (3.0, 0.1, "squared", 90),
        (3.0, 0.1, "absolute", 900),
        (5.0, 0.3, "squared", 84),
        (5.0, 0.05, "absolute", 10_000),
        (10.0, 0.7, "absolute", 205),
        (2.1, 0.3, "absolute", 49),
        (2.2, 0.04, "squared", 121),
    ],
)
def test_the_number_of_features_is_that_of_the_proof(truth_l1_norm, accuracy, error, d):
    problem = spread_label(rng(), truth_l1_norm=truth_l1_norm, accuracy=accuracy, accuracy_of=error)
    assert problem.n_features == problem.facts["n_features"] == d
    assert problem.facts["dense_error"] < accuracy


def test_the_best_predictor_with_few_features_has_the_stated_error():
    problem = spread_label(rng(), truth_l1_norm=3.0, accuracy=0.1)
    moments, a = problem.moments, 1 / 3
    matrix = np.column_stack([moments.column(j) for j in range(90)])
    for k in (1, 2, 7, 90):
        best = np.linalg.solve(matrix[:k, :k], moments.cross[:k])
        error = 1.0 - best @ moments.cross[:k]
        assert error == pytest.approx((1 - a * a) / (1 - a * a + a * a * k), rel=1e-12)
        assert np.ptp(best) < 1e-14


def test_nothing_is_drawn_of_a_spread_label_without_rows():
    stream = rng(6)
    spread_label(stream)
    assert stream.random() == rng(6).random()
