"""Algorithms that trade accuracy for sparsity, from their listings, and risks, in plain numpy."""

from itertools import product

import numpy as np


class Risk:
    """R(w) = mean L(<w, x_i>, y_i) + ridge / 2 ||w||^2; absolute and hinge smoothed to beta."""

    def __init__(self, X, y, name="squared", *, beta=2.0, ridge=0.0):
        self.X, self.y, self.name, self.ridge = X, y, name, ridge
        self.beta = {"squared": 1.0, "logistic": 0.25}.get(name, beta)
        self.largest_feature = np.abs(X).max()

    @property
    def smoothness(self):
        """The constant of the theorems."""
        return self.beta * max(1.0, self.largest_feature) ** 2 + self.ridge

    def scalar(self, a):
        """L, L' and L'' of each row."""
        y, beta = self.y, self.beta
        if self.name == "squared":
            return (a - y) ** 2 / 2, a - y, np.ones_like(a)
        if self.name == "logistic":
            share = 1.0 / (1.0 + np.exp(y * a))
            return np.logaddexp(0.0, -y * a), -y * share, share * (1.0 - share)
        if self.name == "absolute":
            u, sign = np.abs(a - y), np.sign(a - y)
        else:
            u, sign = np.maximum(1.0 - y * a, 0.0), -y
        near = u <= 1.0 / beta
        loss = np.where(near, beta * u**2 / 2, u - 0.5 / beta)
        return loss, sign * np.minimum(beta * u, 1.0), np.where(near & (u > 0), beta, 0.0)

    def value(self, w):
        return self.scalar(self.X @ w)[0].mean() + self.ridge / 2 * w @ w

    def original(self, w):
        """Before smoothing."""
        a = self.X @ w
        plain = np.abs(a - self.y) if self.name == "absolute" else np.maximum(1 - self.y * a, 0)
        return plain.mean() + self.ridge / 2 * w @ w

    def gradient(self, w):
        return self.X.T @ self.scalar(self.X @ w)[1] / len(self.y) + self.ridge * w

    def minimise(self, support, start=None):
        """Newton's method with halved steps over some coordinates."""
        support = list(support)
        w = np.zeros(self.X.shape[1])
        if start is not None:
            w[support] = start[support]
        columns = self.X[:, support]
        for _ in range(200):
            slope = self.gradient(w)[support]
            if np.abs(slope).max(initial=0.0) < 1e-12:
                break
            bent = self.scalar(self.X @ w)[2]
            hessian = columns.T @ (bent[:, None] * columns) / len(self.y)
            step = np.linalg.solve(hessian + self.ridge * np.eye(len(support)), slope)
            size, here = 1.0, self.value(w)
            while size > 1e-12:
                there = w.copy()
                there[support] -= size * step
                if self.value(there) <= here - 1e-4 * size * slope @ step:
                    break
                size /= 2
            else:
                break
            w = there
        return w


def forward_greedy(risk, radius, steps):
    """Algorithm 2 of the report of 2009 without its end: points and gaps of 0, ..., steps."""
    w = np.zeros(risk.X.shape[1])
    points, gaps = [], []
    for _ in range(steps + 1):
        theta = risk.gradient(w)
        best = np.argmax(np.abs(theta))
        gap = theta @ w + radius * np.abs(theta[best])
        points.append(w)
        gaps.append(gap)
        eta = min(1.0, gap / (4 * radius**2 * risk.smoothness))
        w = (1 - eta) * w
        w[best] -= eta * radius * np.sign(theta[best])
    return points, np.array(gaps)


