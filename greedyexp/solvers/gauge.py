"""Steps of the ultimate method (M24, eq. 20), exact to rounding and certified.

An active-set method computes a step. Where ties or nearly dependent columns keep it from full
precision, an interior point solver continues. A fit on the atoms that the solver uses then restores
exact zeros.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy

from greedyexp.kernels import gauge_step as kernel
from greedyexp.theory.semidefinite import settings
from greedyexp.theory.spectrum import spectrum

TOLERANCE = 1e-12
# Multipliers smaller than this fraction of the largest of their kind are zero at the accuracy of
# the solver.
_INACTIVE = 1e-7
# A step with a larger relative duality gap is repeated by the interior point method.
_STEP_GAP = 1e-13
# Stay at a point if the largest correlation of its move is below this fraction of the largest
# correlation of the data.
_AT_REST = 1e-14
# Largest number of constraint changes in a step, per dimension; about ten in total are usual.
_MOST_CHANGES = 100


@dataclass(frozen=True)
class GaugeCoordinates:
    """Coordinates of the range of a design, with f(x) = ||x - y||^2 / (2 n) over x = P a.

    f is known up to a constant. The unit of length is the longest column. Designs of low rank need
    no special case, because the atoms span the space. The rank is that of ``theory.spectrum``.

    Parameters
    ----------
    atoms : array (p, r)
        The columns P_i in an orthonormal basis of the range of P; the longest has length 1.
    aim : array (r,)
        y in the same coordinates.
    smoothness : float
        L1 = max_i ||P_i||^2 / n, the smoothness of f with respect to the gauge.
    thickness : array (r,)
        Bound on the gauge along each coordinate, sqrt(p) divided by the singular value. The gauge
        of m is at most the length of ``thickness * m``.
    """

    atoms: np.ndarray
    aim: np.ndarray
    smoothness: float
    thickness: np.ndarray

    def point(self, coef: np.ndarray) -> np.ndarray:
        """Return P coef."""
        return coef @ self.atoms

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """Return f'(x)."""
        return self.smoothness * (x - self.aim)

    def loss(self, x: np.ndarray) -> float:
        """Return f(x) minus its minimum over all x."""
        return float(self.smoothness * (x - self.aim) @ (x - self.aim) / 2)


def gauge_coordinates(design: np.ndarray, response: np.ndarray) -> GaugeCoordinates:
    """Return the coordinates of a nonzero design.

    Parameters
    ----------
    design : array (n, p)
        P.
    response : array (n,)
        y.
    """
    n, p = design.shape
    scale = np.sqrt(np.einsum("ij,ij->j", design, design).max())
    known = spectrum(design)
    basis = known.left[:, : known.rank]
    return GaugeCoordinates(
        np.ascontiguousarray(design.T @ basis) / scale,
        basis.T @ response / scale,
        float(scale**2 / n),
        np.sqrt(p) * scale / known.values[: known.rank],
    )


