"""Penalties on rows of the coefficients: their values, their duals and their paths on moments.

The estimates minimise sum_j ||y_j - X_j b_j||^2 / (2 n_j) + lam sum_i penalty(b_i) over the rows
b_i of the coefficients.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from greedyexp.kernels.l2_path import l2_path
from greedyexp.kernels.row_path import row_path

# Estimates (m, p, r), their objectives, their duality gaps and the number that was computed.
Estimates = tuple[np.ndarray, np.ndarray, np.ndarray, int]


@dataclass(frozen=True)
class TaskMoments:
    """The statistics of the data that determine the estimates.

    Parameters
    ----------
    gram : array (1 or r, p, p)
        X_j^T X_j / n_j, a single matrix if the design is shared.
    correlation : array (r, p)
        X_j^T y_j / n_j.
    power : array (r,)
        ||y_j||^2 / n_j.
    rank : array (r,)
        Bound on the rank of each design.
    """

    gram: np.ndarray
    correlation: np.ndarray
    power: np.ndarray
    rank: np.ndarray

    def task(self, j: int) -> TaskMoments:
        """Return the moments of one task."""
        own = slice(j, j + 1)
        gram = self.gram if len(self.gram) == 1 else self.gram[own]
        return TaskMoments(gram, self.correlation[own], self.power[own], self.rank[own])

    def estimates(self, penalty: RowPenalty, points: Points) -> Estimates:
        """Return the estimates at all points."""
        return penalty.estimates(self, points)


@dataclass(frozen=True)
class Points:
    """Values of lam in decreasing order, and the accuracy of the estimates.

    Parameters
    ----------
    lam : array (m,)
    max_support : int array (m,)
        The path ends after the first estimate with more nonzero entries than this.
    accuracy : float
        Duality gap to reach.
    max_sweeps : int
        Largest number of rounds for one value of lam.
    """

    lam: np.ndarray
    max_support: np.ndarray
    accuracy: float
    max_sweeps: int

    def __len__(self) -> int:
        return len(self.lam)

    def part(self, start: int, stop: int) -> Points:
        """Return the points of a range of indices."""
        own = slice(start, stop)
        return replace(self, lam=self.lam[own], max_support=self.max_support[own])


class RowPenalty(ABC):
    """A norm of a row of r coefficients, summed over rows."""

    @abstractmethod
    def values(self, coef: np.ndarray) -> np.ndarray:
        """Return the penalty of each row of coefficients (..., p, r), shape (..., p)."""

    @abstractmethod
    def gauges(self, grad: np.ndarray) -> np.ndarray:
        """Return the dual norm of each row of gradients (..., r, p), shape (..., p)."""

    @abstractmethod
    def estimates(
        self,
        data: TaskMoments,
        points: Points,
        start: np.ndarray | None = None,
        start_lam: float = 1.0,
    ) -> Estimates:
        """Return the estimates at the points.

        Parameters
        ----------
        data : TaskMoments
        points : Points
        start : array (p, r), optional
            Estimate at ``start_lam`` to begin with; zero by default.
        start_lam : float > 0
        """

    def largest(self, correlation: np.ndarray) -> float:
        """Return the smallest lam at which the estimate is zero, for X_j^T y_j / n_j, (r, p)."""
        return float(self.gauges(correlation).max())


@dataclass(frozen=True)
class DirtyPenalty(RowPenalty):
    """The penalty of the dirty model, 1 per entry and at most ``ratio`` for a whole row.

    It is max <u, b_i> over |u_j| <= 1, sum_j |u_j| <= ratio.

    Parameters
    ----------
    ratio : float in [1, r]
        lam_b / lam_s; r gives the l1 norm, 1 the linf norm.
    """

    ratio: float

    def values(self, coef: np.ndarray) -> np.ndarray:
        """Return the penalty of each row: the largest entries are paid until ratio is spent."""
        sizes = -np.sort(-np.abs(coef), axis=-1)
        return sizes @ np.clip(self.ratio - np.arange(coef.shape[-1]), 0.0, 1.0)

    def gauges(self, grad: np.ndarray) -> np.ndarray:
        """Return the dual norm of each row, the larger of max |g_j| and sum |g_j| / ratio."""
        size = np.abs(grad)
        if size.shape[-2] == 1:
            return size[..., 0, :]
        return np.maximum(size.max(axis=-2), size.sum(axis=-2) / self.ratio)

    def estimates(self, data, points, start=None, start_lam=1.0) -> Estimates:
        """Return the estimates at the points; see ``RowPenalty``."""
        return row_path(
            data.gram,
            data.correlation,
            float(data.power.sum()),
            points.lam,
            self.ratio * points.lam,
            int(data.rank.sum()),
            points.accuracy,
            points.max_sweeps,
            points.max_support,
            start,
        )


@dataclass(frozen=True)
class EuclideanPenalty(RowPenalty):
    """The l2 norm of a row."""

    def values(self, coef: np.ndarray) -> np.ndarray:
        """Return the l2 norm of each row."""
        return np.linalg.norm(coef, axis=-1)

    def gauges(self, grad: np.ndarray) -> np.ndarray:
        """Return the l2 norm of each row of gradients."""
        return np.linalg.norm(grad, axis=-2)

    def estimates(self, data, points, start=None, start_lam=1.0) -> Estimates:
        """Return the estimates at the points; see ``RowPenalty``."""
        return l2_path(
            data.gram,
            data.correlation,
            float(data.power.sum()),
            points.lam,
            points.accuracy,
            points.max_sweeps,
            points.max_support,
            None if start is None else np.linalg.norm(start, axis=1) / start_lam,
        )
