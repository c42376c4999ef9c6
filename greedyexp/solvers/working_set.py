"""Paths of least squares with a penalty on rows, for more features than a Gram matrix is formed of.

The estimates use few features, so the path is followed on the moments of a small working set. On
it, estimates at several points of the path are computed at a time, and a single product with the
design gives the gradients of all features at all of them. Up to the first gradient that is outside
the dual unit set they are the estimates of all features. The features outside join the working set.

Gradients are linear in lam between changes of the support. So the gradient, extrapolated from the
last two estimates, tells which features join before they are needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from greedyexp.problems.checks import is_sparse, require_memory
from greedyexp.problems.problem import Problem
from greedyexp.solvers.row_penalties import Estimates, Points, RowPenalty, TaskMoments

# A feature is outside the dual unit set if its gradient exceeds lam by more than this part of lam.
PRECISION = 1e-10
# Features join if their extrapolated gradient exceeds this part of lam.
NEAR = 0.95
# At most this number of features joins at a time, or as many as are in the set.
FEW = 100
# Points ahead: at most this number, and only down to this part of the last lam.
MOST_AHEAD, FARTHEST = 32, 0.5


@dataclass(frozen=True)
class TaskDesigns:
    """Designs and responses, beside the statistics that all features have.

    Parameters
    ----------
    designs : tuple of 1 or r arrays or sparse arrays (n_j, p)
        A single design is shared by all tasks.
    responses : tuple of r arrays (n_j,)
    correlation, power, rank : arrays
        See ``TaskMoments``.
    ridge : float >= 0
        ridge / 2 ||b_j||^2 is added to the loss of each task.

    Notes
    -----
    The ridge is what p further rows sqrt(n_j ridge) I with responses zero would add, so the
    formulas of least squares hold with their residuals, which are never formed.
    """

    designs: tuple[np.ndarray, ...]
    responses: tuple[np.ndarray, ...]
    correlation: np.ndarray
    power: np.ndarray
    rank: np.ndarray
    ridge: float = 0.0

    @classmethod
    def of(cls, problem: Problem, rank: np.ndarray, ridge: float = 0.0) -> TaskDesigns:
        """Return the designs of a problem with a bound on the rank of each."""
        moments = problem.correlation, problem.response_power
        return cls(problem.designs, problem.y, *moments, rank, ridge)

    def task(self, j: int) -> TaskDesigns:
        """Return the design and the response of one task."""
        own = slice(j, j + 1)
        designs = self.designs if len(self.designs) == 1 else self.designs[own]
        moments = self.correlation[own], self.power[own], self.rank[own]
        return TaskDesigns(designs, self.responses[own], *moments, self.ridge)

    def residuals(self, rows: np.ndarray, coef: np.ndarray) -> Iterator[np.ndarray]:
        """Yield y_j - X_j b_j for each task, (k, n_j), of coefficients (k, w, r) of some rows."""
        for j, y in enumerate(self.responses):
            X = self.designs[min(j, len(self.designs) - 1)]
            yield y - coef[:, :, j] @ X[:, rows].T

    def gradients(
        self, rows: np.ndarray, coef: np.ndarray, residuals: Iterable[np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradients of all features, and the residual power.

        Parameters
        ----------
        rows : int array (w,)
            The features with coefficients.
        coef : array (k, w, r)
        residuals : iterable of r arrays (k, n_j)
            y_j - X_j b_j.

        Returns
        -------
        gradients : array (k, r, p)
            X_j^T (y_j - X_j b_j) / n_j - ridge b_j.
        power : array (k,)
            R = sum_j ||y_j - X_j b_j||^2 / n_j + ridge ||b_j||^2.
        """
        grad = np.empty((len(coef), *self.correlation.shape))
        power = self.ridge * np.einsum("kwr,kwr->k", coef, coef)
        for j, residual in enumerate(residuals):
            n = residual.shape[1]
            grad[:, j] = residual @ self.designs[min(j, len(self.designs) - 1)] / n
            power += (residual**2).sum(axis=1) / n
        if self.ridge:
            grad[:, :, rows] -= self.ridge * coef.swapaxes(1, 2)
        return grad, power

    def violations(self, lam: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """Return by how much coefficients (k, p, r) violate optimality for the l1 norm, (k,)."""
        rows = np.flatnonzero(coef.any(axis=(0, 2)))
        grad, _ = self.gradients(rows, coef[:, rows], self.residuals(rows, coef[:, rows]))
        grad, lams = grad.swapaxes(1, 2), lam[:, None, None]
        used = np.abs(grad - lams * np.sign(coef))
        away = np.where(coef != 0.0, used, np.maximum(np.abs(grad) - lams, 0.0))
        return away.max(axis=(1, 2))

    def certificate(self, penalty: RowPenalty, lam: float, coef: np.ndarray) -> tuple[float, float]:
        """Return the objective of coefficients (p, r) and their duality gap."""
        rows = np.flatnonzero(coef.any(axis=1))
        values = coef[None, rows]
        grad, power = self.gradients(rows, values, self.residuals(rows, values))
        lams, gauge = np.array([lam]), penalty.gauges(grad) / lam
        of_rows = grad[:, :, rows].swapaxes(1, 2)
        objective, gap = _certificates(penalty, lams, values, of_rows, gauge, power)
        return float(objective[0]), float(gap[0])

    def estimates(self, penalty: RowPenalty, points: Points) -> Estimates:
        """Return the estimates at all points.

        Raises
        ------
        DataError
            If gradients or the moments of the working set do not fit into the free memory.
        """
        return _follow(self, penalty, points)


class WorkingSet:
    """Features with their columns and moments.

    Attributes
    ----------
    data : TaskDesigns
    rows : int array (w,)
        The features, in the order in which they joined.
    """

    def __init__(self, data: TaskDesigns):
        self.data = data
        self.rows = np.zeros(0, dtype=np.int64)
        self._columns = [np.zeros((0, X.shape[0])) for X in data.designs]
        self._gram = np.zeros((len(data.designs), 0, 0))

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, rows: np.ndarray) -> None:
        """Add features that are not in the set.

        Raises
        ------
        DataError
            If there is not enough memory.
        """
        if not len(rows):
            return
        old, size = len(self), len(self) + len(rows)
        designs = self.data.designs
        per_feature = 2 * sum(X.shape[0] for X in designs) + 2 * len(designs) * size
        require_memory(
            8.0 * size * per_feature,
            f"a working set of {size} features",
            "Use larger values of lam, or end the path earlier by max_support.",
        )
        gram = np.empty((len(designs), size, size))
        gram[:, :old, :old] = self._gram
        for j, X in enumerate(designs):
            new = X[:, rows].toarray() if is_sparse(X) else X[:, rows]
            self._columns[j] = np.concatenate([self._columns[j], new.T])
            products = new.T @ self._columns[j].T / X.shape[0]
            gram[j, old:] = products
            gram[j, :old, old:] = products[:, :old].T
            gram[j, np.arange(old, size), np.arange(old, size)] += self.data.ridge
        self._gram = gram
        self.rows = np.concatenate([self.rows, rows])

    @property
    def moments(self) -> TaskMoments:
        """The moments of the features in the set."""
        data = self.data
        rank = np.minimum(data.rank, len(self))
        return TaskMoments(self._gram, data.correlation[:, self.rows], data.power, rank)

    def residuals(self, coef: np.ndarray) -> Iterator[np.ndarray]:
        """Yield y_j - X_j b_j for each task, (k, n_j), of coefficients (k, w, r)."""
        for j, y in enumerate(self.data.responses):
            used = coef[:, :, j].any(axis=0)
            columns = self._columns[min(j, len(self._columns) - 1)]
            yield y - coef[:, used, j] @ columns[used]


