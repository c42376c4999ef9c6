"""The columns of a design times the labels, dense or sparse, as the logistic loss needs them."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from greedyexp.kernels import logistic_lines
from greedyexp.kernels.logistic_lines import Columns


class SignedColumns:
    """Columns z_j = y * x_j of a design, stored so that each lies together.

    Parameters
    ----------
    X : array (n, p) or sparse array
        A sparse one is never made dense.
    y : array (n,)
        Labels -1 and 1.

    Attributes
    ----------
    columns : Columns
        The columns as the kernels take them.
    sizes, reach : arrays (p,)
        Mean and largest absolute value of each column.
    """

    def __init__(self, X, y: np.ndarray):
        self.n_samples, self.n_features = X.shape
        no_index, no_value = np.zeros(0, np.int64), np.zeros(0)
        if scipy.sparse.issparse(X):
            matrix = scipy.sparse.csc_array(X, dtype=np.float64, copy=True)
            matrix.sum_duplicates()
            matrix.data *= y[matrix.indices]
            starts = matrix.indptr.astype(np.int64)
            places, values = matrix.indices.astype(np.int64), matrix.data
            widest = int(np.diff(starts).max(initial=0))
            self._transposed = matrix.T
            self.columns = Columns(np.zeros((0, len(y))), starts, places, values, widest)
        else:
            self._transposed = np.ascontiguousarray((np.asarray(X, np.float64) * y[:, None]).T)
            self.columns = Columns(self._transposed, no_index, no_index, no_value, 0)

        self.sizes = np.asarray(abs(self._transposed).sum(axis=1)).ravel() / self.n_samples
        self.reach = np.empty(self.n_features)
        logistic_lines.reaches(self.columns, self.reach)

    def times(self, weights: np.ndarray) -> np.ndarray:
        """Inner products of the columns with ``weights`` (n,), shape (p,)."""
        return self._transposed @ weights

    def powers(self, weights: np.ndarray) -> np.ndarray:
        """Sums of the squared columns times ``weights`` (n,), shape (p,)."""
        out = np.empty(self.n_features)
        logistic_lines.powers(self.columns, weights, out)
        return out

    def write(self, feature: int, row: np.ndarray) -> None:
        """row <- the column, zeros included."""
        columns = self.columns
        if len(columns.rows):
            row[:] = columns.rows[feature]
        else:
            own = slice(columns.starts[feature], columns.starts[feature + 1])
            row[:] = 0.0
            row[columns.places[own]] = columns.values[own]

    def sum_of(self, coef: np.ndarray) -> np.ndarray:
        """The columns summed with the weights ``coef`` (p,), shape (n,)."""
        used = np.flatnonzero(coef)
        return self._transposed[used].T @ coef[used]