def conic_step(
    atoms: np.ndarray, x: np.ndarray, c: np.ndarray, lam: float, smoothness: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Solve min t^2 / (2 L) - <v, x> with |<A_i, c + v>| <= t and |<A_i, v>| <= lam.

    The result is None if the solver finds no solution.

    Parameters
    ----------
    atoms : array (p, r)
    x, c : arrays (r,)
    lam, smoothness : float > 0
        ``smoothness`` is L.

    Returns
    -------
    estimate, move : arrays (p,)
        Multipliers of the second constraints and, with opposite sign, of the first.
    v : array (r,)
    """
    import clarabel

    p, r = atoms.shape
    ones, zeros = np.ones((p, 1)), np.zeros((p, 1))
    rows = np.block([[atoms, -ones], [-atoms, -ones], [atoms, zeros], [-atoms, zeros]])
    offset = atoms @ c
    bounds = np.concatenate([-offset, offset, np.full(2 * p, lam)])
    curvature = np.zeros(r + 1)
    curvature[r] = 1.0 / smoothness
    solver = clarabel.DefaultSolver(
        scipy.sparse.csc_matrix(np.diag(curvature)),
        np.append(-x, 0.0),
        scipy.sparse.csc_matrix(rows),
        bounds,
        [clarabel.NonnegativeConeT(4 * p)],
        settings(TOLERANCE, TOLERANCE),
    )
    solution = solver.solve()
    if not np.isfinite(solution.x).all():
        return None
    weight = np.array(solution.z).reshape(4, p)
    move, estimate = weight[1] - weight[0], weight[2] - weight[3]
    return *_refitted(atoms, x, estimate, move), np.array(solution.x)[:r]


def _refitted(atoms, x, estimate, move):
    """Return the nearest pair on the atoms in use that satisfies <A^T, nu> - <A^T, b> = x."""
    estimate, move = _cleared(estimate), _cleared(move)
    held, moved = np.flatnonzero(estimate), np.flatnonzero(move)
    columns = np.concatenate([atoms[held], -atoms[moved]]).T
    if columns.size:
        missed = x - estimate @ atoms + move @ atoms
        change = np.linalg.lstsq(columns, missed, rcond=None)[0]
        estimate[held] += change[: len(held)]
        move[moved] += change[len(held) :]
    return estimate, move


def _cleared(weight):
    return np.where(np.abs(weight) > _INACTIVE * np.abs(weight).max(), weight, 0.0)


@dataclass(frozen=True)
class Step:
    """Result of a step.

    Parameters
    ----------
    estimate : array (p,)
        nu, the sparse representation of the next point.
    certificate : float >= 0
        Duality gap of the step divided by the objective before the step.
    """

    estimate: np.ndarray
    certificate: float


@dataclass(frozen=True)
class _Pair:
    """The best known step from the point x = P coef with gradient c."""

    x: np.ndarray
    c: np.ndarray
    coef: np.ndarray
    estimate: np.ndarray
    move: np.ndarray
    dual: np.ndarray


class GaugeStep:
    """Steps x+ = argmin <f'(x), x+ - x> + (L1 / 2) gauge(x+ - x)^2 + lam gauge(x+).

    Here f(x) = ||x - y||^2 / (2 n), gauge(x) is the smallest ||a||_1 with P a = x, and L1 is the
    largest ||P_i||^2 / n. With a multiplier v for P nu = x + P b, the dual has n + 1 variables:

        maximise <v, x> - ||P^T (f'(x) + v)||_inf^2 / (2 L1)  subject to  ||P^T v||_inf <= lam.

    The multipliers of the dual are the move b and the representation nu of x+. Together they use at
    most n + 1 atoms. The v of one step is feasible for the next step, which starts from it.

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
        """Return the step from the point P coef.

        Parameters
        ----------
        coef : array (p,)
            Any representation of the point; the result depends only on P coef.
        """
        space, x = self._space, self._space.point(coef)
        c = space.gradient(x)
        if not coef.any() and np.abs(space.atoms @ c).max() <= self.lam:
            # v = -c proves that zero is optimal: t, x and all multipliers are zero.
            return Step(coef.copy(), 0.0)
        found = _Pair(x, c, coef, coef, np.zeros_like(coef), self._dual)
        if self._at_rest(c) and self._certificate(found) <= _STEP_GAP:
            return Step(coef.copy(), self._certificate(found))
        found = self._by_active_set(found)
        if self._certificate(found) > _STEP_GAP:
            answer = conic_step(space.atoms, x, c, self.lam, space.smoothness)
            if answer is not None:
                # The v of the solver is near the solution, so few constraints still have to change.
                found = self._by_active_set(self._better(found, *answer))
        self._dual = found.dual
        return Step(found.estimate.copy(), self._certificate(found))

    def _by_active_set(self, found: _Pair) -> _Pair:
        """Return the better of a pair and the active-set result from its multipliers."""
        estimate, move, dual, status = kernel.gauge_step(
            self._space.atoms,
            found.x,
            found.c,
            self.lam,
            self._space.smoothness,
            found.dual,
            np.flatnonzero(found.coef),
            _MOST_CHANGES * (len(found.x) + 1),
        )
        return self._better(found, estimate, move, dual) if status == kernel.SOLVED else found

    def _at_rest(self, c):
        offset = self._space.atoms @ c
        largest = np.abs(offset + self._space.atoms @ self._dual).max()
        return largest <= _AT_REST * (np.abs(offset).max() + self.lam)

    def _better(self, found: _Pair, estimate, move, dual) -> _Pair:
        """Return a pair with the better point and, separately, the better multipliers.

        A point that does not decrease the objective is never accepted.
        """
        if self._change(found, estimate, move) <= self._change(found, found.estimate, found.move):
            found = replace(found, estimate=estimate, move=move)
        excess = np.abs(self._space.atoms @ dual).max() / self.lam
        other = replace(found, dual=dual / max(1.0, excess))
        return other if self._gap(other) <= self._gap(found) else found

    def _shift(self, found: _Pair, estimate, move):
        """Return x+ - x, its difference from P b, and an upper bound of the gauge of x+ - x."""
        shift = self._space.point(estimate - found.coef)
        missed = shift - self._space.point(move)
        length = np.abs(move).sum() + np.linalg.norm(self._space.thickness * missed)
        return shift, missed, length

    def _change(self, found: _Pair, estimate, move) -> float:
        """Return the change of the objective by a step, up to the rounding of the change itself."""
        shift, _, length = self._shift(found, estimate, move)
        price = self.lam * (np.abs(estimate) - np.abs(found.coef)).sum()
        return found.c @ shift + self._space.smoothness * length**2 / 2 + price

    def _gap(self, found: _Pair) -> float:
        """Return the duality gap as a sum of terms that are nonnegative up to rounding."""
        space = self._space
        _, missed, length = self._shift(found, found.estimate, found.move)
        level = space.atoms @ found.dual
        pull = space.atoms @ found.c + level
        reach = np.abs(pull).max()
        slack = (self.lam * np.abs(found.estimate) - found.estimate * level).sum()
        turn = reach * length + found.move @ pull + (found.c + found.dual) @ missed
        excess = space.smoothness * length - reach
        return max(float(slack + turn + excess**2 / (2 * space.smoothness)), 0.0)

    def _certificate(self, found: _Pair) -> float:
        """Return the gap divided by the objective before the step."""
        objective = self._space.loss(found.x) + self.lam * np.abs(found.coef).sum()
        return self._gap(found) / objective if objective > 0.0 else 0.0
