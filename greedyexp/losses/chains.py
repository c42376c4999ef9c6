"""Labelled chains as the rows of one array: what they must be, and sums over each."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from greedyexp.errors import DataError


def check_chains(chains, n_words: int) -> np.ndarray:
    """Lengths of chains as int64, after making sure that they divide ``n_words`` words.

    Raises
    ------
    DataError
        When a length is not a positive integer or they do not sum to the number of words.
    """
    lengths = np.asarray(chains)
    if lengths.ndim != 1 or lengths.size == 0:
        raise DataError("chains must be a list of at least one length.")
    whole = lengths.astype(np.int64)
    if not np.array_equal(whole, lengths) or whole.min() < 1:
        bad = int(np.flatnonzero((whole != lengths) | (whole < 1))[0])
        raise DataError(
            f"chain {bad} has length {lengths[bad]}.", remedy="Leave out chains without words."
        )
    if whole.sum() != n_words:
        raise DataError(f"the chains have {whole.sum()} words in all, but X has {n_words} rows.")
    return whole


def check_labels(labels, n_words: int, n_classes: int) -> np.ndarray:
    """Labels as int64, after making sure that they are classes 0 to r - 1, one for each word.

    Raises
    ------
    DataError
    """
    labels = np.asarray(labels)
    if labels.shape != (n_words,):
        raise DataError(f"labels have shape {labels.shape}; X has {n_words} rows.")
    whole = labels.astype(np.int64)
    bad = np.flatnonzero((whole != labels) | (whole < 0) | (whole >= n_classes))
    if bad.size:
        raise DataError(
            f"the label of word {bad[0]} is {labels[bad[0]]}.",
            remedy=f"Labels are the integers 0 to {n_classes - 1}.",
        )
    return whole


def sums_by_chain(X, offsets: np.ndarray) -> np.ndarray:
    """Sums of the rows of each chain, (c, p)."""
    n_chains = len(offsets) - 1
    words = np.arange(offsets[-1])
    chain = np.repeat(np.arange(n_chains), np.diff(offsets))
    member = scipy.sparse.csr_array(
        (np.ones(len(words)), (chain, words)), shape=(n_chains, len(words))
    )
    total = member @ X
    return total.toarray() if scipy.sparse.issparse(total) else total
