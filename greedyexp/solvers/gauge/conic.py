"""The step of the ultimate method as a quadratic programme for an interior point solver.

What the active-set method cannot solve to rounding, by ties or near dependent columns, is solved
here and brought back to exact zeros by a fit on the atoms the solver found.
"""

from __future__ import annotations

import clarabel
import numpy as np
from scipy import sparse

from greedyexp.theory.semidefinite import settings

TOLERANCE = 1e-12
# Multipliers below this part of the largest of their kind are zero at the solver's accuracy.
INACTIVE = 1e-7


def conic_step(
    atoms: np.ndarray, x: np.ndarray, c: np.ndarray, lam: float, smoothness: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Solve min t^2 / (2 L) - <v, x> with |<A_i, c + v>| <= t and |<A_i, v>| <= lam.

    Parameters
    ----------
    atoms : array (p, r)
    x, c : arrays (r,)
    lam, smoothness : float > 0
        The second is L.

    Returns
    -------
    estimate, move : arrays (p,)
        The multipliers of the second and, with opposite sign, of the first constraints.
    v : array (r,)
        None when the solver finds no solution.
    """
    p, r = atoms.shape
    ones, zeros = np.ones((p, 1)), np.zeros((p, 1))
    rows = np.block([[atoms, -ones], [-atoms, -ones], [atoms, zeros], [-atoms, zeros]])
    offset = atoms @ c
    bounds = np.concatenate([-offset, offset, np.full(2 * p, lam)])
    curvature = np.zeros(r + 1)
    curvature[r] = 1.0 / smoothness
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(np.diag(curvature)),
        np.append(-x, 0.0),
        sparse.csc_matrix(rows),
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
    """Both on the atoms that count, the nearest that satisfy <A^T, nu> - <A^T, b> = x."""
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
    return np.where(np.abs(weight) > INACTIVE * np.abs(weight).max(), weight, 0.0)
