"""Algorithms 3 and 4 of the 2009 report step by step, every quantity from its definition.

Minima over supports are found by a damped Newton method on the formula of the risk, one-dimensional
ones by Brent's method. Nothing is shared with the package.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit

TIE = 1e-9


@dataclass
class Risk:
    """R(w) = mean L(<x_i, w>, y_i) + ridge / 2 ||w||^2."""

    name: str
    X: np.ndarray  # (n, d)
    y: np.ndarray  # (n,)
    ridge: float = 0.0
    beta: float | None = None

    @property
    def smoothness(self):
        """beta of L."""
        return {"squared": 1.0, "logistic": 0.25}.get(self.name, self.beta)

    def parts(self, a):
        """L, its derivative and its second derivative, each (n,)."""
        y, b = self.y, self.beta
        if self.name == "squared":
            return (a - y) ** 2 / 2, a - y, np.ones_like(a)
        if self.name == "logistic":
            p = expit(-y * a)
            return np.logaddexp(0, -y * a), -y * p, p * (1 - p)
        if self.name == "absolute":
            u = a - y
            near = np.abs(u) <= 1 / b
            value = np.where(near, b * u**2 / 2, np.abs(u) - 1 / (2 * b))
            return value, np.where(near, b * u, np.sign(u)), b * near
        m = 1 - y * a
        near = (m > 0) & (m <= 1 / b)
        value = np.where(near, b * m**2 / 2, np.where(m > 0, m - 1 / (2 * b), 0.0))
        return value, -y * np.where(near, b * m, 1.0 * (m > 0)), b * near

    def value(self, w):
        return self.parts(self.X @ w)[0].mean() + self.ridge / 2 * (w @ w)

    def gradient(self, w):
        return self.X.T @ self.parts(self.X @ w)[1] / len(self.y) + self.ridge * w

    def minimum(self, support):
        """The minimiser (d,) over a support."""
        support, w = sorted(support), np.zeros(self.X.shape[1])
        columns = self.X[:, support]
        for _ in range(200 if support else 0):
            slope = self.gradient(w)[support]
            if np.abs(slope).max() < 1e-14:
                break
            weights = self.parts(self.X @ w)[2]
            hessian = columns.T @ (weights[:, None] * columns) / len(self.y)
            hessian += max(self.ridge, 1e-12) * np.eye(len(support))
            step, length, now = np.linalg.solve(hessian, slope), 1.0, self.value(w)
            while length > 1e-9:
                tried = w.copy()
                tried[support] -= length * step
                if self.value(tried) <= now - 1e-4 * length * (slope @ step):
                    break
                length /= 2
            else:
                tried[support] = w[support] - step
                if np.abs(self.gradient(tried)[support]).max() >= np.abs(slope).max():
                    break
            w = tried
        return w

    def gain(self, w, j):
        """R(w) - min_a R(w + a e_j)."""
        direction = np.zeros(len(w))
        direction[j] = 1.0
        found = minimize_scalar(lambda a: self.value(w + a * direction), tol=1e-13)
        return self.value(w) - min(self.value(w), found.fun)

    def scores(self, w, rule):
        """What each rule maximises, (d,)."""
        if rule == "objective":
            return np.array([self.gain(w, j) for j in range(len(w))])
        if rule == "gradient":
            return np.abs(self.gradient(w))
        # The listing to the letter: how far a X^j can come to grad Q, with unit columns.
        target = self.parts(self.X @ w)[1] / len(self.y)
        scores = np.zeros(len(w))
        for j, column in enumerate(self.X.T):
            unit = column / max(np.linalg.norm(column), 1e-300)
            best = np.linalg.lstsq(unit[:, None], target, rcond=None)[0]
            scores[j] = target @ target - ((unit * best - target) ** 2).sum()
        return scores

    def best(self, w, support, rule):
        scores = self.scores(w, rule)
        scores[list(support)] = -1.0
        return int(np.flatnonzero(scores >= scores.max() * (1 - TIE))[0])

    def worst(self, w, support, rule):
        scores = self.scores(w, rule)
        scores[list(support)] = np.inf
        return int(np.flatnonzero(scores <= scores.min() * (1 + TIE))[0])


def forward(risk, k, rule, choose=Risk.best):
    """Algorithm 3: features in the order of entry, estimates and risks after 0..k steps."""
    support, ways = [], [np.zeros(risk.X.shape[1])]
    for _ in range(k):
        support.append(choose(risk, ways[-1], support, rule))
        ways.append(risk.minimum(support))
    return support, np.array(ways), np.array([risk.value(w) for w in ways])


def replace(risk, support, rule, variant, most):
    """Algorithm 4 from a support: (taken, dropped) pairs accepted, estimates, risks."""
    support = list(support)
    ways, pairs = [risk.minimum(support)], []
    while len(pairs) < most and len(support) < risk.X.shape[1]:
        w = ways[-1]
        if variant == "simple":
            r = risk.best(w, support, "gradient")
            q = min(support, key=lambda j: (abs(w[j]), j))
            candidate = [j for j in support if j != q] + [r]
            if risk.value(risk.minimum(candidate)) >= risk.value(w) * (1 - 1e-12):
                break
        else:
            r = risk.best(w, support, rule)
            wider = [*support, r]
            moved = risk.minimum(wider)
            q = min(wider, key=lambda j: (abs(moved[j]), j))
            moved[q] = 0.0
            if risk.value(w) - risk.value(moved) <= 1e-12 * risk.value(w):
                break
            candidate = [j for j in wider if j != q]
        support = candidate
        pairs.append((r, q))
        ways.append(risk.minimum(support))
    return pairs, np.array(ways), np.array([risk.value(w) for w in ways])
