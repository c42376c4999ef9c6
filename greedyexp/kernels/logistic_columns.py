"""Signed columns: the columns of a design times labels -1 and 1, each contiguous in memory."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from greedyexp.kernels import native


class Columns:
    """A copy of the columns of a design, times the labels of their rows.

    Parameters
    ----------
    design : array (n, p) or sparse CSC array
    signs : array (n,)
        Labels -1 and 1.
    means : array (p,), optional
        Subtracted from the columns of a sparse design, which is not made dense.
    """

    def __init__(
        self,
        design: np.ndarray | scipy.sparse.csc_array,
        signs: np.ndarray,
        means: np.ndarray | None = None,
    ):
        self.size = design.shape[1]
        if isinstance(design, np.ndarray):
            self.native = native.logistic_columns.Columns(design, signs)
        else:
            parts = (design.indptr, design.indices, design.data)
            subtracted = np.zeros(0) if means is None else means
            self.native = native.logistic_columns.Columns(*parts, signs, subtracted)

    def reaches(self) -> np.ndarray:
        """Return the largest absolute value of each column, shape (p,)."""
        out = np.empty(self.size)
        self.native.reaches(out)
        return out

    def powers(self, weights: np.ndarray) -> np.ndarray:
        """Return sums of the squared columns times ``weights`` (n,), shape (p,)."""
        out = np.empty(self.size)
        self.native.powers(weights, out)
        return out
