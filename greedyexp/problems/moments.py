"""Second moments of a distribution, sufficient for least squares, and of sampled variables."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from greedyexp.core.errors import DataError
from greedyexp.problems.checks import Indices

# A feature with a smaller squared sine is in the span of others.
SPAN = 1e-10
# Rounding error of a sum with cancelling terms, relative to the terms.
ROUNDING = 32 * np.finfo(float).eps
# Relative tolerance for rounding errors in the given moments.
SLACK = 1e-9


class Moments(ABC):
    """E[x x^T], E[y x] and E[y^2] of a distribution of d features and a response.

    Features are in [-1, 1]. The matrix E[x x^T] is not formed if its structure allows products
    without it.

    Attributes
    ----------
    cross : array (d,)
        E[y x].
    power : float
        E[y^2].
    diagonal : array (d,)
        E[x_j^2].
    """

    cross: np.ndarray
    power: float
    diagonal: np.ndarray

    @property
    def size(self) -> int:
        """Number of features, d."""
        return len(self.cross)

    @abstractmethod
    def times(self, vector: np.ndarray) -> np.ndarray:
        """Return E[x x^T] v, shape (d,)."""

    @abstractmethod
    def column(self, index: int) -> np.ndarray:
        """Return E[x x_j] as a new array (d,)."""

    @abstractmethod
    def solve(self, support: Indices, right: np.ndarray, ridge: float = 0.0) -> np.ndarray:
        """Return the least-norm solution of (E[x_S x_S^T] + ridge I) v = right, shape (k,)."""

    @abstractmethod
    def smallest_eigenvalue(self, support: Indices) -> float:
        """Return the smallest eigenvalue of E[x_S x_S^T]; infinite for an empty support."""

    def quadratic(self, vector: np.ndarray, image: np.ndarray | None = None) -> float:
        """Return v^T E[x x^T] v >= 0; pass ``image`` = E[x x^T] v if it is known."""
        return max(0.0, float(vector @ (self.times(vector) if image is None else image)))

    @cached_property
    def predictor(self) -> np.ndarray:
        """Best linear predictor of y, the one of least norm if not unique; shape (d,).

        Raises
        ------
        DataError
            If no response has this E[y x].
        """
        best = self.solve(np.arange(self.size), self.cross)
        left = np.abs(self.times(best) - self.cross).max(initial=0.0)
        if left > SLACK * np.abs(self.cross).max(initial=0.0):
            raise _no_distribution("E[y x] is not in the range of E[x x^T]")
        return best

    @cached_property
    def least(self) -> float:
        """E[(<w, x> - y)^2] of the best linear predictor w, zero if it is within rounding error.

        Raises
        ------
        DataError
            If the value is negative.
        """
        best = self.predictor
        image = self.times(best)
        terms = (self.power, *(-2.0 * best * self.cross), *(best * image))
        total, size = math.fsum(terms), math.fsum(map(abs, terms))
        if total < -SLACK * size:
            raise _no_distribution("E[y^2] is smaller than the part that the features explain")
        return total if total > ROUNDING * size else 0.0


class SpreadMoments(Moments):
    """E[x x^T] = diag(alpha) + u u^T: features that share one hidden variable, or none.

    Every operation costs O(d), and no matrix is formed. Independent signs have alpha = 1 and u = 0,
    signs of correlation c have alpha = 1 - c and u = sqrt(c), and copies of one feature have alpha
    = 0.

    Parameters
    ----------
    alpha : array (d,), entries >= 0
    u : array (d,)
    cross : array (d,)
        E[y x].
    power : float > 0
        E[y^2].

    Raises
    ------
    DataError
        If shapes disagree, a number is not finite, alpha is negative, or E[x_j^2] exceeds one.
    """

    def __init__(self, alpha: np.ndarray, u: np.ndarray, cross: np.ndarray, power: float):
        self.alpha = np.asarray(alpha, dtype=np.float64)
        self.u = np.asarray(u, dtype=np.float64)
        self.cross = np.asarray(cross, dtype=np.float64)
        self.power = float(power)
        if not self.alpha.shape == self.u.shape == self.cross.shape == (self.size,):
            raise DataError("alpha, u and cross must be vectors of one length.")
        if not (self.alpha >= 0.0).all():
            raise DataError("alpha must not be negative.")
        self.diagonal = self.alpha + self.u * self.u
        _check_sizes(self)

    def times(self, vector: np.ndarray) -> np.ndarray:
        """Return E[x x^T] v, shape (d,)."""
        return self.alpha * vector + self.u * _inner(self.u, vector)

    def column(self, index: int) -> np.ndarray:
        """Return E[x x_j] as a new array (d,)."""
        column = self.u * self.u[index]
        column[index] = self.diagonal[index]
        return column

    def quadratic(self, vector: np.ndarray, image: np.ndarray | None = None) -> float:
        """Return v^T E[x x^T] v as a sum of squares."""
        return _inner(self.alpha, vector * vector) + _inner(self.u, vector) ** 2

    def solve(self, support: Indices, right: np.ndarray, ridge: float = 0.0) -> np.ndarray:
        """Return the least-norm solution of (E[x_S x_S^T] + ridge I) v = right, in O(k).

        Let a = alpha + ridge, t = u^T v and G = sum of u_i^2 / a_i. The equations are a_i v_i + u_i
        t = right_i. Their sum, weighted by u_i / a_i, gives t = c G / (1 + G) (Sherman-Morrison),
        where c u is the component of right along u. Hence a_i v_i = (right_i - c u_i) + c u_i / (1
        + G), which is accurate if right is a multiple of u. If a_i is small compared to u_i^2, the
        first difference loses digits. The entry of the largest u_i^2 / a_i, or all entries with a_i
        = 0, are then computed from t = u^T v.
        """
        support = np.asarray(support, dtype=np.int64)
        right = np.asarray(right, dtype=np.float64)
        own, u = self.alpha[support] + ridge, self.u[support]
        free = own == 0.0
        shared = free & (u != 0.0)
        if shared.any():
            part, left = _inner(u[shared], right[shared]) / _inner(u[shared], u[shared]), 0.0
            t = part
        else:
            weight = np.divide(u, own, out=np.zeros(len(u)), where=~free)
            power = _inner(weight, u)
            part = _inner(weight, right) / power if power > 0.0 else 0.0
            left = 1.0 / (1.0 + power)
            t = part * power * left
            if len(u):
                steep = int(np.argmax(weight * u))
                shared[steep] = own[steep] < u[steep] ** 2
        solution = np.zeros(len(support))
        apart = (right - part * u) + part * left * u
        np.divide(apart, own, out=solution, where=~(free | shared))
        if shared.any():
            rest = t - _inner(u, solution)
            solution[shared] = u[shared] * (rest / _inner(u[shared], u[shared]))
        return solution

    def outside(self, support: Indices, ridge: float = 0.0) -> np.ndarray:
        """Return the squared distance of every feature from the span of a support, shape (d,).

        It is alpha_j + ridge + u_j^2 (1 - u_S^T (E[x_S x_S^T] + ridge I)^-1 u_S). The bracket
        equals 1 / (1 + sum of u_i^2 / (alpha_i + ridge) over the support). The result is valid for
        j outside the support.
        """
        support = np.asarray(support, dtype=np.int64)
        own, u = self.alpha[support] + ridge, self.u[support]
        if ((own == 0.0) & (u != 0.0)).any():
            left = 0.0
        else:
            left = 1.0 / (1.0 + np.divide(u * u, own, out=np.zeros(len(u)), where=own > 0.0).sum())
        return self.alpha + ridge + self.u * self.u * left

    def smallest_eigenvalue(self, support: Indices) -> float:
        """Return the smallest eigenvalue of E[x_S x_S^T]; infinite for an empty support.

        It lies between the two smallest alpha_i. It is mu + min alpha, where mu is the root of the
        secular equation mu (1 + sum of u_i^2 / (alpha_i - min alpha - mu)) = u_min^2.
        """
        chosen = np.asarray(support, dtype=np.int64)
        alpha, u = self.alpha[chosen], self.u[chosen]
        if len(alpha) < 2:
            return float(alpha[0] + u[0] ** 2) if len(alpha) else math.inf
        first = int(np.argmin(alpha))
        base, power = float(alpha[first]), float(u[first] ** 2)
        apart = np.delete(alpha, first) - base
        powers = np.delete(u, first) ** 2
        largest = float(apart.min())
        if power == 0.0 or largest == 0.0:
            return base
        apart, powers = apart[powers > 0.0], powers[powers > 0.0]

        def excess(mu: float) -> float:
            return mu - power + mu * float((powers / (apart - mu)).sum())

        below = min(largest * (1.0 - 1e-15), power)
        if excess(below) <= 0.0:
            return base + min(largest, power)
        return base + scipy.optimize.brentq(excess, 0.0, below, xtol=1e-300, rtol=1e-15)


class DenseMoments(Moments):
    """Moments with an arbitrary matrix.

    Parameters
    ----------
    matrix : array (d, d)
        E[x x^T], symmetric and positive semidefinite.
    cross : array (d,)
        E[y x].
    power : float > 0
        E[y^2].

    Raises
    ------
    DataError
        If shapes disagree, a number is not finite, the matrix is not symmetric or not positive
        semidefinite, or E[x_j^2] exceeds one.
    """

    def __init__(self, matrix: np.ndarray, cross: np.ndarray, power: float):
        self.matrix = np.ascontiguousarray(matrix, dtype=np.float64)
        self.cross = np.asarray(cross, dtype=np.float64)
        self.power = float(power)
        if self.cross.ndim != 1 or self.matrix.shape != (self.size, self.size):
            raise DataError("the matrix must be square, with a row for each entry of cross.")
        self.diagonal = np.diag(self.matrix).copy()
        _check_sizes(self)
        if not np.abs(self.matrix - self.matrix.T).max(initial=0.0) <= SLACK:
            raise DataError("the matrix of moments must be symmetric.")
        try:
            np.linalg.cholesky(self.matrix + SLACK * np.eye(self.size))
        except np.linalg.LinAlgError:
            raise _no_distribution("the matrix is not positive semidefinite") from None

    def times(self, vector: np.ndarray) -> np.ndarray:
        """Return E[x x^T] v, shape (d,)."""
        return self.matrix @ vector

    def column(self, index: int) -> np.ndarray:
        """Return E[x x_j] as a new array (d,)."""
        return self.matrix[index].copy()

    def solve(self, support: Indices, right: np.ndarray, ridge: float = 0.0) -> np.ndarray:
        """Return the least-norm solution of (E[x_S x_S^T] + ridge I) v = right, shape (k,).

        A Cholesky factor is used, or singular values if features are in the span of others.
        """
        support = np.asarray(support, dtype=np.int64)
        block = self.matrix[np.ix_(support, support)] + ridge * np.eye(len(support))
        try:
            factor = np.linalg.cholesky(block)
            independent = bool((np.diag(factor) ** 2 > SPAN * np.diag(block)).all())
        except np.linalg.LinAlgError:
            independent = False
        if not independent:
            return np.linalg.lstsq(block, right, rcond=None)[0]
        return scipy.linalg.solve_triangular(
            factor.T, scipy.linalg.solve_triangular(factor, right, lower=True)
        )

    def smallest_eigenvalue(self, support: Indices) -> float:
        """Return the smallest eigenvalue of E[x_S x_S^T]; infinite for an empty support."""
        support = np.asarray(support, dtype=np.int64)
        block = self.matrix[np.ix_(support, support)]
        if not len(block):
            return math.inf
        return max(0.0, float(scipy.linalg.eigvalsh(block, subset_by_index=(0, 0))[0]))


def _inner(one: np.ndarray, other: np.ndarray) -> float:
    """Return an inner product by pairwise summation, whose rounding error does not grow."""
    return float((one * other).sum())


def _check_sizes(moments: Moments) -> None:
    """Raise DataError if a number is not finite, a feature exceeds [-1, 1], or E[y^2] is zero."""
    finite = np.isfinite(moments.diagonal).all() and np.isfinite(moments.cross).all()
    if not (finite and math.isfinite(moments.power) and moments.power > 0.0):
        raise DataError("moments must be finite numbers, and E[y^2] positive.")
    if not moments.size:
        raise DataError("moments need at least one feature.")
    if not (moments.diagonal.min() >= 0.0 and moments.diagonal.max() <= 1.0 + SLACK):
        raise DataError("E[x_j^2] must be between 0 and 1.", remedy="Scale features to [-1, 1].")


def _no_distribution(why: str) -> DataError:
    return DataError(f"the moments are not those of any distribution: {why}.")


@dataclass(frozen=True)
class Covariance:
    """The covariance of a sample of v variables.

    Parameters
    ----------
    matrix : array (v, v)
        Covariance with denominator n, so that it is that of the sample itself.
    n_samples : int
        n, the number of rows.
    """

    matrix: np.ndarray
    n_samples: int

    @property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """The two variables of each of the d = v (v - 1) / 2 pairs, first (0, 1), then (0, 2)."""
        return np.triu_indices(len(self.matrix), 1)
