"""Linear-chain conditional random fields."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import scipy.sparse

from greedyexp.errors import DataError
from greedyexp.kernels.chain_decode import best_sequences
from greedyexp.kernels.chain_moments import (
    Chains,
    minima_of_feature,
    prepare,
    variances_of_feature,
    variances_of_moves,
)
from greedyexp.kernels.chain_pass import LANES, forward_backward, log_partition
from greedyexp.losses.loss import TOLERANCE, Fit, Loss, Restricted
from greedyexp.losses.quasi_newton import Descent, append, descend, remove

# Sparse designs of at most this many entries are kept dense, which is faster.
DENSE_ENTRIES = 2**20
# Step of the difference of gradients that tells the Hessian's column of a new coefficient.
DIFFERENCE = 1e-5


def check_chains(chains, n_words: int) -> np.ndarray:
    """Lengths of chains as int64, after making sure that they divide ``n_words`` words.

    Raises
    ------
    DataError
        When a length is not a positive integer or they do not sum to the number of words.
    """
    lengths = np.asarray(chains)
    if lengths.ndim != 1 or lengths.size == 0:
        raise DataError("chains must be a list of at least one length.")
    whole = lengths.astype(np.int64)
    if not np.array_equal(whole, lengths) or whole.min() < 1:
        bad = int(np.flatnonzero((whole != lengths) | (whole < 1))[0])
        raise DataError(
            f"chain {bad} has length {lengths[bad]}.", remedy="Leave out chains without words."
        )
    if whole.sum() != n_words:
        raise DataError(f"the chains have {whole.sum()} words in all, but X has {n_words} rows.")
    return whole


def check_labels(labels, n_words: int, n_classes: int) -> np.ndarray:
    """Labels as int64, after making sure that they are classes 0 to r - 1, one for each word.

    Raises
    ------
    DataError
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