def next_feature(risk, w, rule):
    """argmax |grad_j|, or argmin_j min_a R(w + a e_j)."""
    if rule == "gradient":
        return int(np.argmax(np.abs(risk.gradient(w))))
    values = []
    for j in range(len(w)):
        low, high = w.copy(), w.copy()
        reach = 2 * np.abs(risk.gradient(w)[j]) / max(risk.ridge, 1e-2) + 1e-3
        low[j], high[j] = w[j] - reach, w[j] + reach
        for _ in range(60):
            middle = (low + high) / 2
            if risk.gradient(middle)[j] > 0:
                high = middle
            else:
                low = middle
        values.append(risk.value(low))
    return int(np.argmin(values))


def fully_corrective(risk, steps, rule="gradient"):
    """Algorithm 3: points of 0, ..., steps, and the last support."""
    w, support, points = np.zeros(risk.X.shape[1]), [], [np.zeros(risk.X.shape[1])]
    for _ in range(steps):
        j = next_feature(risk, w, rule)
        if j not in support:
            support.append(j)
        w = risk.minimise(support, w)
        points.append(w)
    return points, support


def replacement_steps(risk, support, steps, rule="gradient"):
    """Algorithm 4: points of 0, 1, ... up to where it ends, and whether it ended by itself."""
    support = sorted(support)
    points = [risk.minimise(support)]
    for _ in range(steps):
        w = points[-1]
        larger = sorted({*support, next_feature(risk, w, rule)})
        refitted = risk.minimise(larger, w)
        out = min(larger, key=lambda j: abs(refitted[j]))
        without = refitted.copy()
        without[out] = 0.0
        if risk.value(w) - risk.value(without) <= 1e-13:
            return points, True
        support = [j for j in larger if j != out]
        points.append(risk.minimise(support, without))
    return points, False


def sparsified(target, steps):
    """Algorithm 1: all its outputs after some steps, with their probabilities."""
    norm, d = np.abs(target).sum(), len(target)
    for draws in product(range(d), repeat=steps):
        chance = np.prod(np.abs(target[list(draws)]) / norm)
        if chance > 0.0:
            counts = np.bincount(draws, minlength=d)
            yield chance, norm / steps * np.sign(target) * counts


def minimiser_in_ball(risk, radius, rounds=4000):
    """Accelerated projected gradient steps; the last point and its duality gap."""
    size = 1.0 / (risk.beta * np.linalg.norm(risk.X, 2) ** 2 / len(risk.y) + risk.ridge)
    w = ahead = np.zeros(risk.X.shape[1])
    inertia = 1.0
    for _ in range(rounds):
        after = onto_ball(ahead - size * risk.gradient(ahead), radius)
        later = (1 + np.sqrt(1 + 4 * inertia**2)) / 2
        if (ahead - after) @ (after - w) > 0:
            later, ahead = 1.0, after
        else:
            ahead = after + (inertia - 1) / later * (after - w)
        w, inertia = after, later
        slope = risk.gradient(w)
        gap = slope @ w + radius * np.abs(slope).max()
        if gap < 1e-11:
            break
    return w, gap


def onto_ball(w, radius):
    """The nearest point of the l1 ball."""
    if np.abs(w).sum() <= radius:
        return w
    sizes = np.sort(np.abs(w))[::-1]
    excess = np.cumsum(sizes) - radius
    last = np.flatnonzero(sizes > excess / np.arange(1, len(w) + 1))[-1]
    return np.sign(w) * np.maximum(np.abs(w) - excess[last] / (last + 1), 0.0)


def drawn(seed, name="squared", *, n=30, p=6, size=1.0, ridge=0.0, correlation=0.5, **kwargs):
    """A random risk whose largest feature is ``size``, and the coefficients behind it."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, p)) + correlation * rng.uniform(-1, 1, (n, 1))
    X *= size / np.abs(X).max()
    truth = rng.standard_normal(p) * (rng.random(p) < 0.5) * 2.0 / size
    y = X @ truth + 0.3 * rng.standard_normal(n)
    if name in ("logistic", "hinge"):
        y = np.where(y > np.median(y), 1.0, -1.0)
    return Risk(X, y, name, ridge=ridge, **kwargs), truth
