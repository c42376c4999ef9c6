"""Forward greedy selection over an l1 ball in plain NumPy, and minima from a conic solver."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from scipy.optimize import brentq

LOSSES = ("squared", "logistic", "absolute", "hinge")
BETA = {"squared": 1.0, "logistic": 0.25, "absolute": 4.0, "hinge": 4.0}


def slope(loss, a, y):
    """L'(a, y), written from the formulas."""
    beta = BETA[loss]
    if loss == "squared":
        return a - y
    if loss == "logistic":
        return -y / (1.0 + np.exp(y * a))
    if loss == "absolute":
        return np.clip(beta * (a - y), -1.0, 1.0)
    return -y * np.clip(beta * (1.0 - y * a), 0.0, 1.0)


def value(loss, a, y):
    """L(a, y) likewise, smoothed where it has to be."""
    beta = BETA[loss]
    if loss == "squared":
        return (a - y) ** 2 / 2
    if loss == "logistic":
        return np.log1p(np.exp(-y * a))
    u = np.abs(a - y) if loss == "absolute" else np.maximum(1.0 - y * a, 0.0)
    return np.where(beta * u <= 1.0, beta * u**2 / 2, u - 0.5 / beta)


class Risk:
    """R(w) = mean L(X w, y) + ridge / 2 ||w||^2 over the ball ||w||_1 <= radius."""

    def __init__(self, loss, X, y, radius, ridge=0.0):
        self.loss, self.X, self.y, self.radius, self.ridge = loss, X, y, radius, ridge
        largest = max(1.0, np.abs(X).max())
        self.beta = BETA[loss] * largest**2 + ridge

    def value(self, w):
        return value(self.loss, self.X @ w, self.y).mean() + self.ridge / 2 * w @ w

    def gradient(self, w):
        return self.X.T @ slope(self.loss, self.X @ w, self.y) / len(self.y) + self.ridge * w

    def gap(self, w):
        theta = self.gradient(w)
        return theta @ w + self.radius * np.abs(theta).max()

    def vertex(self, w):
        theta = self.gradient(w)
        j = int(np.argmax(np.abs(theta)))
        return -np.sign(theta[j]) * self.radius * np.eye(len(w))[j]

    def paper(self, w):
        """The step as printed."""
        eta = min(1.0, self.gap(w) / (4 * self.beta * self.radius**2))
        return (1 - eta) * w + eta * self.vertex(w)

    def line_search(self, w):
        """The step to the root of the derivative along the line."""
        v = self.vertex(w) - w
        along = lambda eta: self.gradient(w + eta * v) @ v  # noqa: E731
        if along(0.0) >= 0.0 or along(1.0) <= 0.0:
            return w + (along(0.0) < 0.0) * v
        return w + brentq(along, 0.0, 1.0, xtol=1e-16, rtol=1e-15) * v

    def run(self, step, steps):
        """Iterates 0, ..., steps."""
        path = [np.zeros(self.X.shape[1])]
        for _ in range(steps):
            path.append(getattr(self, step)(path[-1]))
        return np.array(path)

    def least(self):
        """The minimum over the ball, by Clarabel."""
        w, n, beta = cp.Variable(self.X.shape[1]), len(self.y), BETA[self.loss]
        a = self.X @ w
        if self.loss == "squared":
            total = cp.sum_squares(a - self.y) / 2
        elif self.loss == "logistic":
            total = cp.sum(cp.logistic(-cp.multiply(self.y, a)))
        elif self.loss == "absolute":
            total = beta / 2 * cp.sum(cp.huber(a - self.y, 1 / beta))
        else:
            total = beta / 2 * cp.sum(cp.huber(cp.pos(1 - cp.multiply(self.y, a)), 1 / beta))
        risk = total / n + self.ridge / 2 * cp.sum_squares(w)
        problem = cp.Problem(cp.Minimize(risk), [cp.norm1(w) <= self.radius])
        return problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12)


def data(loss, seed, n=50, d=12, scale=1.0):
    """Correlated features in [-scale, scale], and responses that three of them tell."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d)) + 0.5 * rng.uniform(-1, 1, (n, 1))
    X *= scale / np.abs(X).max()
    y = X[:, :3] @ [2.0, -1.0, 0.5][:d] + 0.3 * rng.standard_normal(n)
    if loss in ("logistic", "hinge"):
        y = np.where(y > 0, 1.0, -1.0)
    return X, y
