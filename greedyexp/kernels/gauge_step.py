"""One step of the ultimate method: an active-set method on its dual, n + 1 numbers.

With atoms A (p, r), rows of length at most 1, x the point and c the gradient, both in the same r
coordinates, the dual of the step is over v in R^r and t >= 0

    minimise t^2 / (2 L) - <v, x>  subject to  |<A_i, c + v>| <= t  and  |<A_i, v>| <= lam,

the first the move constraints, the second the price constraints. Their multipliers are the step b
and the next estimate. The v of the previous step satisfies all constraints with a t that is large
enough, and few of the constraints held change from step to step. From there the method goes
downhill along the constraints that it holds, adds the first one that blocks the way and releases
the one with the most negative multiplier. The number of constraints held at the end is arbitrary,
so early steps, whose estimates have few atoms, need no special treatment.
"""

from __future__ import annotations

import numpy as np

from greedyexp.kernels import native

# Status of a step. UNBOUNDED and DEPENDENT are caused by rounding errors.
SOLVED: int = native.gauge_step.SOLVED
UNBOUNDED: int = native.gauge_step.UNBOUNDED
DEPENDENT: int = native.gauge_step.DEPENDENT
TOO_LONG: int = native.gauge_step.TOO_LONG


def gauge_step(
    atoms: np.ndarray,
    x: np.ndarray,
    c: np.ndarray,
    lam: float,
    smoothness: float,
    v: np.ndarray,
    support: np.ndarray,
    most: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Solve the dual and return the next estimate, which its multipliers determine.

    Parameters
    ----------
    atoms : array (p, r)
        Rows of length at most 1 that span R^r.
    x, c : arrays (r,)
        Point and gradient.
    lam : float > 0
    smoothness : float > 0
        L.
    v : array (r,)
        With |<A_i, v>| <= lam for all i.
    support : int array
        Atoms of the current estimate. Price constraints that are equalities at v are held from the
        start if they are linearly independent.
    most : int
        Largest number of changes of the constraints held.

    Returns
    -------
    estimate : array (p,)
        nu with <A^T, nu> = x + <A^T, b>; zero where the price constraint is not held.
    move : array (p,)
        b.
    v : array (r,)
        Solution of the dual, in which the constraints held are equalities to rounding.
    status : int
        SOLVED, UNBOUNDED, DEPENDENT, or TOO_LONG after ``most`` changes. The estimate and the move
        are zero unless the dual is solved.
    """
    p, r = atoms.shape
    estimate, move, dual = np.zeros(p), np.zeros(p), np.empty(r)
    status = native.gauge_step.solve(
        atoms, x, c, lam, smoothness, v, support, most, estimate, move, dual
    )
    return estimate, move, dual, status
