"""Chains of labelled words: their lengths, the classes of words, the weights between classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from greedyexp.core.errors import DataError


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
