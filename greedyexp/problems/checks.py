"""Types of arrays, and checks of data: sizes of values, means far from zero, memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple, TypeGuard

import numpy as np
import scipy

from greedyexp.core.errors import DataError
from greedyexp.kernels.column_sums import column_sums

# Indices of features.
Indices = Sequence[int] | np.ndarray

# Allowed range of the largest absolute value of a feature or a response. Within it, fourth powers
# and fourth powers of ratios neither overflow nor underflow, and most keep all their digits.
SMALLEST, LARGEST = 1e-75, 1e75

# A response is far from centred if its squared mean exceeds this fraction of its mean square, that
# is, if |mean| exceeds one standard deviation. For a feature, the limit is three standard
# deviations.
_RESPONSE_SHARE, _FEATURE_SHARE = 0.5, 0.9

# A column may be constant if its variance is at most this fraction of its mean square.
_SMALL_VARIANCE = 1e-10
# Entries of a column that differ by at most this fraction of the largest differ by rounding.
_ROUNDING = 4.0 * np.finfo(float).eps

# Do not query the system below this number of bytes: the query takes longer than most fits.
_SMALL = 100e6


def is_sparse(X: object) -> TypeGuard[scipy.sparse.csr_array]:
    """Return whether an array is one of scipy.sparse."""
    # The import of scipy.sparse takes as long as that of NumPy.
    return not isinstance(X, np.ndarray) and scipy.sparse.issparse(X)


def largest_feature(X) -> float:
    """Return max |x_ij| of a dense or sparse array without a copy; zero for an empty array."""
    values: np.ndarray = X.data if is_sparse(X) else X
    return float(max(values.max(initial=0.0), -values.min(initial=0.0)))


class Columns(NamedTuple):
    """Largest absolute value, mean and mean square of each feature, shape (p,) each."""

    largest: np.ndarray
    mean: np.ndarray
    square: np.ndarray


def columns_of(X) -> Columns:
    """Return the sizes and means of the features of a dense or sparse array (n, p), n > 0."""
    n = X.shape[0]
    if is_sparse(X):
        means, squares = np.asarray(X.mean(axis=0)), np.asarray(X.multiply(X).mean(axis=0))
        return Columns(abs(X).max(axis=0).toarray().ravel(), means.ravel(), squares.ravel())
    largest, total, squares = column_sums(X)
    return Columns(largest, total / n, squares / n)


def constant_columns(X, known: Columns | None = None) -> np.ndarray:
    """Return the indices of the columns whose entries are equal up to rounding.

    Parameters
    ----------
    X : array or sparse array (n, p), n > 0
    known : Columns, optional
        ``columns_of(X)``, if it is known.
    """
    largest, mean, square = known or columns_of(X)
    near = np.flatnonzero(square - mean**2 <= _SMALL_VARIANCE * square)
    if is_sparse(X) and len(near):
        some = X[:, near]
        spread = (some.max(axis=0).toarray() - some.min(axis=0).toarray()).ravel()
    else:
        # One by one, to avoid a copy of the design.
        spread = np.array([np.ptp(X[:, feature]) for feature in near])
    return near[spread <= _ROUNDING * largest[near]]


def check_feature_sizes(X, names: Sequence[str] = (), columns: Columns | None = None) -> None:
    """Raise an error if squares of a feature overflow or underflow.

    Parameters
    ----------
    X : array or sparse array (n, p)
    names : sequence of p str
        Names for the message; empty to use column numbers.
    columns : Columns, optional
        ``columns_of(X)``, if it is known.

    Raises
    ------
    DataError
        For the first such feature.
    """
    if X.shape[0] == 0:
        return
    sizes = (columns or columns_of(X)).largest
    for feature in np.flatnonzero(_unfit(sizes))[:1]:
        name = f"feature '{names[feature]}'" if len(names) else f"feature {feature}"
        raise _size_error(name, sizes[feature])


def moments_of_responses(
    responses: Sequence[np.ndarray] | np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return means and mean squares, (r,) each, of r arrays (n_j,) or the rows of one (r, n)."""
    if isinstance(responses, np.ndarray):
        n = responses.shape[1]
        return responses.mean(axis=1), np.einsum("jn,jn->j", responses, responses) / n
    means = [y.sum() / len(y) for y in responses]
    return np.array(means), np.array([y @ y / len(y) for y in responses])


