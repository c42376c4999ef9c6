"""Chains of labelled words: their lengths, the classes of words, the weights between classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from greedyexp.core.errors import DataError
from greedyexp.problems.checks import refuse_feature_sizes
from greedyexp.problems.problem import Problem, as_matrix, lists_designs, refuse_masked


class ChainWeights(NamedTuple):
    """The dense parameters of a model of chains with r classes.

    Parameters
    ----------
    start, end : array (r,)
        Of the class of the first and the last word.
    transition : array (r, r)
        Of going from a class (row) to the next (column).
    """

    start: np.ndarray
    end: np.ndarray
    transition: np.ndarray


def chain_weights(dense: np.ndarray, n_classes: int) -> ChainWeights:
    """The parts of dense parameters (r (r + 2),), which are one after the other, as views."""
    r = n_classes
    return ChainWeights(dense[:r], dense[r : 2 * r], dense[2 * r :].reshape(r, r))


def classes_of(indicators: Sequence[np.ndarray]) -> np.ndarray:
    """The class of each word (n,) from the indicators (n,) of every class."""
    return np.argmax(np.stack(indicators), axis=0)


def check_lengths(chains, n_words: int) -> np.ndarray:
    """Lengths of chains as int64, after making sure that they divide ``n_words`` words.

    Raises
    ------
    DataError
        When they are no list of whole numbers of at least 1 or do not sum to the number of words.
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
    """Check sequences of labelled words and make a Problem of them, one task for each class.

    Parameters
    ----------
    X : array or sparse array (n, p)
        One row for each word, the chains one after the other.
    labels : array (n,)
        The class of each word, whole numbers or texts; classes are sorted.
    chains : array (c,) of int
        Words of each chain.

    Raises
    ------
    DataError
        When shapes disagree, a value is not finite, a chain is empty, or there is one class only.
    """
    if lists_designs(X):
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
    refuse_feature_sizes(design)
    return Problem((design,) * len(classes), y, chains=lengths, class_names=names)


def _labels(labels) -> np.ndarray:
    """One whole number or text for each word, all of one kind."""
    refuse_masked(labels, "y")
    # NumPy makes texts of the numbers in a list with both.
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
