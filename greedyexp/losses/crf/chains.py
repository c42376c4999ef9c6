"""Labels of words in chains, and sums over each chain."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from greedyexp.core.errors import DataError


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
