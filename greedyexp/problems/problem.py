"""A regression problem: one or several tasks over the same features, and the truth if known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import scipy

from greedyexp.core.errors import DataError
from greedyexp.problems.checks import (
    Columns,
    check_feature_sizes,
    check_response_sizes,
    columns_of,
    is_sparse,
    moments_of_responses,
    require_memory,
)
from greedyexp.problems.moments import Covariance, Moments

# With more features than this, algorithms form no Gram matrix (128 MB for each design).
LARGEST_GRAM = 4096
# Threaded products of BLAS have crashed on Gram matrices of many gigabytes, so plugins get none of
# more features than this.
_MOST_OF_GRAM = 8192
# The responses of more tasks than this are multiplied with a design block by block, which takes
# less memory.
_BLOCK = 256


def shared_design_shape(n_features: int, *, n_tasks: int = 1, **known: int) -> dict:
    """Shape of a problem that is not drawn yet, with one design for all tasks.

    ``known`` is ``n_samples`` if it does not depend on the draw; see ``Problem.shape``.
    """
    return {"n_tasks": n_tasks, "n_features": n_features, "shared_design": True, **known}


@dataclass(frozen=True)
class Problem:
    """r tasks y_j = X_j b_j + noise over the same p features.

    Parameters
    ----------
    X : tuple of r arrays, each (n_j, p)
        Designs, or CSR arrays of scipy.sparse in canonical form. For a shared design, the tuple
        contains the same object r times.
    y : tuple of r arrays, each (n_j,)
        Responses.
    truth : array (p, r), optional
        True coefficients.
    noise_std : float, optional
        Standard deviation of the noise.
    sparsity : int, optional
        Number of nonzero coefficients per task, s in the papers.
    facts : dict
        Scalars to write as columns of the CSV (``n_samples``, ``sparsity``, ...).
    X_test, y_test : tuples like X and y
        Held-out rows; empty if there are none.
    start : array (p, r), optional
        Starting point of iterative methods; zero by default.
    chains, chains_test : int arrays (c,), optional
        For labelled words, the lengths of the chains in the rows of X and X_test. The tasks are
        then the classes and share the design; y_j is 1 for words of class j and 0 for others.
    feature_names, class_names : tuples of str
        Names of the columns of X and of the tasks; empty if unnamed.
    weights : array (n,), optional
        Weights > 0 of the rows of a shared design, for least squares. ``scaled`` replaces them by
        scaled rows, which algorithms fit.
    moments : Moments, optional
        Second moments of the distribution of the rows. Without rows, X is (0, p) and y is (0,), and
        the moments are the only data.
    covariance : Covariance, optional
        Covariance of variables without a response. The d features are then the pairs of variables,
        X is (0, d) and y is (0,).
    """

    X: tuple[np.ndarray, ...]
    y: tuple[np.ndarray, ...]
    truth: np.ndarray | None = None
    noise_std: float | None = None
    sparsity: int | None = None
    facts: dict = field(default_factory=dict)
    X_test: tuple[np.ndarray, ...] = ()
    y_test: tuple[np.ndarray, ...] = ()
    start: np.ndarray | None = None
    chains: np.ndarray | None = None
    chains_test: np.ndarray | None = None
    feature_names: tuple[str, ...] = ()
    class_names: tuple[str, ...] = ()
    weights: np.ndarray | None = None
    moments: Moments | None = None
    covariance: Covariance | None = None

    @classmethod
    def of_shared(cls, design: np.ndarray, responses: np.ndarray, **known: Any) -> Problem:
        """Return a problem whose tasks share a design, with responses (r, n) as rows."""
        problem = cls((design,) * len(responses), tuple(responses), **known)
        # Many responses are multiplied and checked faster in one array.
        if len(responses) > 1:
            problem.__dict__["responses"] = responses
        return problem

    @property
    def n_features(self) -> int:
        return self.X[0].shape[1]

    @property
    def n_tasks(self) -> int:
        return len(self.X)

    @cached_property
    def n_samples(self) -> np.ndarray:
        """Number of rows of each task, shape (r,)."""
        return np.array([len(y) for y in self.y])

    @cached_property
    def shared_design(self) -> bool:
        return all(X is self.X[0] for X in self.X)

    @property
    def designs(self) -> tuple[np.ndarray, ...]:
        """The distinct designs: one if all tasks share a design, otherwise one for each task."""
        return self.X[:1] if self.shared_design else self.X

    @property
    def sparse_design(self) -> bool:
        """Whether a training or test design is a sparse array."""
        return any(map(is_sparse, (*self.designs, *self.X_test)))

    @property
    def shape(self) -> dict:
        """``n_tasks``, ``n_samples`` (minimum over tasks), ``n_features`` and ``shared_design``."""
        return {
            "n_tasks": self.n_tasks,
            "n_samples": int(self.n_samples.min()),
            "n_features": self.n_features,
            "shared_design": self.shared_design,
        }

    @cached_property
    def columns(self) -> tuple[Columns, ...]:
        """Sizes and means of the features of each task; the designs need at least one row."""
        each = [columns_of(X) for X in self.designs]
        return tuple(each * self.n_tasks if self.shared_design else each)

    @cached_property
    def gram(self) -> np.ndarray:
        """G_j = X_j^T X_j / n_j, shape (r, p, p); a shared design is stored once and broadcast.

        The broadcast axis has stride zero. Kernels must not write to it.

        Raises
        ------
        DataError
            If there is not enough memory, or there are more than 8192 features.
        """
        if self.n_features > _MOST_OF_GRAM:
            raise DataError(
                f"a Gram matrix of {self.n_features} features is not formed; the limit is"
                f" {_MOST_OF_GRAM}.",
                remedy="Use products with the designs.",
            )
        count = len(self.designs)
        require_memory(
            8.0 * count * self.n_features**2,
            f"the Gram matrix of {self.n_features} features"
            + (f" for each of {count} tasks" if count > 1 else ""),
            "Use fewer features, or an algorithm that forms no Gram matrix, such as foba_gdt or"
            " forward_gdt.",
        )
        if self.shared_design:
            one = _gram(self.X[0])
            return np.broadcast_to(one, (self.n_tasks, *one.shape))
        stacked = np.empty((self.n_tasks, self.n_features, self.n_features))
        for j, X in enumerate(self.X):
            stacked[j] = _gram(X)
        return stacked

    @cached_property
    def correlation(self) -> np.ndarray:
        """c_j = X_j^T y_j / n_j, shape (r, p)."""
        if self.shared_design:
            return self.responses @ self.X[0] / self.X[0].shape[0]
        return np.stack([X.T @ y / len(y) for X, y in zip(self.X, self.y, strict=True)])

    def correlation_blocks(self) -> Iterator[np.ndarray]:
        """Yield ``correlation`` in blocks of tasks that share a design, (k, p) each.

        The products depend on the size of the blocks in their last bits, so it is constant.
        """
        if not self.shared_design or self.n_tasks <= _BLOCK:
            yield self.correlation
            return
        for start in range(0, self.n_tasks, _BLOCK):
            yield self.responses[start : start + _BLOCK] @ self.X[0] / self.X[0].shape[0]

    @cached_property
    def responses(self) -> np.ndarray:
        """The responses as the rows of one array (r, n), for tasks with as many rows."""
        return np.stack(self.y)

    @cached_property
    def response_power(self) -> np.ndarray:
        """||y_j||^2 / n_j, shape (r,)."""
        return moments_of_responses(self.at_hand)[1]

    @property
    def at_hand(self) -> Sequence[np.ndarray] | np.ndarray:
        """``responses`` if they are in one array already, otherwise ``y``."""
        return self.__dict__.get("responses", self.y)

    def rows(self, keep: Sequence[np.ndarray]) -> Problem:
        """Return the problem restricted to these row indices of each task; the truth is kept.

        Raises
        ------
        DataError
            If the rows are words of chains, which cannot be separated.
        """
        if self.chains is not None:
            raise DataError(
                "cross-validation cannot split chains of words.", remedy="Use tuning='end'."
            )
        if self.shared_design and all(k is keep[0] for k in keep):
            X = (self.X[0][keep[0]],) * self.n_tasks
        else:
            X = tuple(X[k] for X, k in zip(self.X, keep, strict=True))
        y = tuple(y[k] for y, k in zip(self.y, keep, strict=True))
        weights = None if self.weights is None else self.weights[keep[0]]
        return replace(self, X=X, y=y, weights=weights, facts={}, X_test=(), y_test=())


def as_problem(X, y, *, truth=None, noise_std=None, feature_names=()) -> Problem:
    """Check arrays, or lists of arrays for several tasks, and return a Problem.

    Parameters
    ----------
    X : array or sparse array (n, p), or list of r such (n_j, p)
        One design for all tasks, or one per task. A list of n rows of p numbers is one design.
        Sparse arrays are converted to CSR arrays in canonical form.
    y : array (n,), array (n, r) with one design, or list of r arrays (n_j,)
        Responses.
    truth : array (p,) or (p, r), optional
        True coefficients.
    noise_std : float, optional
        Standard deviation of the noise.
    feature_names : sequence of p str, optional
        Names of the columns of X.

    Raises
    ------
    DataError
        If shapes disagree, a value is not finite, squares of a feature or a response overflow or
        underflow, or there are fewer than two rows.
    """
    responses = _responses(y)
    if is_list_of_designs(X):
        designs = tuple(as_matrix(Xj, f"X[{j}]") for j, Xj in enumerate(X))
        if len(designs) != len(responses):
            raise DataError(f"X has {len(designs)} tasks but y has {len(responses)}.")
    else:
        designs = (as_matrix(X, "X"),) * len(responses)
    pairs = [*zip(designs, responses, strict=True)]
    # Columns of one array have the same rows.
    for j, (Xj, yj) in enumerate(pairs[:1] if isinstance(responses, np.ndarray) else pairs):
        if Xj.shape[0] != yj.shape[0]:
            raise DataError(f"task {j}: X has {Xj.shape[0]} rows but y has {yj.shape[0]}.")
        if Xj.shape[0] < 2:
            raise DataError(f"task {j} has {Xj.shape[0]} row(s); at least 2 are needed.")
        if Xj.shape[1] != designs[0].shape[1]:
            raise DataError(
                f"task {j} has {Xj.shape[1]} features but task 0 has {designs[0].shape[1]}."
            )
    sparsity = None
    if truth is not None:
        truth = np.asarray(truth)
        truth = _finite(truth[:, None] if truth.ndim == 1 else truth, "truth", ndim=2)
        expected = (designs[0].shape[1], len(designs))
        if truth.shape != expected:
            raise DataError(f"truth has shape {truth.shape}; the data need {expected}.")
        sparsity = int(np.count_nonzero(truth, axis=0).max())
    names = tuple(feature_names)
    known = {"truth": truth, "noise_std": noise_std, "sparsity": sparsity, "feature_names": names}
    if isinstance(responses, np.ndarray):
        problem = Problem.of_shared(designs[0], responses, **known)
    else:
        problem = Problem(designs, responses, **known)
    check_sizes(problem)
    return problem


def check_sizes(problem: Problem) -> None:
    """Raise an error if squares of a feature or a response overflow or underflow.

    Raises
    ------
    DataError
        If a feature or a response is not in the range; the message names the first.
    """
    if problem.n_samples.min() > 0:
        for X, known in zip(problem.designs, problem.columns, strict=False):
            check_feature_sizes(X, problem.feature_names, known)
        check_response_sizes(problem.at_hand)


def is_list_of_designs(X) -> bool:
    """Return whether X is a list of designs, as opposed to one design or its rows."""
    try:
        return isinstance(X, (list, tuple)) and any(np.ndim(part) > 1 for part in X)
    except ValueError:
        # An entry has rows of different lengths.
        return True


def check_not_masked(value, name: str) -> None:
    """Raise DataError if an array has masked values."""
    if np.ma.is_masked(value):
        raise DataError(
            f"{name} is an array with masked values.", remedy="Remove or impute the masked values."
        )


def _responses(y) -> tuple[np.ndarray, ...] | np.ndarray:
    """Return the checked responses: r arrays, or the columns of one array as rows (r, n)."""
    if isinstance(y, (list, tuple)) and len(y) and np.ndim(y[0]) > 0:
        return tuple(_finite(yj, f"y[{j}]", ndim=1) for j, yj in enumerate(y))
    check_not_masked(y, "y")
    array = np.asarray(y)
    if array.ndim == 2:
        if array.size and array.dtype == np.float64:
            # Many columns take longer one by one than together.
            rows = _in_order(array.T, "y")
            if _all_finite(rows):
                return rows
        return tuple(_finite(column, f"y[:, {j}]", ndim=1) for j, column in enumerate(array.T))
    return (_finite(array, "y", ndim=1),)


def as_matrix(value, name: str) -> np.ndarray:
    """Return a design as a finite float64 array or a CSR array in canonical form."""
    if not is_sparse(value):
        return _finite(value, name, ndim=2)
    if value.ndim != 2:
        raise DataError(f"{name} has {value.ndim} dimension(s); 2 expected.")
    if 0 in value.shape:
        raise DataError(f"{name} is empty.")
    # Make a copy, because conversion to canonical form works in place.
    design = scipy.sparse.csr_array(value, copy=True)
    design.sum_duplicates()
    if design.nnz:
        design.data = _finite(design.data, f"{name}.data", ndim=1)
    else:
        design.data = np.zeros(0)
    # Designs are annotated as arrays; CSR arrays support the same products.
    return cast(np.ndarray, design)


def _gram(X: np.ndarray) -> np.ndarray:
    if is_sparse(X):
        return (X.T @ X / X.shape[0]).toarray()
    gram = X.T @ X
    gram /= X.shape[0]
    return gram


def _all_finite(array: np.ndarray) -> bool:
    """Return True if no number of an array in C order is infinite or NaN."""
    # A product without an intermediate array and without BLAS, whose threads would take longer. It
    # overflows only for very large numbers.
    flat = array.reshape(-1)
    with np.errstate(over="ignore", invalid="ignore"):
        power = np.einsum("i,i->", flat, flat)
    return bool(np.isfinite(power)) or bool(np.isfinite(array).all())


def _in_order(value, name: str) -> np.ndarray:
    """Return numbers as a float64 array in C order, which may share the memory of the argument.

    Raises
    ------
    DataError
        If there is not enough memory for a copy.
    """
    if isinstance(value, np.ndarray) and not (
        value.dtype == np.float64 and value.flags.c_contiguous
    ):
        require_memory(
            8.0 * value.size,
            f"a copy of {name} in double precision",
            "Give fewer rows or features, or a float64 array in C order, which is not copied.",
        )
    return np.ascontiguousarray(value, dtype=np.float64)


def _finite(value, name: str, *, ndim: int) -> np.ndarray:
    check_not_masked(value, name)
    try:
        if np.iscomplexobj(value):
            raise DataError(f"{name} holds complex numbers; real numbers are needed.")
        if np.asarray(value).dtype.kind in "SUMm":
            # NumPy would convert digits, dates and durations.
            raise TypeError
        array = _in_order(value, name)
    except OverflowError:
        raise DataError(f"{name} holds a number that is too large.") from None
    except (TypeError, ValueError):
        rows = " in rows of equal length" if isinstance(value, (list, tuple)) else ""
        raise DataError(f"{name} must contain only numbers{rows}.") from None
    if array.ndim != ndim:
        raise DataError(f"{name} has {array.ndim} dimension(s); {ndim} expected.")
    if array.size == 0:
        raise DataError(f"{name} is empty.")
    if not _all_finite(array):
        bad = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise DataError(
            f"{name} holds {array[bad]} at index {bad}.",
            remedy="Remove or impute values that are not finite.",
        )
    return array
