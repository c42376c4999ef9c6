"""The log-determinant loss of Gaussian graphical models."""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

# Loaded at once, and not by the first use, so that ``solve`` limits the threads of its BLAS.
import scipy.linalg

from greedyexp.core.errors import DataError
from greedyexp.core.registry import loss
from greedyexp.losses.loss import Loss, Restricted
from greedyexp.problems.checks import Indices
from greedyexp.problems.moments import Covariance
from greedyexp.problems.problem import Problem

# Newton's method may take whole steps below this decrement, and then converges quadratically.
_WHOLE_STEPS = 0.25
# Below this decrement the value is within 5e-17 of the minimum.
_CERTIFIED = 1e-8
# Newton's method goes on to this decrement as long as rounding permits.
_AIM = 1e-12
# The factor of second derivatives serves until steps of this total length, or until a step lowers
# the decrement to more than this fraction.
_FAR = 0.1
_SLOW = 0.1
_MOST_STEPS = 200


class _Point(NamedTuple):
    """A positive definite matrix T.

    Parameters
    ----------
    params : array (d + v,)
        Its entries for pairs and then on the diagonal.
    inverse : array (v, v)
        Inverse in units of correlations.
    log_det : float
        log det T in these units.
    """

    params: np.ndarray
    inverse: np.ndarray
    log_det: float


