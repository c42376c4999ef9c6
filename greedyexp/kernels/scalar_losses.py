"""Losses L(a, y) of a prediction and a response: values and slopes.

``beta`` smooths the absolute and the hinge loss; the other two ignore it. With an infinite ``beta``
the values of both are those without smoothing.
"""

from __future__ import annotations

import numpy as np

from greedyexp.kernels import native

# (a - y)^2 / 2 and log(1 + exp(-y a)); |a - y| and max(0, 1 - y a), smoothed. Labels are -1 and 1.
SQUARED: int = native.scalar_losses.SQUARED
LOGISTIC: int = native.scalar_losses.LOGISTIC
ABSOLUTE: int = native.scalar_losses.ABSOLUTE
HINGE: int = native.scalar_losses.HINGE


def slopes(kind: int, beta: float, predictions: np.ndarray, responses: np.ndarray) -> np.ndarray:
    """Return the derivatives of L(a_i, y_i) by a_i, shape (n,).

    Parameters
    ----------
    kind : int
        One of the constants above.
    beta : float > 0
    predictions, responses : arrays (n,)
        a and y.
    """
    out = np.empty(len(responses))
    native.scalar_losses.slopes(kind, beta, predictions, responses, out)
    return out


def total(kind: int, beta: float, predictions: np.ndarray, responses: np.ndarray) -> float:
    """Return sum_i L(a_i, y_i); the arguments are those of ``slopes``."""
    return native.scalar_losses.total(kind, beta, predictions, responses)
