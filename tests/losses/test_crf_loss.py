import numpy as np
import pytest
import scipy.sparse
from crf_problems import Enumerated, chains_data, enumerated, small_loss, some_params
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp, softmax

from greedyexp.core.errors import ConfigError, DataError
from greedyexp.losses import crf_likelihood as crf
from greedyexp.losses.crf import CrfLoss
from greedyexp.losses.loss import Loss


@pytest.mark.parametrize("size", [0.0, 1.0, 30.0, 1000.0])
@pytest.mark.parametrize(("p", "r"), [(3, 3), (2, 1), (1, 5), (2, 4)])
def test_value_and_gradient_are_those_of_all_labellings(size, p, r):
    loss = small_loss(1, p=p, r=r, lengths=(1, 3, 4, 2))
    b = some_params(loss, 2, size)
    exact = enumerated(loss)
    value, gradient = loss.value_and_gradient(b)
    assert value == pytest.approx(exact.value(b), rel=1e-13)
    assert loss.value(b) == pytest.approx(exact.value(b), rel=1e-13)
    scale = max(1.0, np.abs(exact.gradient(b)).max())
    np.testing.assert_allclose(gradient, exact.gradient(b), atol=1e-12 * scale)
    np.testing.assert_allclose(loss.gradient(b), gradient, atol=0)


def curvature(loss, b):
    """Second derivatives along the selectable coordinates, from variances of counts."""
    chains = loss._prepared(b)
    variances = [
        chains.moments(loss._column(i), k, 0.0)[2]
        for i in range(loss.shape[0])
        for k in range(loss.shape[1])
    ]
    return np.array(variances) / loss.n_samples + loss.ridge


@pytest.mark.parametrize("size", [0.0, 1.0, 30.0, 1000.0])
def test_curvature_is_the_variance_over_all_labellings(size):
    loss = small_loss(3)
    b = some_params(loss, 4, size)
    exact = enumerated(loss).curvature(b)[: loss.size]
    np.testing.assert_allclose(curvature(loss, b), exact, atol=1e-12)


def test_gradient_is_the_difference_of_values():
    loss = small_loss(5)
    b, h = some_params(loss, 6), 1e-6
    for j, derivative in enumerate(loss.gradient(b)):
        unit = np.eye(len(b))[j]
        difference = (loss.value(b + h * unit) - loss.value(b - h * unit)) / (2 * h)
        assert derivative == pytest.approx(difference, abs=1e-9)


@pytest.mark.parametrize("favour", ["scores", "start", "end"])
def test_what_underflows_on_the_way_is_not_lost(favour):
    """Moves take back exactly what a word, the start or the end gives to class 0.

    All labellings are about as likely then, though filtered probabilities of exp(-weight) occur.
    The scaled recursion hands over to logarithms at weights of 200 or 300.
    """
    labels, chains = np.array([0, 1, 2, 0, 1]), [3, 2]
    X = np.array([1.0, 0.0, 0.0, 1.0, 0.0])[:, None]
    loss = CrfLoss(X, labels, chains, n_classes=3)
    exact = enumerated(loss)
    for weight in (100.0, 195.0, 205.0, 295.0, 305.0, 700.0, 760.0, 2000.0):
        b = some_params(loss, 8, 0.3)
        nodes, start, end = b[:3], b[3:6], b[6:9]
        moves = b[9:].reshape(3, 3)
        if favour == "end":
            moves[:, 0] -= weight
        else:
            moves[0] -= weight
        {"scores": nodes, "start": start, "end": end}[favour][0] += weight
        value, gradient = loss.value_and_gradient(b)
        size = 1e-13 * weight
        assert value == pytest.approx(exact.value(b), rel=1e-12, abs=size)
        np.testing.assert_allclose(gradient, exact.gradient(b), atol=10 * size)
        assert loss.value(b) == pytest.approx(value, rel=1e-12, abs=size)
        bends = exact.curvature(b)[: loss.size]
        np.testing.assert_allclose(curvature(loss, b), bends, atol=10 * size)


def test_without_moves_words_are_a_softmax_each():
    X, labels, chains = chains_data(9, lengths=(700, 1, 1299), p=4, r=6)
    loss = CrfLoss(X, labels, chains, n_classes=6)
    b = np.zeros(loss.size + loss.n_dense)
    b[: loss.size] = some_params(loss, 10)[: loss.size]
    scores = X @ b[: loss.size].reshape(4, 6)
    chosen = scores[np.arange(len(labels)), labels]
    expected = (logsumexp(scores, axis=1) - chosen).mean()
    assert loss.value(b) == pytest.approx(expected, rel=1e-13)
    shares = softmax(scores, axis=1)
    expected = X.T @ (shares - np.eye(6)[labels]) / len(labels)
    np.testing.assert_allclose(loss.gradient(b)[:24], expected.ravel(), atol=1e-14)
    variance = (X**2).T @ (shares * (1 - shares)) / len(labels)
    np.testing.assert_allclose(curvature(loss, b), variance.ravel(), rtol=1e-10)


