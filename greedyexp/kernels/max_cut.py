"""The largest value of a quadratic form over sign vectors, exactly and by its relaxation.

``largest_form`` tries all sign vectors of few coordinates. ``ascend`` solves the relaxation of
maximum cut: max Tr(C V^T V) over matrices V (k, p) with unit columns. With k (k + 1) / 2 > p every
local maximum is one of max Tr(C Z), Z positive semidefinite, diag Z = 1 (Burer & Monteiro 2003,
Boumal et al. 2016). One sweep sets each column to its best value given the others (the mixing
method, Wang & Kolter 2018). Extrapolation between sweeps, restarted whenever the objective falls,
saves most of them.
"""

from __future__ import annotations

import numpy as np

from greedyexp.kernels import native

# ``largest_form`` computes its running sums afresh after so many steps.
REFRESH: int = native.max_cut.REFRESH


def is_dual(C: np.ndarray, y: np.ndarray, slack: float, allowance: float) -> bool:
    """Return True if a Cholesky factor proves that (1 + slack) Diag(y) - C is semidefinite.

    The matrix is scaled by D^(-1/2) on both sides, D = Diag(y), which makes its entries at most
    about one.

    Parameters
    ----------
    C : array (p, p)
        Symmetric.
    y : array (p,)
    slack : float
    allowance : float
        Subtracted from the diagonal of the scaled matrix to cover all rounding errors.
    """
    return native.max_cut.is_dual(C, y, slack, allowance)


def ascend(
    C: np.ndarray, V: np.ndarray, slack: float, allowance: float, most: int
) -> tuple[np.ndarray, int, bool]:
    """Sweep until (1 + slack) y is dual feasible.

    Parameters
    ----------
    C : array (p, p)
        Symmetric positive semidefinite with a positive diagonal.
    V : array (k, p)
        Start with unit columns; overwritten.
    slack, allowance : float
        See ``is_dual``.
    most : int
        Largest number of sweeps, at least 1.

    Returns
    -------
    y : array (p,)
        Multipliers with sum Tr(C V^T V).
    sweeps : int
    certified : bool
        True if (1 + slack) y is dual feasible.
    """
    y = np.empty(len(C))
    sweeps, certified = native.max_cut.ascend(C, V, slack, allowance, most, y)
    return y, sweeps, certified


def largest_form(C: np.ndarray) -> tuple[np.ndarray, float]:
    """Return max v^T C v over v in {-1, 1}^p, with v.

    All sign vectors are tried in the order of a Gray code, one flip after the other.

    Parameters
    ----------
    C : array (p, p)
        Symmetric; v and -v have the same value, so the last sign stays 1.

    Returns
    -------
    best : array (p,)
        The first sign vector with the largest value.
    value : float
        Within about REFRESH p eps sum |C_ij| of the maximum.
    """
    best = np.empty(len(C))
    value = native.max_cut.largest_form(C, best)
    return best, value