class LogDetLoss(Loss):
    """Q(T) = -log det T + <S, T> of a positive definite matrix T, and infinite elsewhere.

    For a sample with the covariance S, Q is twice the negative log-likelihood per row of a Gaussian
    with the precision matrix T, up to a constant. The selectable coefficients are the entries T_ij
    of the d = v (v - 1) / 2 pairs i < j: an edge of the graph is a pair with T_ij != 0. The
    diagonal entries (v) are the dense coefficients.

    Parameters
    ----------
    covariance : Covariance
        With a positive diagonal.

    Notes
    -----
    *One coefficient.* With W = T^-1, c = W_ij, s = S_ij and k = W_ii W_jj - c^2, a step a of T_ij
    multiplies det T by 1 + 2 a c - a^2 k, and T stays positive definite as long as this is
    positive. The minimum is at a root of a quadratic equation,

        a = 2 (c - s) / (k + 2 s c + (k^2 + 4 s^2 W_ii W_jj)^(1/2)),

    and the gain is log(1 + 2 a c - a^2 k) - 2 a s. The denominator is positive. It cancels only
    where k does, which is where T is close to singular. Gains do not depend on the units of the
    variables.

    *Minimisers.* -log det is self-concordant. If lambda = (g^T H^-1 g)^(1/2), the decrement of
    Newton's method over the free coefficients, is below 1, there is a minimiser, and Q is at most
    -lambda - log(1 - lambda) above the minimum. Steps of length 1 / (1 + lambda) remain in the
    domain and lower Q (Nesterov & Nemirovskii 1994). A minimiser may not exist if the number of
    rows is at most the size of a clique, and then lambda stays at least 1.

    *Sizes of derivatives.* The diagonal of T^-1 is that of S at every minimiser over a support.
    Therefore |dQ / dT_ij| = 2 |S_ij - W_ij| is at most 4 (S_ii S_jj)^(1/2) there. Q itself has no
    lower bound and no largest curvature.

    References
    ----------
    C. Johnson, A. Jalali, P. Ravikumar, High-dimensional sparse inverse covariance estimation using
    greedy methods, 2012.
    """

    least = -math.inf

    def __init__(self, covariance: Covariance):
        v = len(covariance.matrix)
        self._pairs = covariance.pairs
        self.n_samples = covariance.n_samples
        self.n_dense = v
        self.shape = (len(self._pairs[0]), 1)
        diagonal = np.arange(v)
        self._rows = np.append(self._pairs[0], diagonal)
        self._columns = np.append(self._pairs[1], diagonal)
        # Entries beside the diagonal occur twice in T.
        self._times = np.append(np.full(self.size, 2.0), np.ones(v))
        sizes = np.sqrt(covariance.matrix.diagonal())
        self._units = sizes[self._rows] * sizes[self._columns]
        self._log_units = 2.0 * float(np.log(sizes).sum())
        self._correlation = covariance.matrix / np.outer(sizes, sizes)
        np.fill_diagonal(self._correlation, 1.0)
        self._own = self._correlation[self._rows, self._columns]
        self._last: _Point | None = None

    @cached_property
    def scale(self) -> float:
        largest = 2.0 * self._units[: self.size]
        return float((largest * np.abs(self._own[: self.size])).max()) or float(largest.max())

    @property
    def largest_feature(self) -> float:
        """The largest standard deviation of a variable."""
        return float(np.sqrt(self._units[self.size :].max()))

    @property
    def smoothness(self) -> np.ndarray:
        """Infinite: second derivatives have no bound near singular matrices; shape (d + v,)."""
        return np.full(self.size + self.n_dense, math.inf)

    def name_of(self, feature: int) -> str:
        return f"the edge between variables {self._rows[feature]} and {self._columns[feature]}"

    @property
    def inverse_units(self) -> np.ndarray:
        """(S_ii S_jj)^(1/2), so that a difference is a fraction of the domain; shape (d + v,)."""
        return self._units

    def steepest(self, value: float) -> np.ndarray:
        """Return a bound of each |derivative| at the minimiser over any support, shape (d,)."""
        return 4.0 * self._units[: self.size]

    def value(self, params: np.ndarray) -> float:
        """Return Q, infinite if T is not positive definite."""
        point = self._point(params)
        return math.inf if point is None else self._value(point)

    def gradient(self, params: np.ndarray) -> np.ndarray:
        return self.value_and_gradient(params)[1]

    def value_and_gradient(self, params: np.ndarray) -> tuple[float, np.ndarray]:
        """Return Q and its gradient, nan where Q is infinite."""
        point = self._point(params)
        if point is None:
            return math.inf, np.full(len(params), math.nan)
        return self._value(point), self._slopes(point) * self._units

    def coordinate_minima(self, params: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return steps and gains in closed form, both (d,).

        Raises
        ------
        DataError
            If T is not positive definite.
        """
        c, s, powers = self._entries(self._inside(params), np.arange(self.size))
        k = powers - c * c
        steps = 2.0 * (c - s) / (k + 2.0 * s * c + np.sqrt(k * k + 4.0 * s * s * powers))
        gains = np.log1p(2.0 * steps * c - steps * steps * k) - 2.0 * steps * s
        return steps / self._units[: self.size], np.maximum(gains, 0.0)

    def removal_costs(self, params: np.ndarray, support: Indices) -> np.ndarray:
        """Return the costs in closed form, infinite where T would not be positive definite."""
        support = np.asarray(support, dtype=np.int64)
        c, s, powers = self._entries(self._inside(params), support)
        steps = -params[support] * self._units[support]
        factor = 2.0 * steps * c - steps * steps * (powers - c * c)
        logarithms = np.full(len(support), -math.inf)
        np.log1p(factor, out=logarithms, where=factor > -1.0)
        return 2.0 * steps * s - logarithms

    def minimise(self, support: Indices, start: np.ndarray | None = None) -> Restricted:
        """Return the minimiser over the entries ``support`` and the diagonal, by Newton's method.

        ``converged`` certifies that a minimiser exists and that Q is within 5e-17 of the minimum.
        Every matrix on the way is positive definite.
        """
        free = np.append(np.asarray(support, dtype=np.int64), self.size + np.arange(self.n_dense))
        point = None
        if start is not None:
            params = np.zeros(len(self._units))
            params[free] = start[free]
            point = self._point(params)
        if point is None:
            point = self._inside(np.append(np.zeros(self.size), 1.0 / self._units[self.size :]))
        decrement, factor, moved = math.inf, None, 0.0
        for _ in range(_MOST_STEPS):
            if factor is None:
                factor, moved = self._factor(point, free), 0.0
            half = _solved(factor, -self._slopes(point)[free])
            size, before = float(np.linalg.norm(half)), decrement
            # In the metric of the point of the factor, second derivatives here are at least
            # (1 - moved)^2 times those there.
            decrement = size / (1.0 - moved)
            ends = decrement <= _AIM or (decrement <= _CERTIFIED and decrement > 0.5 * before)
            if ends or not np.isfinite(decrement):
                break
            if moved and decrement > _SLOW * before:
                factor = None
                continue
            length = 1.0 if decrement < _WHOLE_STEPS else 1.0 / (1.0 + decrement)
            params = point.params.copy()
            step = _solved(factor, half, transposed=True)
            params[free] += length * step / self._units[free]
            following = self._point(params)
            if following is None:
                break
            point, moved = following, moved + length * size
            if moved > _FAR:
                factor = None
        self._last = point
        converged = decrement <= _CERTIFIED
        return Restricted(
            point.params,
            self._value(point),
            self._slopes(point) * self._units,
            converged,
            "" if converged else _no_minimum(decrement),
        )

    def _point(self, params: np.ndarray) -> _Point | None:
        """Return the point of parameters (d + v,), None if T is not positive definite."""
        if self._last is not None and np.array_equal(self._last.params, params):
            return self._last
        matrix = np.zeros((self.n_dense, self.n_dense))
        matrix[self._columns, self._rows] = params * self._units
        factor, failed = scipy.linalg.lapack.dpotrf(matrix, lower=True, overwrite_a=True)
        if failed or not np.isfinite(params).all():
            return None
        inverse, failed = scipy.linalg.lapack.dpotri(factor, lower=True)
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        self._last = _Point(params, inverse, 2.0 * float(np.log(factor.diagonal()).sum()))
        return self._last

    def _inside(self, params: np.ndarray) -> _Point:
        point = self._point(params)
        if point is None:
            raise DataError("the matrix of coefficients is not positive definite.")
        return point

    def _value(self, point: _Point) -> float:
        traces = self._times * self._own * self._units
        return self._log_units - point.log_det + float(traces @ point.params)

    def _slopes(self, point: _Point) -> np.ndarray:
        """Return the gradient in units of correlations, shape (d + v,)."""
        return self._times * (self._own - point.inverse[self._rows, self._columns])

    def _entries(
        self, point: _Point, pairs: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return W_ij, S_ij and W_ii W_jj of pairs in units of correlations."""
        rows, columns = self._rows[pairs], self._columns[pairs]
        own = point.inverse.diagonal()
        return point.inverse[rows, columns], self._own[pairs], own[rows] * own[columns]

    def _factor(self, point: _Point, free: np.ndarray) -> np.ndarray:
        """Return the Cholesky factor (m, m) of the second derivatives over entries (m,).

        It is zero if they are singular up to rounding.
        """
        rows, columns = self._rows[free], self._columns[free]
        across = point.inverse[np.ix_(rows, columns)]
        hessian = point.inverse[np.ix_(rows, rows)] * point.inverse[np.ix_(columns, columns)]
        hessian += across * across.T
        hessian *= 0.5 * np.outer(self._times[free], self._times[free])
        factor, failed = scipy.linalg.lapack.dpotrf(hessian, lower=True, overwrite_a=True)
        return np.zeros_like(factor) if failed else factor


def _solved(factor: np.ndarray, right: np.ndarray, *, transposed: bool = False) -> np.ndarray:
    """Return L^-1 v, or L^-T v; infinite for a factor of zeros."""
    if not factor[0, 0]:
        return np.full(len(right), math.inf)
    return scipy.linalg.blas.dtrsv(factor, right, lower=True, trans=int(transposed))


def _no_minimum(decrement: float) -> str:
    if decrement < 1.0:
        return "rounding errors leave the minimum over these edges uncertain."
    return (
        "no minimum over these edges is found: the rows are too few for them, or variables are"
        " linearly dependent."
    )


@loss(
    "logdet",
    title="Log-determinant",
    paper="Johnson, Jalali & Ravikumar 2012",
    requires=("covariance",),
    intercept=False,
    ridge=False,
)
def logdet(problem: Problem, *, ridge: float, intercept: bool) -> LogDetLoss:
    """-log det T + <S, T> for the covariance S and the precision matrix T of variables."""
    if problem.covariance is None:
        raise DataError(
            "the logdet loss needs rows of variables without a response.",
            remedy="Use another loss.",
        )
    return LogDetLoss(problem.covariance)
