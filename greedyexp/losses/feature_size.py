"""How large the features of a design are."""

from __future__ import annotations

import numpy as np
from scipy import sparse


def largest_feature(X) -> float:
    """max |x_ij| of an array or a sparse array, without a copy of it; zero of an empty one."""
    values: np.ndarray = X.data if sparse.issparse(X) else X
    return float(max(values.max(initial=0.0), -values.min(initial=0.0)))
