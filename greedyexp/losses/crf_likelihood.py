"""The likelihood of labelled chains: values, derivatives and decoding."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from greedyexp.core.errors import ConfigError, DataError
from greedyexp.kernels.chain_moments import Chains
from greedyexp.kernels.chain_pass import GROUP, best_sequences, forward_backward, log_partition
from greedyexp.losses.loss import TOLERANCE, ChainLoss
from greedyexp.losses.quasi_newton import Descent
from greedyexp.problems.chains import ChainWeights, chain_weights, check_lengths
from greedyexp.problems.checks import Indices, is_sparse, largest_feature

# Sparse designs with at most this many entries are stored as dense arrays, which is faster.
DENSE_ENTRIES = 2**20


@dataclass(frozen=True)
class NullFit:
    """The fit without features.

    Parameters
    ----------
    found : Descent
        The minimiser over the dense parameters; zero if there is none.
    scale : float > 0
        Largest gradient of a feature at this fit, bounded below by the rounding error of gradients.
    reason : str
        Reason why there is no minimum; empty if there is one.
    """

    found: Descent
    scale: float
    reason: str = ""


class CrfLikelihood(ChainLoss):
    """Mean negative log-likelihood of labelled chains, per word.

    P(y | x) of a chain is proportional to the exponential of

        sum_t (W^T x_t)[y_t] + start[y_1] + end[y_T] + sum_{t > 1} A[y_{t-1}, y_t],

    and Q = -(sum over chains of log P(y | x)) / n + ridge / 2 ||params||^2. The weights W (p, r)
    are selectable. The dense parameters are start (r), end (r) and A (r, r), row by row, in this
    order.

    Parameters
    ----------
    X : array (n, p) or CSR array
        One row per word, chain after chain.
    labels : int array (n,) in [0, r)
    chains : int array (c,)
        Lengths of the chains, at least 1, with sum n.
    n_classes : int >= 1
        r.
    ridge : float >= 0

    Attributes
    ----------
    observed : array (d + q,)
        Factor of each parameter in the log-likelihood of the observed labelling.

    Raises
    ------
    DataError
        If labels or chains do not fit X.

    References
    ----------
    Lafferty, McCallum & Pereira (2001), "Conditional random fields"; Liu, Fujimaki & Ye (2014),
    section 4.2.
    """

    def __init__(self, X, labels, chains, *, n_classes: int, ridge: float = 0.0):
        n, p = X.shape
        self.chains = check_lengths(chains, n)
        self.labels = _check_labels(labels, n, n_classes)
        if is_sparse(X):
            X = X.toarray() if n * p <= DENSE_ENTRIES else scipy.sparse.csr_array(X)
        self.X = X
        self.shape = (p, n_classes)
        self.n_dense = n_classes * (n_classes + 2)
        self.n_samples = n
        self.ridge = float(ridge)
        self._width = -(-n_classes // GROUP) * GROUP
        self._offsets = np.concatenate(([0], np.cumsum(self.chains)))
        self.observed = self._counts_of_labels()

    @cached_property
    def scale(self) -> float:
        return self.null.scale

    @cached_property
    def largest_feature(self) -> float:
        return largest_feature(self.X)

    @property
    @abstractmethod
    def null(self) -> NullFit:
        """The fit without features."""

    @cached_property
    def tolerances(self) -> np.ndarray:
        """Tolerance of the derivative with respect to each parameter, shape (d + q,).

        It is smaller for columns of small values, because ``scale`` refers to the largest
        derivative.
        """
        own = np.minimum(self.scale, self.steepest(self.null.found.value))
        return TOLERANCE * np.append(own, np.full(self.n_dense, self.scale))

    def value(self, params: np.ndarray) -> float:
        scores = self._scores(self.X, params)
        total = log_partition(scores, *self._weights(params), self._offsets)
        return self._value(total, params, self.observed)

    def gradient(self, params: np.ndarray) -> np.ndarray:
        return self.value_and_gradient(params)[1]

    def value_and_gradient(self, params: np.ndarray) -> tuple[float, np.ndarray]:
        """Return Q and its gradient, in one pass."""
        return self.pass_over(self.X, params, self.observed)

    def pass_over(self, X, params: np.ndarray, observed: np.ndarray) -> tuple[float, np.ndarray]:
        """Return Q and its gradient (k r + q,) for columns (n, k) of X and dense parameters."""
        r = self.shape[1]
        scores, weights = self._scores(X, params), self._weights(params)
        total, forward, posterior, pairs = forward_backward(scores, *weights, self._offsets)
        transition = weights.transition
        joint = (forward[:-1].T @ scores[1:])[:r, :r]
        pairs += joint * np.exp(transition - transition.max())
        nodes = np.asarray(X.T @ posterior)[:, :r]
        starts = posterior[self._offsets[:-1], :r].sum(axis=0)
        ends = posterior[self._offsets[1:] - 1, :r].sum(axis=0)
        expected = np.concatenate((nodes.ravel(), starts, ends, pairs.ravel()))
        gradient = (expected - observed) / self.n_samples + self.ridge * params
        return self._value(total, params, observed), gradient

    def columns(self, rows: np.ndarray):
        """Return the columns (n, s) of the features ``rows``, dense or sparse like X."""
        if self._by_column is None:
            return np.ascontiguousarray(self.X[:, rows])
        return scipy.sparse.csr_array(self._by_column[:, rows])

    @cached_property
    def _smoothness(self) -> np.ndarray:
        r = self.shape[1]
        reach = _sums_by_chain(abs(self.X), self._offsets)
        nodes = np.repeat((reach**2).sum(axis=0), r)
        steps = self.chains - 1
        transition = np.full((r, r), ((steps + 1) // 2 @ ((steps + 1) // 2)))
        np.fill_diagonal(transition, steps @ steps)
        ends = np.full(2 * r, len(self.chains))
        counts = np.concatenate((nodes, ends, transition.ravel()))
        return counts / (4.0 * self.n_samples) + self.ridge

    @property
    def smoothness(self) -> np.ndarray:
        """Upper bound of second derivatives: a count of range R has variance at most R^2 / 4."""
        return self._smoothness.copy()

    def coordinate_minima(self, params: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Minimise along each coordinate by Newton's method."""
        n = self.n_samples
        steps, gains = np.empty(self.shape), np.empty(self.shape)
        observed = self.observed[: self.size].reshape(self.shape)
        present = params[: self.size].reshape(self.shape)
        chains = self._prepared(params)
        for i in range(self.shape[0]):
            steps[i], gains[i] = chains.minima_of_feature(
                self._column(i),
                observed[i],
                present[i],
                n * self.ridge,
                n * self.tolerances[i * self.shape[1]],
            )
        return steps.ravel(), gains.ravel() / n

    def removal_costs(self, params: np.ndarray, support: Indices) -> np.ndarray:
        """Return Q(b - b_i e_i) - Q(b) for each i of the support, in one pass over the chains."""
        support = np.asarray(support, dtype=np.int64)
        if not support.size:
            return np.empty(0)
        rows, place = np.unique(support // self.shape[1], return_inverse=True)
        steps = -params[support]
        columns = self.columns(rows)
        if is_sparse(columns):
            columns = columns.toarray()
        change = self._prepared(params).changes(columns, place, support % self.shape[1], steps)
        change -= self.observed[support] * steps
        return change / self.n_samples - 0.5 * self.ridge * steps**2

    def decode(self, X, chains, params: np.ndarray, how: str = "marginal") -> np.ndarray:
        if how not in ("marginal", "viterbi"):
            raise ConfigError(f"unknown decoding '{how}'.", remedy="Use 'marginal' or 'viterbi'.")
        offsets = np.concatenate(([0], np.cumsum(check_lengths(chains, X.shape[0]))))
        scores = self._scores(X, params)
        if how == "viterbi":
            return best_sequences(scores, *self._weights(params), offsets)
        posterior = forward_backward(scores, *self._weights(params), offsets)[2]
        return posterior[:, : self.shape[1]].argmax(axis=1)

    def _counts_of_labels(self) -> np.ndarray:
        r = self.shape[1]
        hot = np.zeros((self.n_samples, r))
        hot[np.arange(self.n_samples), self.labels] = 1.0
        inside = np.ones(self.n_samples, bool)
        inside[self._offsets[:-1]] = False
        later = np.flatnonzero(inside)
        moves = self.labels[later - 1] * r + self.labels[later]
        return np.concatenate(
            (
                np.asarray(self.X.T @ hot).ravel(),
                np.bincount(self.labels[self._offsets[:-1]], minlength=r),
                np.bincount(self.labels[self._offsets[1:] - 1], minlength=r),
                np.bincount(moves, minlength=r * r),
            )
        )

    def _weights(self, params: np.ndarray) -> ChainWeights:
        return chain_weights(params[-self.n_dense :], self.shape[1])

    def _scores(self, X, params: np.ndarray) -> np.ndarray:
        """Return padded scores of each word and state, shape (n, R)."""
        weights = np.zeros((X.shape[1], self._width))
        weights[:, : self.shape[1]] = params[: -self.n_dense].reshape(-1, self.shape[1])
        return np.asarray(X @ weights)

    def _value(self, total: float, params: np.ndarray, observed: np.ndarray) -> float:
        loss = (total - observed @ params) / self.n_samples
        return float(loss + 0.5 * self.ridge * (params @ params))

    def _prepared(self, params: np.ndarray) -> Chains:
        return Chains(self._scores(self.X, params), *self._weights(params), self._offsets)

    def _column(self, i: int) -> np.ndarray:
        """Return column i of X as a contiguous array (n,)."""
        if self._by_column is None:
            return np.ascontiguousarray(self.X[:, i])
        first, last = self._by_column.indptr[i : i + 2]
        column = np.zeros(self.n_samples)
        column[self._by_column.indices[first:last]] = self._by_column.data[first:last]
        return column

    @cached_property
    def _by_column(self):
        """X by columns if it is sparse, otherwise None."""
        return scipy.sparse.csc_array(self.X) if is_sparse(self.X) else None


def _check_labels(labels, n_words: int, n_classes: int) -> np.ndarray:
    """Return labels as int64 after checking that each word has a class from 0 to r - 1.

    Raises
    ------
    DataError
        If a label is not such a class, or the number of labels is wrong.
    """
    labels = np.asarray(labels)
    if labels.shape != (n_words,):
        raise DataError(f"labels have shape {labels.shape}; X has {n_words} rows.")
    whole = labels.astype(np.int64)
    bad = np.flatnonzero((whole != labels) | (whole < 0) | (whole >= n_classes))
    if bad.size:
        raise DataError(
            f"the label of word {bad[0]} is {labels[bad[0]]}.",
            remedy=f"Labels are the integers 0 to {n_classes - 1}.",
        )
    return whole


def _sums_by_chain(X, offsets: np.ndarray) -> np.ndarray:
    """Return sums of the rows of each chain, shape (c, p)."""
    n_chains = len(offsets) - 1
    words = np.arange(offsets[-1])
    chain = np.repeat(np.arange(n_chains), np.diff(offsets))
    member = scipy.sparse.csr_array(
        (np.ones(len(words)), (chain, words)), shape=(n_chains, len(words))
    )
    total = member @ X
    return total.toarray() if is_sparse(total) else total


class ReducedLoss:
    """The loss as a function of its free parameters (m,), computed from the columns they use.

    Parameters
    ----------
    loss : CrfLikelihood
    support : sequence of int

    Attributes
    ----------
    free : int array (m,)
        Indices of the free parameters: the dense ones, then the support in its order.
    """

    def __init__(self, loss: CrfLikelihood, support: Indices):
        self._loss = loss
        r, size, total = loss.shape[1], loss.size, loss.size + loss.n_dense
        self._support = support = np.asarray(support, dtype=np.int64)
        self.free = np.concatenate((np.arange(size, total), support))
        self._rows = rows = np.unique(support // r)
        places = np.full(total, -1)
        places[(rows[:, None] * r + np.arange(r)).ravel()] = np.arange(len(rows) * r)
        places[size:] = len(rows) * r + np.arange(loss.n_dense)
        kept = np.flatnonzero(places >= 0)
        self._places, self._count = places[self.free], len(kept)
        self._columns, self._observed = loss.columns(rows), loss.observed[kept]

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return Q and its gradient (m,)."""
        params = np.zeros(self._count)
        params[self._places] = x
        value, gradient = self._loss.pass_over(self._columns, params, self._observed)
        return value, gradient[self._places]

    def support_columns(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield each feature of the support with its column (n,)."""
        for feature in self._support:
            place = np.searchsorted(self._rows, [feature // self._loss.shape[1]])
            column = self._columns[:, place]
            column = column.toarray() if is_sparse(column) else column
            yield int(feature), column[:, 0]

    def sizes(self) -> np.ndarray:
        """Return the largest |factor| of each free parameter, shape (m,); one if it is zero."""
        largest = [np.abs(column).max() or 1.0 for _, column in self.support_columns()]
        return np.concatenate((np.ones(self._loss.n_dense), largest))

    def log_odds_bound(self, x: np.ndarray) -> float:
        """Return an upper bound of the log odds of one label against another, from parameters (m,).

        The bound is the largest range of the scores of a word plus the ranges of starts, ends and
        transitions.
        """
        r = self._loss.shape[1]
        params = np.zeros(self._count)
        params[self._places] = x
        dense = params[-self._loss.n_dense :]
        words = np.asarray(self._columns @ params[: -self._loss.n_dense].reshape(-1, r))
        parts = dense[:r], dense[r : 2 * r], dense[2 * r :]
        return float(np.ptp(words, axis=1).max() + sum(np.ptp(part) for part in parts))

    def all_params(self, x: np.ndarray) -> np.ndarray:
        """Return all parameters (d + q,), zero where they are not free."""
        params = np.zeros(self._loss.size + self._loss.n_dense)
        params[self.free] = x
        return params
