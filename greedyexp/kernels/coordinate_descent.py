"""Descent on quadratic losses, with or without an l1 penalty.

``Descent`` makes the steps of four methods. ``propose`` is the step of regularised matching
pursuit, Algorithm 1 of Moucer, Taylor & Bach (2024), corrected. ``descend_diagonal`` is gradient
descent in the basis of the singular vectors, and ``descend_quadratic`` cyclic coordinate descent on
a small quadratic.
"""

from __future__ import annotations

import numpy as np

from greedyexp.kernels import native

# Rules of ``Descent.descend``.
GAUSS_SOUTHWELL: int = native.coordinate_descent.GAUSS_SOUTHWELL
PROXIMAL_GAUSS_SOUTHWELL: int = native.coordinate_descent.PROXIMAL_GAUSS_SOUTHWELL
PROXIMAL_GRADIENT: int = native.coordinate_descent.PROXIMAL_GRADIENT
MATCHING_PURSUIT: int = native.coordinate_descent.MATCHING_PURSUIT
# Number of steps after which the residual and the gradient are computed afresh.
REFRESH: int = native.coordinate_descent.REFRESH


class Descent:
    """A method on G(a) = ||P a - y||^2 / (2 n) + lam ||a||_1, paused between two steps.

    A step costs p + n for each coefficient that it moves if the Gram matrix is kept, else n p.

    Parameters
    ----------
    atoms : array (p, n)
        Columns of P, in C order; not copied.
    gram : array (p, p) or (0, 0)
        P^T P / n, or an empty array when it is not kept; in C order, not copied.
    response : array (n,)
        y; not copied.
    lam : float >= 0
    smoothness : float > 0
        L; steps have length 1 / L.
    start : array (p,)
        The first estimate.
    """

    def __init__(
        self,
        atoms: np.ndarray,
        gram: np.ndarray,
        response: np.ndarray,
        lam: float,
        smoothness: float,
        start: np.ndarray,
    ):
        self._state = native.coordinate_descent.Descent(
            atoms, gram, response, lam, smoothness, start
        )

    def descend(self, rule: int, until: int, target: float) -> None:
        """Make steps until their total number is ``until`` or G(a) is at most ``target``.

        Parameters
        ----------
        rule : int
            The kind of step, one of the constants of this module.
        until : int
        target : float
        """
        self._state.descend(rule, until, target)

    def watch(self, outside: np.ndarray) -> None:
        """From now on, record the last step with a nonzero coefficient marked in ``outside``.

        Parameters
        ----------
        outside : bool array (p,)
        """
        self._state.watch(outside)

    def objective(self) -> float:
        """Return G(a) from a residual computed afresh."""
        return self._state.objective()

    @property
    def coef(self) -> np.ndarray:
        """The current estimate a, (p,), with exact zeros; it changes with further steps."""
        return self._state.coef

    @property
    def residual(self) -> np.ndarray:
        """P a - y, (n,), as updated by the steps."""
        return self._state.residual

    @property
    def grad(self) -> np.ndarray:
        """P^T (P a - y) / n, (p,), as updated by the steps."""
        return self._state.grad

    @property
    def iteration(self) -> int:
        """Number of steps made."""
        return self._state.iteration

    @property
    def last_outside(self) -> int:
        """The step recorded by ``watch``, or -1 if there is none."""
        return self._state.last_outside


def propose(
    coef: np.ndarray, grad: np.ndarray, lam: float, smoothness: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the coordinates that a step of regularised matching pursuit moves.

    The step minimises <g, b> + (L/2) ||b||_1^2 + lam ||a + b||_1 over b. Moving an active
    coordinate towards zero, by at most |a_i|, lowers the linear terms at the rate
    z_i = lam + sign(a_i) g_i for each unit of ||b||_1. Moving any coordinate away from zero lowers
    them at the rate |g_i| - lam, whose largest value is z_min. The step therefore uses the best
    rates first, while they exceed L times the length used so far.

    Parameters
    ----------
    coef, grad : arrays (p,)
        a and g.
    lam, smoothness : float
        lam >= 0 and L > 0.

    Returns
    -------
    features : int array (k,)
        A feature may occur twice, first with the value zero; the later value counts.
    values : array (k,)
        New values of their coefficients.
    """
    return native.coordinate_descent.propose(coef, grad, lam, smoothness)


def descend_diagonal(
    rho: np.ndarray,
    shift: np.ndarray,
    pull: np.ndarray,
    keep: np.ndarray,
    steps: int,
    least: float,
) -> int:
    """Make gradient steps on least squares in the basis of the singular vectors.

    With singular values s, rho = U^T (P a - y) and z = V^T a, a step of length 1 / L is
    z_j -= s_j rho_j / (n L), which multiplies rho_j by 1 - s_j^2 / (n L). Steps end when
    ||rho||^2 is at most ``least``. Returns the number of steps made, at most ``steps``.

    Parameters
    ----------
    rho : array (m,)
        U^T (P a - y); updated.
    shift : array (m,)
        V^T (a - start); updated.
    pull : array (m,)
        s_j / (n L).
    keep : array (m,)
        1 - s_j^2 / (n L).
    steps : int
    least : float
    """
    return native.coordinate_descent.descend_diagonal(rho, shift, pull, keep, steps, least)


def descend_quadratic(
    hessian: np.ndarray, slope: np.ndarray, u: np.ndarray, lam: float, tolerance: float, limit: int
) -> bool:
    """Minimise a quadratic with an l1 penalty along its coordinates in turn, in place.

    Returns True if the method converged within ``limit`` rounds.

    Parameters
    ----------
    hessian : array (m, m)
        Symmetric; coordinates without curvature do not change.
    slope : array (m,)
        Gradient of the quadratic at u, updated.
    u : array (m,)
    lam : float >= 0
        Weight of the l1 norm.
    tolerance : float
        The method has converged when no step of a round changes its own derivative by more.
    limit : int
        Largest number of rounds.
    """
    return native.coordinate_descent.descend_quadratic(hessian, slope, u, lam, tolerance, limit)
