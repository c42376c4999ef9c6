"""Labels of two classes, and the columns of a design times these labels."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy

from greedyexp.core.errors import DataError
from greedyexp.kernels.logistic_columns import Columns
from greedyexp.losses.loss import TOLERANCE
from greedyexp.problems.checks import Indices, constant_columns, is_sparse, largest_feature

# Rounding error of a derivative, relative to the mean |value| of its column.
SLOPE_ROUNDING = 16 * np.finfo(float).eps
TINY = np.finfo(float).tiny


class SignedColumns:
    """Columns z_j = y * x_j of a design, or y * (x_j - mean(x_j)).

    The signed columns are made when ``columns`` is first used. Gradients do not need them.

    Parameters
    ----------
    X : array (n, p) or sparse array
        A sparse array is never made dense.
    y : array (n,)
        Labels -1 and 1.
    centre : bool
        Whether to subtract the means of the columns. A constant column then becomes zero.

    Attributes
    ----------
    means : array (p,)
        The means that are subtracted; zero without centring.
    """

    def __init__(self, X, y: np.ndarray, centre: bool = False):
        self.n_samples, self.n_features = X.shape
        self._signs = y
        self.means = np.asarray(X.mean(axis=0)).ravel() if centre else np.zeros(X.shape[1])
        # Means of a sparse design, which are subtracted from products to keep it sparse.
        self._offsets: np.ndarray | None = None
        self._design: np.ndarray | scipy.sparse.csc_array
        if is_sparse(X):
            self._design = scipy.sparse.csc_array(X, dtype=np.float64, copy=True)
            self._design.sum_duplicates()
            if centre:
                self._offsets = self.means.copy()
                for feature in constant_columns(X):
                    self._design.data[_entries(self._design, feature)] = 0.0
                    self._offsets[feature] = 0.0
        elif centre:
            self._design = np.ascontiguousarray(X - self.means, dtype=np.float64)
            self._design[:, constant_columns(X)] = 0.0
        else:
            self._design = np.ascontiguousarray(X, dtype=np.float64)
        self._transposed = self._design.T

    @cached_property
    def columns(self) -> Columns:
        """The signed columns in the format of the kernels, each contiguous."""
        return Columns(self._design, self._signs, self._offsets)

    @cached_property
    def reach(self) -> np.ndarray:
        """Largest absolute value of each column, shape (p,)."""
        return self.columns.reaches()

    @property
    def largest(self) -> float:
        """Largest absolute value of the columns."""
        return largest_feature(self._design)

    def times(self, weights: np.ndarray) -> np.ndarray:
        """Return inner products of the columns with ``weights`` (n,), shape (p,)."""
        signed = self._signs * weights
        sums = self._transposed @ signed
        return sums if self._offsets is None else sums - signed.sum() * self._offsets

    def powers(self, weights: np.ndarray) -> np.ndarray:
        """Return sums of the squared columns times ``weights`` (n,), shape (p,)."""
        return self.columns.powers(weights)

    def rows(self, features: Indices) -> np.ndarray:
        """Return columns as rows, including their zeros, shape (k, n)."""
        rows, design = np.zeros((len(features), self.n_samples)), self._design
        if isinstance(design, np.ndarray):
            rows[:] = design.T[np.asarray(features, dtype=np.intp)]
            return np.multiply(rows, self._signs, out=rows)
        for row, feature in zip(rows, features, strict=True):
            entries = _entries(design, int(feature))
            row[design.indices[entries]] = design.data[entries]
            if self._offsets is not None:
                row -= self._offsets[feature]
            row *= self._signs
        return rows

    def scale_of(self, slopes: np.ndarray, largest: float) -> float:
        """Return the size of the steepest slope at zero.

        If all slopes are rounding errors, return the largest possible slope of that column instead.

        Parameters
        ----------
        slopes : array (p,)
            Derivatives of the mean loss.
        largest : float > 0
            Largest derivative of the loss of a row.
        """
        slopes = np.abs(slopes)
        steepest = int(slopes.argmax())
        size = np.abs(self.rows([steepest])).mean()
        if slopes[steepest] > SLOPE_ROUNDING * size:
            return float(slopes[steepest])
        return float(size * largest) or 1.0

    def sum_of(self, coef: np.ndarray) -> np.ndarray:
        """Return the sum of the columns with weights ``coef`` (p,), shape (n,)."""
        used = np.flatnonzero(coef)
        total = self._design[:, used] @ coef[used]
        if self._offsets is not None:
            total -= self._offsets[used] @ coef[used]
        return self._signs * total


def _entries(design: scipy.sparse.csc_array, feature: int) -> slice:
    """Return where the values of a column are stored."""
    return slice(design.indptr[feature], design.indptr[feature + 1])


def derivative_tolerance(sizes: np.ndarray, scale: float) -> np.ndarray:
    """Return the tolerance of derivatives, given the mean |values| of their columns."""
    return np.maximum(TOLERANCE * np.minimum(sizes, scale), SLOPE_ROUNDING * sizes) + TINY


def two_values(y: np.ndarray, name: str) -> tuple[float, float]:
    """Return the lower and the higher of the two values of a response.

    A single value is refused even if a ridge or an l1 ball makes a minimum exist: it is unknown
    whether the value means -1 or 1, and the two estimates differ in sign.

    Parameters
    ----------
    y : array (n,)
    name : str
        Name of the loss, for the message.

    Raises
    ------
    DataError
        If there are not exactly two values.
    """
    values = np.unique(y)
    if len(values) == 1:
        raise DataError(
            f"all responses are {values[0]:g}: the {name} loss needs two classes, and a single"
            " value does not say which class it is.",
            remedy="Give rows of both classes.",
        )
    if len(values) > 2:
        raise DataError(
            f"the responses have {len(values)} values: the {name} loss takes two.",
            remedy="Give the labels of two classes, or use the squared loss.",
        )
    return float(values[0]), float(values[1])
