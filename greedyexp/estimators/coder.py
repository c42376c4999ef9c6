"""Sparse codes of signals in a given dictionary, as a transformer of scikit-learn."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import scipy
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import validate_data

from greedyexp.estimators._base import value_errors
from greedyexp.problems.problem import Problem, as_matrix, check_sizes
from greedyexp.solving import Request

# Parameters of ``omp`` and the names that scikit-learn has for them.
_SPELLED = {"n_atoms": "n_nonzero_coefs", "residual_norm": "tol"}


class OMPCoder(TransformerMixin, BaseEstimator):
    """Sparse codes of signals by orthogonal matching pursuit in a given dictionary.

    The codes are the coefficients of ``OMP`` without an intercept. The transformer learns nothing,
    so ``fit`` only checks its parameters.

    Parameters
    ----------
    dictionary : array (n_components, n_features)
        Atoms as rows. They need not have unit norm.
    n_nonzero_coefs : int, at least 1, optional
        Largest number of atoms in a code; by default a tenth of the features without ``tol``, and
        all that help with ``tol``.
    tol : float, at least 0, optional
        A code is finished when the squared norm of its residual is at most this.
    judge : {"coordinate", "refit"}
        How atoms are chosen; see ``greedyexp show omp``.
    sparse_output : bool
        Return the codes as a sparse array.
    n_jobs : int, optional
        Number of threads; -1 for all processors, 1 by default. The codes have the same bits for any
        number.

    Attributes
    ----------
    n_features_in_ : int

    See Also
    --------
    sklearn.decomposition.SparseCoder : Codes by other methods, with the same interface.

    References
    ----------
    Pati, Rezaiifar & Krishnaprasad (1993).
    R. Rubinstein, M. Zibulevsky, M. Elad, Efficient implementation of the K-SVD algorithm using
    batch orthogonal matching pursuit, 2008.
    """

    def __init__(
        self,
        dictionary: Any,
        *,
        n_nonzero_coefs: int | None = None,
        tol: float | None = None,
        judge: str = "coordinate",
        sparse_output: bool = False,
        n_jobs: int | None = None,
    ):
        self.dictionary = dictionary
        self.n_nonzero_coefs = n_nonzero_coefs
        self.tol = tol
        self.judge = judge
        self.sparse_output = sparse_output
        self.n_jobs = n_jobs

    @property
    def n_features_in_(self) -> int:
        """Number of features of a signal."""
        return int(np.shape(self.dictionary)[1])

    def fit(self, X: Any = None, y: Any = None) -> OMPCoder:
        """Check the parameters; nothing is learned, and X and y are ignored.

        Raises
        ------
        ValueError
            If a parameter is invalid.
        """
        with value_errors(_SPELLED):
            self._request()
        return self

    def transform(self, X: Any, y: Any = None) -> np.ndarray | scipy.sparse.csr_array:
        """Return the codes of signals.

        Parameters
        ----------
        X : array (n_signals, n_features)
        y : ignored

        Returns
        -------
        array or sparse array (n_signals, n_components)

        Raises
        ------
        ValueError
            If a parameter or the signals are invalid, or the dense codes do not fit into memory.
        """
        signals = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        with value_errors(_SPELLED):
            atoms = as_matrix(np.transpose(self.dictionary), "dictionary.T")
            problem = Problem.of_shared(atoms, signals)
            check_sizes(problem)
            estimate = self._request().fit(problem).estimate
            if not self.sparse_output:
                return estimate.dense()[0].T
        return estimate.matrix(0).T.tocsr()

    def _request(self) -> Request:
        """Return the validated parameters as a request to the core of ``solve``."""
        most = self.n_nonzero_coefs
        if most is None and self.tol is None:
            most = max(1, self.n_features_in_ // 10)
        given: dict[str, Any] = {"n_atoms": most, "judge": self.judge}
        if self.tol is not None:
            positive = isinstance(self.tol, Real) and self.tol >= 0
            given["residual_norm"] = float(np.sqrt(self.tol)) if positive else self.tol
        return Request.of("omp", given, n_jobs=self.n_jobs)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags
