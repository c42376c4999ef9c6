"""Newton's method for the mean logistic loss over the columns of a support."""

from __future__ import annotations

import numpy as np

from greedyexp.kernels import native

# Status: minimum found; all margins are positive, so there is no minimum; a minimum may not exist;
# no progress and no minimum found.
CONVERGED: int = native.logistic_newton.CONVERGED
SEPARATED: int = native.logistic_newton.SEPARATED
DOUBTFUL: int = native.logistic_newton.DOUBTFUL
STALLED: int = native.logistic_newton.STALLED


def minimise(
    signed: np.ndarray,
    penalty: np.ndarray,
    tolerance: np.ndarray,
    coef: np.ndarray,
    margins: np.ndarray,
    weights: np.ndarray,
    known: bool,
    patient: bool,
) -> tuple[int, float, bool]:
    """Minimise over the coefficients of ``signed``, starting from ``coef``.

    Parameters
    ----------
    signed : array (k, n)
        Signed columns.
    penalty, tolerance : arrays (k,)
        Ridge of each coefficient, and the largest derivative allowed at the end.
    coef : array (k,)
        Start; overwritten.
    margins, weights : arrays (n,)
        Output: margins at the end, and 1 / (1 + exp(m_i)).
    known : bool
        True if a minimum is known to exist.
    patient : bool
        Continue until the existence of a minimum is proved, even if the gradient is small.

    Returns
    -------
    status : int
        One of the constants above.
    value : float
    known : bool
        True if the existence of a minimum has been proved.
    """
    return native.logistic_newton.minimise(
        signed, penalty, tolerance, coef, margins, weights, known, patient
    )
