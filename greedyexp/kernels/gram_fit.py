"""Least squares on a support that grows and shrinks, in Gram form.

For task j with G_j = X_j^T X_j / n_j and c_j = X_j^T y_j / n_j the fit on support S solves
G_SS b = c_S. The cost does not depend on the number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from greedyexp.kernels import native

# A column with a smaller squared sine of its angle to the span of the support lies in the span.
SPAN: float = native.gram_fit.SPAN
# Gram form squares the condition number, so fits with a squared sine below REFIT must be repeated
# from the design itself.
REFIT = 1e-6
# Gains below this part of the response power are rounding errors of the residual correlation.
GAIN_FLOOR: float = native.gram_fit.GAIN_FLOOR


def stored(gram: np.ndarray) -> np.ndarray:
    """Return the Gram matrices (r, p, p), or a broadcast one only once, as (1, p, p)."""
    return gram[:1] if gram.strides[0] == 0 else gram


def slopes(
    designs: Sequence[np.ndarray],
    responses: Sequence[np.ndarray],
    entries: np.ndarray,
    values: np.ndarray,
) -> np.ndarray:
    """Return max |x_i^T res_j| / (||x_i|| ||y_j||) over the support of each task, shape (r,).

    It is zero at a least-squares fit, and for an empty support.

    Parameters
    ----------
    designs : sequence of r arrays (n_j, p), or of one that is shared by all tasks
    responses : sequence of r arrays (n_j,)
    entries : int array (q,)
        feature * r + task of the selected coefficients.
    values : array (q,)
        The coefficients.
    """
    largest = np.zeros(len(responses))
    native.gram_fit.slopes(designs, responses, entries, values, largest)
    return largest
