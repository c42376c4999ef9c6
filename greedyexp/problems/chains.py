"""Chains of labelled words: lengths, classes and transition weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from greedyexp.core.errors import DataError
from greedyexp.problems.checks import check_feature_sizes
from greedyexp.problems.problem import Problem, as_matrix, check_not_masked, is_list_of_designs


class ChainWeights(NamedTuple):
    """Dense parameters of a chain model with r classes.

    Parameters
    ----------
    start, end : array (r,)
        Weights of the class of the first and the last word.
    transition : array (r, r)
        Weights of the transitions from a class (row) to the next (column).
    """

    start: np.ndarray
    end: np.ndarray
    transition: np.ndarray


def chain_weights(dense: np.ndarray, n_classes: int) -> ChainWeights:
    """Return views of the parts of the dense parameters (r (r + 2),)."""
    r = n_classes
    return ChainWeights(dense[:r], dense[r : 2 * r], dense[2 * r :].reshape(r, r))


def classes_of(indicators: Sequence[np.ndarray]) -> np.ndarray:
    """Return the class of each word (n,) from the indicators (n,) of all classes."""
    return np.argmax(np.stack(indicators), axis=0)


def check_lengths(chains, n_words: int) -> np.ndarray:
    """Return chain lengths as int64 after checking that they add up to ``n_words``.

    Raises
    ------
    DataError
        If the lengths are not whole numbers of at least 1, or have the wrong sum.
    """
    try:
        lengths = np.asarray(chains)
    except ValueError:
        lengths = np.zeros(0)
    if lengths.ndim != 1 or not lengths.size or lengths.dtype.kind not in "iu":
        raise DataError("chains must be a list of whole numbers, the words of each chain.")
    if lengths.min() < 1:
        raise DataError(
            f"chain {int(lengths.argmin())} has {lengths.min()} words.",
            remedy="Leave out chains without words.",
        )
    longest = int(lengths.argmax())
    if lengths[longest] > n_words:
        raise DataError(
            f"chain {longest} has {lengths[longest]} words, but X has {n_words} rows.",
            remedy="Give the words of each chain, and one row for each word.",
        )
    if lengths.sum() != n_words:
        raise DataError(
            f"the chains have {lengths.sum()} words in all, but X has {n_words} rows.",
            remedy="Give the words of each chain, and one row for each word.",
        )
    return lengths.astype(np.int64)


def as_chains(X, labels, chains) -> Problem:
    """Check labelled chains and return a Problem with one task per class.

    Parameters
    ----------
    X : array or sparse array (n, p)
        One row per word, chain after chain.
    labels : array (n,)
        Class of each word, whole numbers or strings. Classes are sorted.
    chains : array (c,) of int
        Number of words of each chain.

    Raises
    ------
    DataError
        If shapes disagree, a value is not finite, a chain is empty, or there is only one class.
    """
    if is_list_of_designs(X):
        raise DataError("chains need one design for all classes.", remedy="Give X as one array.")
    design = as_matrix(X, "X")
    lengths = check_lengths(chains, design.shape[0])
    words = _labels(labels)
    if len(words) != design.shape[0]:
        raise DataError(f"X has {design.shape[0]} rows but y has {len(words)} labels.")
    classes, place = np.unique(words, return_inverse=True)
    if len(classes) < 2:
        raise DataError(
            f"all words have the label {classes[0]}; chains need two classes or more, since every"
            " model of one class fits it perfectly."
        )
    y = tuple((place == k).astype(np.float64) for k in range(len(classes)))
    names = tuple(map(str, classes))
    check_feature_sizes(design)
    return Problem((design,) * len(classes), y, chains=lengths, class_names=names)


def _labels(labels) -> np.ndarray:
    """Return one whole number or string per word, all of one kind."""
    check_not_masked(labels, "y")
    # NumPy would convert the numbers of a mixed list to strings.
    if isinstance(labels, (list, tuple)) and len({isinstance(word, str) for word in labels}) > 1:
        raise _different_kinds()
    try:
        words = np.asarray(labels)
    except ValueError:
        words = np.zeros((0, 0))
    if words.ndim != 1:
        raise DataError("y must hold one label for each word.")
    if words.dtype == object:
        kinds = {str if isinstance(word, str) else type(word) for word in words}
        if len(kinds) != 1:
            raise _different_kinds()
        words = np.array(words.tolist())
    numeric = words.dtype.kind == "f"
    if words.dtype.kind not in "biufUS" or (numeric and not np.isfinite(words).all()):
        raise DataError("a label must be a number or a text.")
    if numeric:
        broken = words[words != np.floor(words)]
        if len(broken):
            raise DataError(
                f"a label is {broken[0]:g}: labels are classes, whole numbers or texts.",
                remedy="Give the class of each word, or use the squared loss without chains.",
            )
    return words


def _different_kinds() -> DataError:
    return DataError("the labels are of different kinds.", remedy="Give texts or numbers.")
