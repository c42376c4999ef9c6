"""Small chains, and their loss by all labellings."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.special import logsumexp, softmax

from greedyexp.losses.crf import CrfLoss

LENGTHS = (1, 3, 5, 2, 4)


def chains_data(seed, lengths=LENGTHS, p=3, r=3, zeros=0.3):
    rng = np.random.default_rng(seed)
    n = sum(lengths)
    X = rng.standard_normal((n, p)) * (rng.random((n, p)) >= zeros)
    return X, rng.integers(0, r, n), np.array(lengths)


def small_loss(seed=0, ridge=0.05, **shape):
    X, labels, chains = chains_data(seed, **shape)
    return CrfLoss(X, labels, chains, n_classes=shape.get("r", 3), ridge=ridge)


def some_params(loss, seed=0, size=1.0):
    return size * np.random.default_rng(seed).standard_normal(loss.size + loss.n_dense)


class Enumerated:
    """All labellings of each chain, with their counts of features and moves."""

    def __init__(self, X, labels, chains, r, ridge):
        self.r, self.ridge, self.n = r, ridge, len(labels)
        self.observed, self.chains, first = [], [], 0
        for length in chains:
            own = X[first : first + length]
            ways = list(itertools.product(range(r), repeat=int(length)))
            self.chains.append((np.array([self.counts(own, way) for way in ways]), ways))
            self.observed.append(self.counts(own, labels[first : first + length]))
            first += length

    def counts(self, X, way):
        p, r = X.shape[1], self.r
        nodes, start, end, moves = np.zeros((p, r)), np.zeros(r), np.zeros(r), np.zeros((r, r))
        for x, state in zip(X, way, strict=True):
            nodes[:, state] += x
        start[way[0]] = end[way[-1]] = 1.0
        for before, after in itertools.pairwise(way):
            moves[before, after] += 1.0
        return np.concatenate((nodes.ravel(), start, end, moves.ravel()))

    def value(self, b):
        total = 0.0
        for (counts, _), seen in zip(self.chains, self.observed, strict=True):
            total += logsumexp(counts @ b) - seen @ b
        return total / self.n + 0.5 * self.ridge * b @ b

    def gradient(self, b):
        total = self.ridge * self.n * b
        for (counts, _), seen in zip(self.chains, self.observed, strict=True):
            total = total + softmax(counts @ b) @ counts - seen
        return total / self.n

    def curvature(self, b):
        total = np.zeros_like(b)
        for counts, _ in self.chains:
            shares = softmax(counts @ b)
            total += shares @ (counts - shares @ counts) ** 2
        return total / self.n + self.ridge

    def marginals(self, b):
        rows = []
        for counts, ways in self.chains:
            shares = softmax(counts @ b)
            for t in range(len(ways[0])):
                rows.append(np.bincount([w[t] for w in ways], shares, minlength=self.r))
        return np.array(rows)

    def best(self, b):
        """Of labellings with the same score the one whose last labels are lowest."""
        labels = []
        for counts, ways in self.chains:
            scores = counts @ b
            ties = [w for w, s in zip(ways, scores, strict=True) if s >= scores.max() - 1e-9]
            labels.extend(min(ties, key=lambda way: way[::-1]))
        return labels


def enumerated(loss, X=None):
    design = loss.X if X is None else X
    return Enumerated(design, loss.labels, loss.chains, loss.shape[1], loss.ridge)
