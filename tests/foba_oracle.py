"""Algorithm 1 of Liu, Fujimaki & Ye (2014) for least squares, step by step with numpy's lstsq.

Nothing is updated: every quantity is computed afresh from its definition, at the cost of a fit for
each. Losses are ||y - X b - b_0||^2 / (2 n) + ridge/2 ||b||^2.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

TIE = 1e-10


@dataclass
class LeastSquares:
    """The loss, its minimisers and one-dimensional minima by brute force."""

    X: np.ndarray  # (n, p)
    y: np.ndarray  # (n,)
    ridge: float = 0.0
    intercept: bool = False

    def value(self, coef, offset=0.0):
        residual = self.y - self.X @ coef - offset
        return residual @ residual / (2 * len(self.y)) + self.ridge / 2 * (coef @ coef)

    def minimum(self, support):
        """Coefficients (p,), intercept and loss of the fit on these columns."""
        n, p = self.X.shape
        support = sorted(support)
        k = len(support)
        above = np.column_stack([self.X[:, support], np.full(n, float(self.intercept))])
        below = np.column_stack([np.sqrt(n * self.ridge) * np.eye(k), np.zeros(k)])
        solution = np.linalg.lstsq(
            np.vstack([above, below]), np.append(self.y, np.zeros(k)), rcond=None
        )[0]
        coef = np.zeros(p)
        coef[support] = solution[:-1]
        return coef, solution[-1], self.value(coef, solution[-1])

    def gradient(self, coef, offset=0.0):
        residual = self.y - self.X @ coef - offset
        return -self.X.T @ residual / len(self.y) + self.ridge * coef

    def single_gains(self, coef, offset=0.0):
        """Q(b) - min_a Q(b + a e_j) for every j, each a least squares in one unknown.

        With an intercept, the column that is added is centred.
        """
        n = len(self.y)
        start = self.value(coef, offset)
        residual = self.y - self.X @ coef - offset
        gains = np.zeros(len(coef))
        for j, column in enumerate(self.X.T):
            x = column - column.mean() if self.intercept else column
            tall = np.append(x, np.sqrt(n * self.ridge))[:, None]
            right = np.append(residual, -np.sqrt(n * self.ridge) * coef[j])
            step = np.linalg.lstsq(tall, right, rcond=None)[0][0]
            gains[j] = start - self.value(*self.moved(coef, offset, j, step))
        return gains

    def moved(self, coef, offset, j, step):
        """The coefficients and the intercept after a step along one column, centred or not."""
        moved = coef.copy()
        moved[j] += step
        return moved, offset - step * self.X[:, j].mean() if self.intercept else offset

    def refit_gains(self, support):
        """Decrease of the fitted loss when a column joins, all coefficients refitted."""
        now = self.minimum(support)[2]
        outside = [j for j in range(self.X.shape[1]) if j not in support]
        gains = np.zeros(self.X.shape[1])
        for j in outside:
            gains[j] = now - self.minimum([*support, j])[2]
        return gains

    def refit_costs(self, support):
        """Increase of the fitted loss when a column leaves, all coefficients refitted."""
        now = self.minimum(support)[2]
        return np.array([self.minimum([s for s in support if s != i])[2] - now for i in support])


@dataclass
class Selection:
    """What Algorithm 1 did."""

    coef: np.ndarray
    intercept: float
    support: list[int]  # in the order of entry
    objective: float
    steps: list[tuple[str, int, float]] = field(default_factory=list)  # action, feature, Q after

    @property
    def supports(self):
        """The support before the first step and after each one."""
        now, seen = [], [[]]
        for action, feature, _ in self.steps:
            now = [*now, feature] if action == "add" else [i for i in now if i != feature]
            seen.append(now)
        return seen


def select(
    loss: LeastSquares,
    *,
    rule: str,
    threshold: float = 0.0,
    max_features: int | None = None,
    backward: bool = True,
    backward_ratio: float = 0.5,
    judge: str = "coordinate",
) -> Selection:
    """Algorithm 1 to the letter; Forward-obj and Forward-gdt with ``backward`` false.

    Parameters
    ----------
    rule : {"obj", "gdt"}
        What is compared with ``threshold`` (delta or epsilon) and chooses the feature.
    judge : {"coordinate", "refit"}
        Whether gains (of rule obj) and removal costs are those of one coefficient alone, as
        printed, or those after all others are refitted.
    """
    support, rewards = [], {}
    coef, offset, objective = loss.minimum(support)
    steps = []
    while max_features is None or len(support) < max_features:
        scores = _scores(loss, rule, judge, coef, offset, support)
        if not scores.any() or scores.max() < threshold:
            break
        feature = int(np.flatnonzero(scores >= scores.max() * (1 - TIE))[0])
        before = objective
        support = [*support, feature]
        coef, offset, objective = loss.minimum(support)
        rewards[len(support)] = before - objective
        steps.append(("add", feature, objective))
        while backward and support:
            if judge == "refit":
                costs = loss.refit_costs(support)
            else:
                costs = single_costs(loss, coef, offset, support)
            if costs.min() >= backward_ratio * rewards[len(support)]:
                break
            lowest = costs <= costs.min() + TIE * abs(costs.min())
            gone = min(i for i, low in zip(support, lowest, strict=True) if low)
            support = [i for i in support if i != gone]
            coef, offset, objective = loss.minimum(support)
            steps.append(("remove", gone, objective))
    return Selection(coef, offset, support, objective, steps)


def single_costs(loss, coef, offset, support):
    """Q(b - b_i e_i) - Q(b) for each i of the support."""
    costs = []
    for i in support:
        without = loss.moved(coef, offset, i, -coef[i])
        costs.append(loss.value(*without) - loss.value(coef, offset))
    return np.array(costs)


def _scores(loss, rule, judge, coef, offset, support):
    if rule == "gdt":
        scores = np.abs(loss.gradient(coef, offset))
    elif judge == "refit":
        scores = loss.refit_gains(support)
    else:
        scores = loss.single_gains(coef, offset)
    scores[support] = 0.0
    return scores