def test_long_chain_without_features_is_a_matrix_power():
    n = 3000
    labels = np.random.default_rng(11).integers(0, 2, n)
    loss = CrfLoss(np.zeros((n, 1)), labels, [n], n_classes=2)
    b = np.zeros(loss.size + loss.n_dense)
    b[-4:] = [0.3, -1.2, 0.7, 0.1]
    values, vectors = np.linalg.eig(np.exp(b[-4:].reshape(2, 2)))
    parts = vectors.sum(axis=0) * np.linalg.solve(vectors, np.ones(2))
    top = values.max()
    expected = (n - 1) * np.log(top) + np.log((parts * (values / top) ** (n - 1)).sum())
    moves = np.bincount(2 * labels[:-1] + labels[1:], minlength=4)
    assert n * loss.value(b) == pytest.approx(expected - moves @ b[-4:], rel=1e-12)


@pytest.mark.parametrize("size", [1.0, 800.0])
def test_decoding_is_that_of_all_labellings(size):
    loss = small_loss(12)
    b = some_params(loss, 13, size)
    exact = enumerated(loss)
    marginal = loss.decode(loss.X, loss.chains, b)
    np.testing.assert_array_equal(marginal, exact.marginals(b).argmax(axis=1))
    assert loss.decode(loss.X, loss.chains, b, "viterbi").tolist() == exact.best(b)


def test_decoding_differs_from_word_to_chain():
    """Moves alone: staying in class 0 is the best chain, classes 1 and 2 the likelier words."""
    loss = small_loss(14, lengths=(3,), p=1)
    b = np.zeros(loss.size + loss.n_dense)
    moves = b[-9:].reshape(3, 3)
    moves[0, 0] = 0.6
    moves[0, 1:] = moves[1:, 0] = -9.0
    X = np.zeros((3, 1))
    assert loss.decode(X, [3], b, "viterbi").tolist() == [0, 0, 0]
    assert loss.decode(X, [3], b, "marginal").tolist() == [1, 1, 1]


def test_decoding_gives_ties_to_the_lowest_class():
    loss = small_loss(15)
    nothing = np.zeros(loss.size + loss.n_dense)
    for how in ("marginal", "viterbi"):
        assert not loss.decode(loss.X, loss.chains, nothing, how).any()


def test_decoding_by_an_unknown_rule():
    loss = small_loss(15)
    with pytest.raises(ConfigError, match="'best'"):
        loss.decode(loss.X, loss.chains, some_params(loss), "best")


def test_decoding_other_chains_and_sparse_rows():
    loss = small_loss(16)
    b = some_params(loss, 17)
    X, labels, chains = chains_data(18, lengths=(2, 5))
    exact = Enumerated(X, labels, chains, 3, 0.0)
    for rows in (X, scipy.sparse.csr_array(X)):
        assert loss.decode(rows, chains, b, "viterbi").tolist() == exact.best(b)


def test_sparse_design_changes_nothing(monkeypatch):
    X, labels, chains = chains_data(19, zeros=0.7, p=5)
    dense = CrfLoss(X, labels, chains, n_classes=3, ridge=0.1)
    monkeypatch.setattr(crf, "DENSE_ENTRIES", 0)
    sparse = CrfLoss(scipy.sparse.csr_array(X), labels, chains, n_classes=3, ridge=0.1)
    assert scipy.sparse.issparse(sparse.X)
    b = some_params(dense, 20)
    for one, other in zip(
        (dense.value(b), dense.gradient(b), curvature(dense, b), *dense.coordinate_minima(b)),
        (sparse.value(b), sparse.gradient(b), curvature(sparse, b), *sparse.coordinate_minima(b)),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, atol=1e-12)
    np.testing.assert_allclose(dense.smoothness, sparse.smoothness, rtol=1e-14)
    fits = [dense.fit(), sparse.fit()]
    for fit in fits:
        fit.add([4, 9])
    np.testing.assert_allclose(fits[0].params, fits[1].params, atol=1e-8)
    costs = [fit.removal_costs() for fit in fits]
    np.testing.assert_allclose(costs[0], costs[1], atol=1e-8)


def test_order_of_chains_does_not_matter():
    X, labels, chains = chains_data(21, lengths=(4, 2, 7))
    swapped = np.r_[np.arange(6, 13), np.arange(0, 4), np.arange(4, 6)]
    one = CrfLoss(X, labels, chains, n_classes=3)
    other = CrfLoss(X[swapped], labels[swapped], [7, 4, 2], n_classes=3)
    b = some_params(one, 22)
    np.testing.assert_allclose(one.gradient(b), other.gradient(b), atol=1e-14)