@dataclass(frozen=True)
class Attempt:
    """Estimates with the features of a working set, judged with all features.

    Parameters
    ----------
    lam : array (k,)
    coef : array (k, w, r)
    grad : array (k, r, p)
        X_j^T (y_j - X_j b_j) / n_j - ridge b_j.
    gauge : array (k, p)
        Dual norm of each row of the gradient, in units of lam.
    objective, gap : arrays (k,)
    """

    lam: np.ndarray
    coef: np.ndarray
    grad: np.ndarray
    gauge: np.ndarray
    objective: np.ndarray
    gap: np.ndarray

    @classmethod
    def at(
        cls, working: WorkingSet, penalty: RowPenalty, lam: np.ndarray, coef: np.ndarray
    ) -> Attempt:
        """Return estimates with their gradients and certificates."""
        grad, power = working.data.gradients(working.rows, coef, working.residuals(coef))
        gauge = penalty.gauges(grad) / lam[:, None]
        own = grad[:, :, working.rows].swapaxes(1, 2)
        objective, gap = _certificates(penalty, lam, coef, own, gauge, power)
        return cls(lam, coef, grad, gauge, objective, gap)

    def outside(self, working: WorkingSet, rounding: float) -> np.ndarray:
        """Return which features of all are outside the dual unit set, bool (k, p)."""
        slack = PRECISION + rounding / self.lam
        outside = self.gauge > 1.0 + slack[:, None]
        outside[:, working.rows] = False
        return outside


