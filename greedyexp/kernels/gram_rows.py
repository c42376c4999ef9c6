"""Rows of the Gram matrix G = X^T X / n of a design, computed when a kernel needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from greedyexp.kernels import native

if TYPE_CHECKING:
    import scipy.sparse

# Number of rows computed in one pass over the design.
BATCH: int = native.gram_rows.BATCH


def gram_rows(design: np.ndarray | scipy.sparse.csr_array, most: int) -> Any:
    """Return the rows of a Gram matrix, for kernels that accept them in place of the matrix.

    Several runs may share the object, one after the other. The entries of a row do not depend on
    which rows are computed together, or on ``most``.

    Parameters
    ----------
    design : array (n, p), float64, in C order; or CSR array
    most : int
        Number of rows to keep, p numbers each. It must be at least ``BATCH`` and the largest
        support of a run. If there are more, all are forgotten, and computed again when needed.
    """
    if not isinstance(design, np.ndarray):
        parts = (design.indptr, design.indices, design.data)
        return native.gram_rows.GramRows(*parts, design.shape[1], most)
    return native.gram_rows.GramRows(design, most)