class CrfLoss(Loss):
    """Mean negative log-likelihood of labelled chains, over words.

    P(y | x) of a chain is proportional to the exponential of
    sum_t (W^T x_t)[y_t] + start[y_1] + end[y_T] + sum_{t > 1} A[y_{t-1}, y_t], and
    Q = -(sum over chains of log P(y | x)) / n + ridge / 2 ||params||^2. The weights W (p, r) are
    selectable; start (r), end (r) and A (r, r), row by row, are the dense parameters, in this
    order.

    Parameters
    ----------
    X : array (n, p) or CSR array
        One row per word, chains one after the other.
    labels : int array (n,) in [0, r)
    chains : int array (c,)
        Lengths, at least 1, with sum n.
    n_classes : int >= 1
        r.
    ridge : float >= 0

    Raises
    ------
    DataError
        When labels or chains do not fit X.

    References
    ----------
    Lafferty, McCallum & Pereira (2001), "Conditional random fields"; Liu, Fujimaki & Ye (2014),
    section 4.2.
    """

    def __init__(self, X, labels, chains, *, n_classes: int, ridge: float = 0.0):
        n, p = X.shape
        self.chains = check_chains(chains, n)
        self.labels = check_labels(labels, n, n_classes)
        if scipy.sparse.issparse(X):
            X = X.toarray() if n * p <= DENSE_ENTRIES else scipy.sparse.csr_array(X)
        self.X = X
        self.shape = (p, n_classes)
        self.n_dense = n_classes * (n_classes + 2)
        self.n_samples = n
        self.ridge = float(ridge)
        self._width = -(-n_classes // LANES) * LANES
        self._offsets = np.concatenate(([0], np.cumsum(self.chains)))
        self._observed = self._counts_of_labels()

    @cached_property
    def scale(self) -> float:
        return self._null[1]

    @cached_property
    def _null(self) -> tuple[Descent, float]:
        """The minimiser over the dense parameters, and the largest gradient of a feature there."""
        start = np.zeros(self.n_dense)
        free = np.arange(self.size, self.size + self.n_dense)
        tolerance = TOLERANCE * (np.abs(self.gradient(self._spread(free, start))).max() or 1.0)
        found = None
        while True:
            found = self._descend(free, start, tolerance, None if found is None else found.inverse)
            scale = np.abs(self.gradient(self._spread(free, found.x))[: self.size]).max() or 1.0
            if not found.converged or tolerance <= TOLERANCE * scale:
                return found, float(scale)
            start, tolerance = found.x, 0.5 * TOLERANCE * scale

    def value(self, params: np.ndarray) -> float:
        start, end, transition = self._dense_parts(params)
        total = log_partition(self._scores(params), start, end, transition, self._offsets)
        return self._value(total, params)

    def gradient(self, params: np.ndarray) -> np.ndarray:
        return self.value_and_gradient(params)[1]

    def value_and_gradient(self, params: np.ndarray) -> tuple[float, np.ndarray]:
        """Q and its gradient, in one pass."""
        total, expected = self._expected(self._scores(params), params, self.X)
        gradient = (expected - self._observed) / self.n_samples + self.ridge * params
        return self._value(total, params), gradient

    def curvature(self, params: np.ndarray) -> np.ndarray:
        """Variances of the counts, one forward pass for each coordinate."""
        chains = self._prepared(params)
        nodes = [variances_of_feature(chains, self._column(i)) for i in range(self.shape[0])]
        posterior = self._posterior(self._scores(params), params, self._offsets)
        ends = [
            (posterior[words] * (1.0 - posterior[words])).sum(axis=0)
            for words in (self._offsets[:-1], self._offsets[1:] - 1)
        ]
        counts = np.concatenate((*nodes, *ends, variances_of_moves(chains).ravel()))
        return counts / self.n_samples + self.ridge

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
        """A count of range R has variance at most R^2 / 4 (Popoviciu)."""
        return self._smoothness.copy()

    def coordinate_minima(self, params: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Newton's method for each, by forward passes over the chains that a feature is in."""
        n = self.n_samples
        steps, gains = np.empty(self.shape), np.empty(self.shape)
        observed = self._observed[: self.size].reshape(self.shape)
        present = params[: self.size].reshape(self.shape)
        chains = self._prepared(params)
        for i in range(self.shape[0]):
            steps[i], gains[i] = minima_of_feature(
                chains,
                self._column(i),
                observed[i],
                present[i],
                n * self.ridge,
                n * TOLERANCE * self.scale,
            )
        return steps.ravel(), gains.ravel() / n

    def minimise(self, support: Sequence[int], start: np.ndarray | None = None) -> Restricted:
        free = self._free(support)
        x = np.zeros(len(free)) if start is None else start[free]
        found = self._descend(free, x, TOLERANCE * self.scale)
        return self._restricted(free, found)

    def fit(self) -> Fit:
        return CrfFit(self)

    def decode(self, X, chains, params: np.ndarray, how: str = "marginal") -> np.ndarray:
        """Labels of the words of other chains.

        Parameters
        ----------
        X : array (n, p) or CSR array
        chains : int array (c,)
        params : array (d + q,)
        how : "marginal" or "viterbi"
            The most probable label of each word, or the most probable labelling of each chain; the
            lowest label where several are.

        Returns
        -------
        int array (n,)
        """
        offsets = np.concatenate(([0], np.cumsum(check_chains(chains, X.shape[0]))))
        r = self.shape[1]
        scores = self._scores(params, X)
        start, end, transition = self._dense_parts(params)
        if how == "viterbi":
            own = np.ascontiguousarray(scores[:, :r])
            return best_sequences(own, start, end, transition, offsets)
        return self._posterior(scores, params, offsets).argmax(axis=1)

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

    def _dense_parts(self, params: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r = self.shape[1]
        dense = np.array(params[self.size :])
        return dense[:r], dense[r : 2 * r], dense[2 * r :].reshape(r, r)

    def _scores(self, params: np.ndarray, X=None) -> np.ndarray:
        """Scores of each word and state, padded, (n, R)."""
        X = self.X if X is None else X
        weights = np.zeros((self.shape[0], self._width))
        weights[:, : self.shape[1]] = params[: self.size].reshape(self.shape)
        return np.asarray(X @ weights)

    def _value(self, log_partition: float, params: np.ndarray) -> float:
        likelihood = self._observed @ params - log_partition
        return float(-likelihood / self.n_samples + 0.5 * self.ridge * (params @ params))

    def _expected(self, scores: np.ndarray, params: np.ndarray, X) -> tuple[float, np.ndarray]:
        """log Z summed over chains, and the expected counts of the columns of X and the rest."""
        r = self.shape[1]
        start, end, transition = self._dense_parts(params)
        forward, posterior = np.empty_like(scores), np.empty_like(scores)
        pairs = np.zeros((r, r))
        total = forward_backward(
            scores, start, end, transition, self._offsets, forward, posterior, pairs
        )
        joint = (forward[:-1].T @ scores[1:])[:r, :r]
        pairs += joint * np.exp(transition - transition.max())
        nodes = np.asarray(X.T @ posterior)[:, :r]
        ends = posterior[self._offsets[1:] - 1, :r].sum(axis=0)
        starts = posterior[self._offsets[:-1], :r].sum(axis=0)
        return total, np.concatenate((nodes.ravel(), starts, ends, pairs.ravel()))

    def _posterior(self, scores, params, offsets) -> np.ndarray:
        """Probabilities of the states of each word, (n, r); overwrites the scores."""
        r = self.shape[1]
        forward, posterior = np.empty_like(scores), np.empty_like(scores)
        parts = self._dense_parts(params)
        forward_backward(scores, *parts, offsets, forward, posterior, np.zeros((r, r)))
        return posterior[:, :r]

    def _prepared(self, params: np.ndarray) -> Chains:
        return prepare(self._scores(params), *self._dense_parts(params), self._offsets)

    def _column(self, i: int) -> np.ndarray:
        """Column i of X as a contiguous array (n,)."""
        if self._by_column is None:
            return np.ascontiguousarray(self.X[:, i])
        first, last = self._by_column.indptr[i : i + 2]
        column = np.zeros(self.n_samples)
        column[self._by_column.indices[first:last]] = self._by_column.data[first:last]
        return column

    @cached_property
    def _by_column(self):
        """A sparse X by columns; None when X is dense."""
        return scipy.sparse.csc_array(self.X) if scipy.sparse.issparse(self.X) else None

    def _free(self, support: Sequence[int]) -> np.ndarray:
        """Places of the free parameters: the dense ones, then the support in its order."""
        dense = np.arange(self.size, self.size + self.n_dense)
        return np.concatenate((dense, np.asarray(support, dtype=np.int64)))

    def _spread(self, free: np.ndarray, x: np.ndarray) -> np.ndarray:
        params = np.zeros(self.size + self.n_dense)
        params[free] = x
        return params

    def _descend(self, free, x, tolerance, inverse=None) -> Descent:
        return descend(self._on(free), x, tolerance, inverse)

    def _on(self, free: np.ndarray):
        """The function of the free parameters alone: value and gradient."""

        def function(x):
            value, gradient = self.value_and_gradient(self._spread(free, x))
            return value, gradient[free]

        return function

    def _restricted(self, free: np.ndarray, found: Descent) -> Restricted:
        params = self._spread(free, found.x)
        value, gradient = self.value_and_gradient(params)
        message = "" if found.converged else _unconverged(found, self.scale)
        return Restricted(params, value, gradient, found.converged, message)


class CrfFit(Fit):
    """A restricted minimiser that carries its inverse Hessian through additions and removals."""

    def __init__(self, loss: CrfLoss):
        self.loss = loss
        self.support: list[int] = []
        self._settle(loss._null[0])

    def add(self, features: Sequence[int]) -> None:
        """Take features into the support and minimise."""
        inverse, x = self._descent.inverse, self._descent.x
        for feature in features:
            self.support.append(int(feature))
            x = np.append(x, 0.0)
            column = self._hessian_column(x)
            inverse = append(inverse, column[:-1], column[-1])
        self._minimise_from(x, inverse)

    def remove(self, features: Sequence[int]) -> None:
        """Take features out of the support and minimise."""
        inverse, x = self._descent.inverse, self._descent.x
        for feature in features:
            place = self.support.index(feature)
            self.support.pop(place)
            place += self.loss.n_dense
            inverse = remove(inverse, place)
            x = np.delete(x, place)
        self._minimise_from(x, inverse)

    def _hessian_column(self, x: np.ndarray) -> np.ndarray:
        """Second derivatives by the newest coefficient and all free ones, by a difference."""
        function = self.loss._on(self.loss._free(self.support))
        ahead = x.copy()
        ahead[-1] += DIFFERENCE
        return (function(ahead)[1] - function(x)[1]) / DIFFERENCE

    def _minimise_from(self, x: np.ndarray, inverse: np.ndarray) -> None:
        loss = self.loss
        free = loss._free(self.support)
        self._settle(loss._descend(free, x, TOLERANCE * loss.scale, inverse))

    def _settle(self, descent: Descent) -> None:
        self._descent = descent
        found = self.loss._restricted(self.loss._free(self.support), descent)
        self.params, self.value, self._gradient = found.params, found.value, found.gradient
        self.converged, self.message = found.converged, found.message


def _sums_by_chain(X, offsets: np.ndarray) -> np.ndarray:
    """Sums of the rows of each chain, (c, p)."""
    n_chains = len(offsets) - 1
    words = np.arange(offsets[-1])
    chain = np.repeat(np.arange(n_chains), np.diff(offsets))
    member = scipy.sparse.csr_array(
        (np.ones(len(words)), (chain, words)), shape=(n_chains, len(words))
    )
    total = member @ X
    return total.toarray() if scipy.sparse.issparse(total) else total


def _unconverged(found: Descent, scale: float) -> str:
    left = np.abs(found.gradient).max() / scale
    return (
        f"The minimiser of the chain model was not found: {found.iterations} iterations left "
        f"{left:.1e} of the gradient."
    )