def _certificates(
    penalty: RowPenalty,
    lam: np.ndarray,
    coef: np.ndarray,
    grad: np.ndarray,
    gauge: np.ndarray,
    power: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return objectives and duality gaps, (k,), of estimates with coefficients (k, w, r).

    Let R = sum_j ||y_j - X_j b_j||^2 / n_j + ridge ||b_j||^2. The residuals over n_j, times t, are
    feasible in the dual if t times every gauge is at most 1. With the largest such t <= 1, the gap
    to the objective R / 2 + lam sum_i penalty(b_i) is

        R (1 - t)^2 / 2 + sum_i (lam penalty(b_i) - t <b_i, grad_i>).

    No term is negative, so nothing as large as the objective cancels.

    Parameters
    ----------
    lam : array (k,)
    coef, grad : arrays (k, w, r)
        The gradients of the features with coefficients.
    gauge : array (k, p)
        Dual norms of the gradients of all features, in units of lam.
    power : array (k,)
        R.
    """
    t = 1.0 / np.maximum(gauge.max(axis=1), 1.0)
    price = lam[:, None] * penalty.values(coef)
    slack = np.maximum(price - t[:, None] * (coef * grad).sum(axis=2), 0.0).sum(axis=1)
    return 0.5 * power + price.sum(axis=1), 0.5 * power * (1.0 - t) ** 2 + slack


class Trend:
    """The gradient at the last estimate and its slope along the path.

    Parameters
    ----------
    lam : float
    grad : array (r, p)
    """

    def __init__(self, lam: float, grad: np.ndarray):
        self.lam, self._grad, self._slope = lam, grad, np.zeros((1, 1))

    def move(self, lam: np.ndarray, grad: np.ndarray) -> None:
        """Go on to the last of the gradients (k, r, p) at lam, (k,)."""
        before, origin = (lam[-2], grad[-2]) if len(lam) > 1 else (self.lam, self._grad)
        if lam[-1] < before:
            self._slope = (grad[-1] - origin) / (lam[-1] - before)
        # A copy, because the other gradients are not needed any more.
        self.lam, self._grad = float(lam[-1]), grad[-1].copy()

    def gauges(self, penalty: RowPenalty, lam: float) -> np.ndarray:
        """Return the extrapolated dual norms of the rows, in units of lam, (p,)."""
        return penalty.gauges(self._grad + (lam - self.lam) * self._slope) / lam


def _follow(data: TaskDesigns, penalty: RowPenalty, points: Points) -> Estimates:
    size, (r, p) = len(points), data.correlation.shape
    coef, objective, gap = np.zeros((size, p, r)), np.zeros(size), np.full(size, np.inf)
    rounding = 1e-15 * float(np.abs(data.correlation).max())
    # Gradients take no more memory than a quarter of the designs.
    most = max(1, min(MOST_AHEAD, sum(X.shape[0] for X in data.designs) // (4 * r)))
    # Two copies of the gradients, and their sizes and gauges.
    require_memory(8.0 * 5 * most * r * p, f"the gradients of {most} estimates")
    working = WorkingSet(data)
    # The smallest lam at which the estimate is zero.
    trend = Trend(penalty.largest(data.correlation) or 1.0, data.correlation)
    start, start_lam = np.zeros((0, r)), trend.lam
    missed = np.zeros(p)
    done, ahead = 0, most
    while done < size:
        left = points.lam[done:]
        near = np.count_nonzero(left >= FARTHEST * min(trend.lam, left[0]))
        part = points.part(done, done + min(near, ahead))
        forecast = trend.gauges(penalty, part.lam[-1])
        working.add(_best(np.where(forecast < NEAR, 0.0, forecast) + missed, working.rows))
        start = np.concatenate([start, np.zeros((len(working) - len(start), r))])
        found, _, _, count = penalty.estimates(working.moments, part, start, start_lam)
        tried = Attempt.at(working, penalty, part.lam[:count], found[:count])
        outside = tried.outside(working, rounding)
        good = next((k for k in range(count) if outside[k].any()), count)
        own = slice(done, done + good)
        coef[own, working.rows] = tried.coef[:good]
        objective[own], gap[own] = tried.objective[:good], tried.gap[:good]
        done += good
        if good:
            if np.count_nonzero(tried.coef[good - 1]) > part.max_support[good - 1]:
                break
            trend.move(tried.lam[:good], tried.grad[:good])
        if good < count:
            start, start_lam = tried.coef[good], tried.lam[good]
            # The sooner a feature is needed, the more it counts.
            missed = 2.0 ** np.arange(count - good)[::-1] @ outside[good:]
            ahead = max(good, count - good)
        else:
            start, start_lam, ahead = tried.coef[-1], trend.lam, min(2 * ahead, most)
            missed = np.zeros(p)
    return coef, objective, gap, done


def _best(score: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Return the features with the largest positive scores, without those that are present."""
    score = score.copy()
    score[present] = 0.0
    found = np.flatnonzero(score)
    if not len(found) and not len(present):
        # Kernels need at least one feature.
        return np.zeros(1, dtype=np.int64)
    most = max(FEW, len(present))
    return np.sort(found[np.argsort(-score[found], kind="stable")[:most]])
