"""The step of the ultimate method (M24, eq. 20), exact to rounding and with its certificate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greedyexp.kernels import gauge_step as kernel

# A step whose relative duality gap is larger is tried again by an interior point method.
CERTIFIED = 1e-11
# A point whose largest move correlation is below this part of the data's is where it stays.
AT_REST = 1e-14


@dataclass(frozen=True)
class Step:
    """What a step leads to.

    Parameters
    ----------
    estimate : array (p,)
        nu, the sparse representation of the next point.
    certificate : float >= 0
        Duality gap of the step over the objective before it.
    """

    estimate: np.ndarray
    certificate: float


class GaugeStep:
    """Steps x+ = argmin <f'(x), x+ - x> + (L1 / 2) gauge(x+ - x)^2 + lam gauge(x+).

    Here f(x) = ||x - y||^2 / (2 n), gauge(x) is the least ||a||_1 with P a = x, and L1 the largest
    ||P_i||^2 / n. With multiplier v of P nu = x + P b the dual is over n numbers and one,

        maximise <v, x> - ||P^T (f'(x) + v)||_inf^2 / (2 L1)  subject to  ||P^T v||_inf <= lam,

    and its multipliers are the move b and the representation nu of x+, of at most n + 1 atoms
    together. Everything happens in coordinates of the range of P, so that a design of low rank is
    no special case, scaled such that the longest column has length 1. The v of one step is feasible
    for the next, which starts from it.

    Parameters
    ----------
    design : array (n, p)
        P, not all zero.
    response : array (n,)
        y.
    lam : float > 0

    References
    ----------
    C. Moucer, A. Taylor, F. Bach, Geometry-dependent matching pursuit: a transition phase for
    convergence on linear regression and LASSO, 2024: eq. 20.
    """

    def __init__(self, design: np.ndarray, response: np.ndarray, lam: float):
        n, p = design.shape
        powers = np.einsum("ij,ij->j", design, design)
        self.lam = lam
        self.smoothness = float(powers.max()) / n
        self._scale = np.sqrt(powers.max())
        left, values, _ = np.linalg.svd(design / self._scale, full_matrices=False)
        rank = int(np.sum(values > values[0] * max(n, p) * np.finfo(float).eps))
        basis = left[:, :rank]
        self._atoms = np.ascontiguousarray(design.T @ basis) / self._scale
        self._aim = basis.T @ response / self._scale
        # Bound on the gauge of a vector of length 1, for what rounding leaves of P b = x+ - x.
        self._thickness = np.sqrt(p) / values[rank - 1]
        self._dual = np.zeros(rank)

    def __call__(self, coef: np.ndarray) -> Step:
        """The step from the point P coef.

        Parameters
        ----------
        coef : array (p,)
            Any representation of the point; the result depends on P coef only.
        """
        x = coef @ self._atoms
        c = self.smoothness * (x - self._aim)
        value = self._value(x, c, coef, np.zeros_like(coef), coef, self._dual)
        stay = Step(coef.copy(), value)
        if self._at_rest(c) and stay.certificate <= CERTIFIED:
            return stay
        support = np.flatnonzero(coef)
        most = 100 * (len(x) + 1)
        estimate, move, dual, _, status = kernel.gauge_step(
            self._atoms, x, c, self.lam, self.smoothness, self._dual, support, most
        )
        found = stay
        if status == kernel.SOLVED:
            found = self._take(x, c, coef, estimate, move, dual, stay)
        if found.certificate > CERTIFIED:
            from greedyexp.algorithms.gauge_conic import conic_step

            answer = conic_step(self._atoms, x, c, self.lam, self.smoothness)
            if answer is not None:
                found = self._take(x, c, coef, *answer, found)
        return found

    def _at_rest(self, c):
        offset = self._atoms @ c
        largest = np.abs(offset + self._atoms @ self._dual).max()
        return largest <= AT_REST * (np.abs(offset).max() + self.lam)

    def _take(self, x, c, coef, estimate, move, dual, other: Step) -> Step:
        """The better certified of a solution and another step; its v begins the next one."""
        excess = np.abs(self._atoms @ dual).max() / self.lam
        dual = dual / max(1.0, excess)
        certificate = self._value(x, c, coef, move, estimate, dual)
        if certificate > other.certificate:
            return other
        self._dual = dual
        return Step(estimate, certificate)

    def _value(self, x, c, coef, move, estimate, dual) -> float:
        """Relative duality gap of a pair; what P b misses of x+ - x is charged at its most."""
        shift = estimate @ self._atoms - x
        missed = np.linalg.norm(shift - move @ self._atoms)
        length = np.abs(move).sum() + self._thickness * missed
        primal = c @ shift + self.smoothness * length**2 / 2 + self.lam * np.abs(estimate).sum()
        reach = np.abs(self._atoms @ (c + dual)).max()
        gap = primal - (dual @ x - reach**2 / (2 * self.smoothness))
        objective = c @ c / (2 * self.smoothness) + self.lam * np.abs(coef).sum()
        return max(float(gap), 0.0) / objective if objective > 0.0 else 0.0
