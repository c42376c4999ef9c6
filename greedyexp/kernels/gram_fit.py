"""Least squares on a support that grows and shrinks, in Gram form.

For task j with G_j = X_j^T X_j / n_j and c_j = X_j^T y_j / n_j the fit on support S solves
G_SS b = c_S. The cost does not depend on the number of rows.
"""

from __future__ import annotations

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