@pytest.mark.parametrize("size", [0.0, 1.0, 500.0])
def test_coordinate_minima_are_those_of_a_search(size):
    loss = small_loss(23, ridge=0.02)
    exact = enumerated(loss)
    b = some_params(loss, 24, size)
    steps, gains = loss.coordinate_minima(b)
    for j in range(loss.size):
        unit = np.eye(len(b))[j]
        moved = b + steps[j] * unit
        assert abs(exact.gradient(moved)[j]) <= max(1e-10, 1e-13 * size)
        assert gains[j] == pytest.approx(exact.value(b) - exact.value(moved), rel=1e-9, abs=1e-12)
        found = minimize_scalar(
            lambda a, unit=unit: exact.value(b + a * unit),
            bracket=(steps[j] - 1.0, steps[j] + 1.0),
            tol=1e-10,
        )
        assert exact.value(b) - found.fun <= gains[j] + 1e-9 * max(1.0, size)


def test_a_minimum_at_infinity_is_followed_until_it_is_flat():
    """A feature only words of class 1 have: its weight there has no finite best value."""
    labels = np.array([0, 1, 1, 0, 2, 1])
    X = (labels == 1).astype(float)[:, None]
    loss = CrfLoss(X, labels, [2, 4], n_classes=3)
    b = np.zeros(loss.size + loss.n_dense)
    steps, gains = loss.coordinate_minima(b)
    assert 15.0 < steps[1] < 60.0
    assert gains[1] == pytest.approx(loss.value(b) - loss.value(b + 300.0 * np.eye(len(b))[1]))
    assert (steps[[0, 2]] < -15.0).all()


def test_feature_that_is_zero_gains_nothing():
    X, labels, chains = chains_data(25)
    X[:, 1] = 0.0
    loss = CrfLoss(X, labels, chains, n_classes=3)
    steps, gains = loss.coordinate_minima(np.zeros(loss.size + loss.n_dense))
    assert not steps.reshape(3, 3)[1].any()
    assert not gains.reshape(3, 3)[1].any()
    assert gains.reshape(3, 3)[[0, 2]].all()


@pytest.mark.parametrize("size", [1.0, 300.0])
def test_removal_costs_are_differences_of_values(size):
    loss = small_loss(31)
    b = some_params(loss, 32, size)
    support = [7, 1, 2, 4]
    exact = enumerated(loss)
    costs = loss.removal_costs(b, support)
    for index, cost in zip(support, costs, strict=True):
        without = b.copy()
        without[index] = 0.0
        expected = exact.value(without) - exact.value(b)
        assert cost == pytest.approx(expected, rel=1e-10, abs=1e-12 * size)
    np.testing.assert_allclose(costs, Loss.removal_costs(loss, b, support), atol=1e-10 * size)
    assert loss.removal_costs(b, []).shape == (0,)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    lengths=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    r=st.integers(1, 3),
    size=st.sampled_from([0.0, 0.5, 5.0, 200.0, 1000.0]),
)
def test_any_small_chain(seed, lengths, r, size):
    loss = small_loss(seed, lengths=tuple(lengths), p=2, r=r, ridge=0.01)
    b = some_params(loss, seed, size)
    exact = enumerated(loss)
    value, gradient = loss.value_and_gradient(b)
    assert value == pytest.approx(exact.value(b), rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(gradient, exact.gradient(b), atol=1e-12 * max(1.0, size))
    bends = exact.curvature(b)
    np.testing.assert_allclose(curvature(loss, b), bends[: loss.size], atol=1e-11)
    assert (bends <= loss.smoothness + 1e-12).all()
    steps, gains = loss.coordinate_minima(b)
    for j in range(loss.size):
        moved = b + steps[j] * np.eye(len(b))[j]
        assert abs(exact.gradient(moved)[j]) <= max(2e-10, 1e-12 * size)
    assert (gains >= 0.0).all()


def test_smoothness_is_reached_by_a_chain_of_one_word():
    """One word with x = 2 and two equally likely classes: the variance is x^2 / 4."""
    loss = CrfLoss(np.array([[2.0]]), [0], [1], n_classes=2)
    b = np.zeros(loss.size + loss.n_dense)
    np.testing.assert_allclose(curvature(loss, b), 1.0)
    np.testing.assert_allclose(loss.smoothness[:2], 1.0)


@pytest.mark.parametrize(
    ("labels", "chains", "words"),
    [
        ([0, 1, 2], [2, 0, 1], "chain 1 has 0 words. Leave out"),
        ([0, 1, 2], [2, 2], "4 words in all, but X has 3 rows"),
        ([0, 1, 2], [], "must be a list of whole numbers"),
        ([0, 1, 2], [1.5, 1.5], "must be a list of whole numbers"),
        ([0, 1, 3], [3], "label of word 2 is 3"),
        ([0, -1, 2], [3], "label of word 1 is -1"),
        ([0.5, 1, 2], [3], "label of word 0 is 0.5"),
        ([0, 1], [3], "shape"),
    ],
)
def test_chains_and_labels_that_do_not_fit(labels, chains, words):
    with pytest.raises(DataError, match=words):
        CrfLoss(np.ones((3, 2)), labels, chains, n_classes=3)
