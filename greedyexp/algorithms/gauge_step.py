"""The step of the ultimate method (M24, eq. 20), exact to rounding and with its certificate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greedyexp.algorithms.gauge_coordinates import gauge_coordinates
from greedyexp.kernels import gauge_step as kernel

# A step whose relative duality gap is larger is tried again by an interior point method.
STEP_GAP = 1e-11
# A point whose largest move correlation is below this part of the data's is where it stays.
AT_REST = 1e-14
# Most changes of the constraints held in a step, for each dimension; ten are usual in all.
MOST_CHANGES = 100


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
    together. The v of one step is feasible for the next, which starts from it.

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
        self.lam = lam
        self._space = gauge_coordinates(design, response)
        self._dual = np.zeros(len(self._space.aim))

    def __call__(self, coef: np.ndarray) -> Step:
        """The step from the point P coef.

        Parameters
        ----------
        coef : array (p,)
            Any representation of the point; the result depends on P coef only.
        """
        space, x = self._space, self._space.point(coef)
        c = space.gradient(x)
        still = np.zeros_like(coef)
        found = Step(coef.copy(), self._certificate(x, c, coef, still, coef, self._dual))
        if self._at_rest(c) and found.certificate <= STEP_GAP:
            return found
        estimate, move, dual, _, status = kernel.gauge_step(
            space.atoms,
            x,
            c,
            self.lam,
            space.smoothness,
            self._dual,
            np.flatnonzero(coef),
            MOST_CHANGES * (len(x) + 1),
        )
        if status == kernel.SOLVED:
            found = self._better(x, c, coef, estimate, move, dual, found)
        if found.certificate > STEP_GAP:
            # Imported where it is needed, which is seldom.
            from greedyexp.algorithms.gauge_conic import conic_step

            answer = conic_step(space.atoms, x, c, self.lam, space.smoothness)
            if answer is not None:
                found = self._better(x, c, coef, *answer, found)
        return found

    def _at_rest(self, c):
        offset = self._space.atoms @ c
        largest = np.abs(offset + self._space.atoms @ self._dual).max()
        return largest <= AT_REST * (np.abs(offset).max() + self.lam)

    def _better(self, x, c, coef, estimate, move, dual, other: Step) -> Step:
        """The better certified of a solution and another step; its v begins the next one."""
        excess = np.abs(self._space.atoms @ dual).max() / self.lam
        dual = dual / max(1.0, excess)
        certificate = self._certificate(x, c, coef, move, estimate, dual)
        if certificate > other.certificate:
            return other
        self._dual = dual
        return Step(estimate, certificate)

    def _certificate(self, x, c, coef, move, estimate, dual) -> float:
        """Relative duality gap of a pair; what P b misses of x+ - x is charged at its most."""
        space = self._space
        shift = space.point(estimate) - x
        missed = np.linalg.norm(shift - space.point(move))
        length = np.abs(move).sum() + space.thickness * missed
        primal = c @ shift + space.smoothness * length**2 / 2 + self.lam * np.abs(estimate).sum()
        reach = np.abs(space.atoms @ (c + dual)).max()
        gap = primal - (dual @ x - reach**2 / (2 * space.smoothness))
        objective = space.loss(x) + self.lam * np.abs(coef).sum()
        return max(float(gap), 0.0) / objective if objective > 0.0 else 0.0