def check_response_sizes(responses: Sequence[np.ndarray] | np.ndarray) -> None:
    """Raise an error if squares of a response, an array with at least one entry, are no numbers.

    Raises
    ------
    DataError
        The message gives the largest absolute value of the first such response.
    """
    if isinstance(responses, np.ndarray):
        sizes = np.maximum(responses.max(axis=1), -responses.min(axis=1))
    else:
        starts = np.cumsum([0, *map(len, responses[:-1])])
        sizes = np.maximum.reduceat(np.abs(np.concatenate(responses)), starts)
    for size in sizes[_unfit(sizes)][:1]:
        raise _size_error("the responses", size)


def _unfit(sizes: np.ndarray) -> np.ndarray:
    return (sizes > LARGEST) | ((sizes != 0.0) & (sizes < SMALLEST))


def _size_error(what: str, size: float) -> DataError:
    trouble = "large" if size > LARGEST else "small"
    return DataError(
        f"the largest absolute value of {what} is {size:.3g}, too {trouble} for double precision.",
        remedy=f"Use units in which it is between {SMALLEST:g} and {LARGEST:g}.",
    )


def far_from_centred(
    designs: Sequence,
    responses: Sequence[np.ndarray] | np.ndarray,
    columns: Sequence[Columns],
    names: Sequence[str] = (),
) -> str:
    """Describe a response or feature that is too far from centred for a model without intercept.

    A response is too far if |mean| exceeds one standard deviation, a feature if it exceeds three.
    Tasks with a nonzero constant column are skipped, because that column acts as an intercept.

    Parameters
    ----------
    designs : sequence of r arrays or sparse arrays (n_j, p)
    responses : sequence of r arrays (n_j,), or array (r, n)
    columns : sequence of r Columns
        ``columns_of`` each design.
    names : sequence of p str
        Names of the features; empty to use column numbers.

    Returns
    -------
    str
        Part of a sentence; empty if there is nothing to report.
    """
    means, squares = moments_of_responses(responses)
    far = means**2 > _RESPONSE_SHARE * squares
    in_features, before = [], None
    for X, known in zip(designs, columns, strict=True):
        if X is not before:
            before, here = X, _features_off_centre(X, known, names)
        in_features.append(here)
    # Responses come first: a missing intercept usually shows there.
    for j in np.flatnonzero(far).tolist():
        if in_features[j] is not None:
            task = f" of task {j}" if len(responses) > 1 else ""
            return f"the response{task} has mean {means[j]:.3g} and {_deviation(responses[j])}"
    return next(filter(None, in_features), "")


def _features_off_centre(X, known: Columns, names: Sequence[str]) -> str | None:
    """Describe the feature farthest from centred; None if the design has a constant column."""
    _, means, squares = known
    share = np.divide(means**2, squares, out=np.zeros_like(means), where=squares > 0)
    far = np.flatnonzero(share > _FEATURE_SHARE)
    if not len(far):
        return ""
    if known.largest[constant_columns(X, known)].any():
        return None
    most = far[np.argmax(share[far])]
    name = f"'{names[most]}'" if len(names) else most
    return f"feature {name} has mean {means[most]:.3g} and {_deviation(_dense_columns(X, [most]))}"


def _dense_columns(X, features: Indices) -> np.ndarray:
    columns = X[:, features]
    return columns.toarray() if is_sparse(columns) else columns


def _deviation(values: np.ndarray) -> str:
    return f"standard deviation {values.std():.3g}"


def require_memory(needed: float, what: str, remedy: str | None = None) -> None:
    """Raise DataError if an allocation does not fit into the free memory.

    Parameters
    ----------
    needed : float
        Bytes.
    what : str
        Subject of the message.
    remedy : str, optional
    """
    if needed >= _SMALL:
        shortage = memory_shortage(needed, what, available_memory())
        if shortage:
            raise DataError(shortage, remedy=remedy)


def memory_shortage(needed: float, what: str, present: int | None) -> str:
    """Return a sentence if ``needed`` bytes exceed those present, otherwise an empty string."""
    if present is None or needed <= present:
        return ""
    return (
        f"{what} would take {needed / 1e9:.3g} GB of memory, more than the {present / 1e9:.3g} GB"
        " available."
    )


def available_memory() -> int | None:
    """Return the bytes that can be allocated without swapping, or None if unknown."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return physical_memory()


def physical_memory() -> int | None:
    """Return the bytes of memory of this machine, or None if unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
