"""Intervals for shares of rows over splits: enumeration, closed forms, simulation."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

from greedyexp.core import registry
from greedyexp.core.errors import PluginError
from greedyexp.stats.row_shares import Split, share_interval

# --- enumeration ------------------------------------------------------------------------------


def moments(loss, probability, m, n):
    """Exact Var(U), E S^2 and Var(r) of a loss(rows, row) over all data sets of m + n rows.

    Rows have the values 0, 1, ... with these probabilities.
    """
    total, values = m + n, range(len(probability))
    # Lists and sums of Python: arrays of three numbers would take ten times as long.
    known = {rows: list(losses) for rows, losses in loss.items()}
    splits = [
        (train, [i for i in range(total) if i not in train])
        for train in combinations(range(total), m)
    ]
    samples, second = list(product(values, repeat=total)), []
    errors = np.array(
        [
            [
                sum(known[tuple(sorted([rows[i] for i in train]))][rows[i]] for i in held) / n
                for train, held in splits
            ]
            for rows in samples
        ]
    )
    mass = probability[np.array(samples)].prod(axis=1)
    complete, square = errors.mean(axis=1), errors.var(axis=1)
    for rows in product(values, repeat=m):
        row = np.array(loss[tuple(sorted(rows))])
        mean = probability @ row
        second.append(np.prod(probability[list(rows)]) * (probability @ (row - mean) ** 2))
    variance = mass @ complete**2 - (mass @ complete) ** 2
    return variance, mass @ square, sum(second)


def fits(m, count, rng):
    """Losses in [-1, 1] of fits that are any function of their training rows."""
    kind = rng.integers(3)
    loss = {}
    for rows in combinations_with_repetition(count, m):
        if kind == 0:
            loss[rows] = rng.uniform(-1, 1, count)
        elif kind == 1:
            # A row that is often seen in training has another loss, and so have all rows.
            loss[rows] = np.array([np.sign(rows.count(k) - 0.5) for k in range(count)])
        else:
            # Rows of the last kind are lost, and spoil the fit.
            share = rows.count(count - 1) / m
            loss[rows] = np.array([share] * (count - 1) + [1.0])
    return loss


def combinations_with_repetition(count, m):
    return {tuple(sorted(rows)) for rows in product(range(count), repeat=m)}


@pytest.mark.parametrize(("m", "n"), [(1, 2), (1, 4), (2, 3), (2, 4), (3, 4)])
def test_the_bound_holds_for_every_fit(m, n):
    rng = np.random.default_rng([m, n])
    together = 0
    for _ in range(60):
        count = int(rng.integers(2, 4)) if m + n < 6 else 2
        probability = rng.dirichlet(np.ones(count))
        variance, square, residual = moments(fits(m, count, rng), probability, m, n)
        parts = np.sqrt(m / n * square), np.sqrt((m + n) * residual) / n
        assert np.sqrt(variance) <= sum(parts) + 1e-12
        together += variance > m / n * square + residual / (m + n) + 1e-12
    # The two parts are correlated for some fits: their variances alone do not bound the variance.
    assert together > 0


def test_losses_of_a_combination_bound_its_square():
    # The interval uses sum(w) * sum(w * p) over weights of each sign.
    rng = np.random.default_rng(0)
    for _ in range(200):
        weights, losses = rng.normal(size=3), rng.beta(0.3, 0.3, (3, 50))
        means = losses.mean(axis=1)
        bound = sum(
            sign[sign > 0].sum() * (sign[sign > 0] @ means[sign > 0])
            for sign in (weights, -weights)
        )
        assert ((weights @ losses) ** 2).mean() <= bound + 1e-12


# --- closed forms -----------------------------------------------------------------------------


def test_the_interval_of_a_difference_is_that_of_the_formula():
    rng = np.random.default_rng(1)
    shares = rng.uniform(0.1, 0.3, (2, 8))
    value, low, high = share_interval(shares, Split(100, 900), (1.0, -0.75), confidence=0.9)
    t = stats.t.ppf(0.95, 7)
    differences = shares[0] - 0.75 * shares[1]
    # Wilson's upper limit, with the variance p / N.
    one, two = (p + t**2 / 2000 + t * np.sqrt(p / 1000 + t**2 / 4e6) for p in shares.mean(axis=1))
    common = np.sqrt(1 / 9) * differences.std(ddof=1)
    common += np.sqrt(1000 * (one + 0.75**2 * two)) / 900
    half = t * np.sqrt(differences.var(ddof=1) / 8 + common**2)
    assert value == pytest.approx(differences.mean())
    assert (low, high) == pytest.approx((value - half, value + half))


def test_equal_shares_have_an_interval_of_positive_length():
    value, low, high = share_interval(np.zeros((1, 20)), Split(100, 900))
    # Without an error in 1000 rows, an error of 3 in 1000 is not excluded ("rule of three").
    assert value == 0.0
    assert high > 0.003
    assert low == 0.0
    assert share_interval(np.ones((1, 20)), Split(100, 900))[2] == 1.0
    assert share_interval(np.zeros((1, 1)), Split(100, 900)) == (0.0, -np.inf, np.inf)
    assert np.isnan(share_interval(np.zeros((1, 0)), Split(100, 900))[0])


# --- simulation -------------------------------------------------------------------------------


def splits_of(rng, total, n_train, count):
    order = rng.permuted(np.tile(np.arange(total), (count, 1)), axis=1)
    return order[:, :n_train], order[:, n_train:]


# Each method returns a function of training rows, which predicts all rows.


def nearest(X, y):
    squares = (X**2).sum(axis=1)
    distance = squares[:, None] + squares - 2 * X @ X.T
    return lambda train: y[train[distance[:, train].argmin(axis=1)]]


def least_squares(X, y):
    return lambda train: np.sign(X @ np.linalg.lstsq(X[train], y[train], rcond=None)[0])


def best_feature(X, y):
    def predict(train):
        scores = y[train] @ X[train]
        best = np.abs(scores).argmax()
        return np.sign(X[:, best] * scores[best])

    return predict


def centroids(X, y):
    return lambda train: np.sign(X @ (y[train] @ X[train]))


def majority(X, y):
    """Predict the class of most training rows, which is the rarer one of the test rows."""
    return lambda train: np.full(len(y), np.sign(y[train].sum() + 0.5))


def errors_of(rng, fit, n_features, signal, wrong, n_train, n_test, count):
    """Test errors (2, count) of one method on two sets of features that are equally good."""
    total = n_train + n_test
    truth = rng.choice([-1, 1], total)
    y = np.where(rng.random(total) < wrong, -truth, truth)
    train, test = splits_of(rng, total, n_train, count)
    errors = []
    for _ in range(2):
        X = rng.standard_normal((total, n_features))
        X[:, 0] += signal * truth
        predict = fit(X, y)
        pairs = zip(train, test, strict=True)
        errors.append([np.mean(predict(fitted)[rows] != y[rows]) for fitted, rows in pairs])
    return np.array(errors)


# Method, number of features, distance of the classes, share of wrong labels.
METHODS = {
    "nearest neighbour": (nearest, 3, 0.0, 0.0),
    "nearest neighbour, wrong labels": (nearest, 2, 20.0, 0.1),
    "nearest neighbour, few wrong labels": (nearest, 2, 20.0, 0.02),
    "least squares near interpolation": (least_squares, 18, 1.0, 0.0),
    "best feature": (best_feature, 30, 0.7, 0.0),
    "centroids": (centroids, 5, 1.0, 0.0),
    "majority": (majority, 1, 0.0, 0.0),
}


def wrong_decisions(method, sets, count, ratio, n_train=20, confidence=0.95, seed=0):
    """Shares of intervals that miss: of the difference of two equal methods, and of an error."""
    rng = np.random.default_rng([seed, count, int(10 * ratio)])
    split = Split(n_train, round(ratio * n_train))
    errors = [errors_of(rng, *method, *split, count) for _ in range(sets)]
    mean = np.mean([error[0] for error in errors])
    missed = np.zeros(2)
    for error in errors:
        _, low, high = share_interval(error, split, (1.0, -1.0), confidence)
        missed[0] += not low <= 0 <= high
        _, low, high = share_interval(error[:1], split, confidence=confidence)
        missed[1] += not low <= mean <= high
    return missed / sets


def test_errors_of_nearest_neighbours_with_wrong_labels():
    # The hardest of the methods: a row with a wrong label is lost and spoils the fit.
    missed = wrong_decisions(METHODS["nearest neighbour, wrong labels"], 150, 10, 9)
    assert (missed <= 0.05).all()


@pytest.mark.deep
@pytest.mark.parametrize("ratio", [1.1, 4, 9, 19])
@pytest.mark.parametrize("count", [5, 20, 100])
@pytest.mark.parametrize("name", METHODS)
def test_at_most_one_in_twenty_intervals_misses(name, count, ratio):
    sets = 400 if count < 100 else 100
    difference, error = wrong_decisions(METHODS[name], sets, count, ratio)
    assert difference <= 0.05
    # The errors of five splits can be far from normal: with an error of one of two values,
    # Student's interval misses in a quarter of cases with five independent data sets, too.
    assert count == 5 or error <= 0.05


# --- declarations -----------------------------------------------------------------------------


def test_the_metrics_that_are_shares_of_rows():
    found = {name for name, part in registry.parts("metric").items() if part.share_of_rows}
    assert found == {"argmax_error", "one_vs_rest_error", "test_sign_error", "test_majority_error"}
    assert ("share of", "test rows") in registry.find("metric", "argmax_error").properties()


def test_a_share_of_test_rows_requires_them():
    with pytest.raises(PluginError, match="must require 'test_rows'"):

        @registry.metric("some_share", better="lower", share_of_rows=True)
        def some_share(problem, coef):
            """A share."""
