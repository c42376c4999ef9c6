"""Forward-backward and Viterbi over labelled chains.

Words of all chains are rows one after the other; chain c has the rows ``offsets[c]`` to
``offsets[c + 1]``. The rows of scores are padded to a multiple of ``GROUP`` states. Sums use scaled
probabilities where these are accurate, and logarithms elsewhere.
"""

from __future__ import annotations

import numpy as np

from greedyexp.kernels import native

# Rows of scores are padded to a multiple of this number of states.
GROUP: int = native.chain_pass.GROUP


def log_partition(
    scores: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
    transition: np.ndarray,
    offsets: np.ndarray,
) -> float:
    """Return the sum over chains of the logarithm of the partition function.

    Parameters
    ----------
    scores : array (n, R)
        Scores of each word and state, padded; overwritten.
    start, end : arrays (r,)
    transition : array (r, r)
        From the row's state to the column's.
    offsets : int array (c + 1,)
    """
    return native.chain_pass.log_partition(scores, start, end, transition, offsets)


def forward_backward(
    scores: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
    transition: np.ndarray,
    offsets: np.ndarray,
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Return the same sum as ``log_partition``, with the marginals.

    Parameters
    ----------
    scores, start, end, transition, offsets
        As for ``log_partition``. On return, row t of ``scores`` and row t - 1 of ``forward`` are
        factors u and f: word t - 1 has state i and word t state j with probability
        f_i exp(transition_ij - largest) u_j. u is zero in the first word of a chain.

    Returns
    -------
    total : float
        The sum of ``log_partition``.
    forward : array (n, R)
        Filtered probabilities.
    posterior : array (n, R)
        Probabilities of the states of each word.
    pairs : array (r, r)
        Expected transitions of chains computed with logarithms; their u are 0.
    """
    forward, posterior = np.empty_like(scores), np.empty_like(scores)
    pairs = np.zeros_like(transition)
    total = native.chain_pass.forward_backward(
        scores, start, end, transition, offsets, forward, posterior, pairs
    )
    return total, forward, posterior, pairs


def best_sequences(
    scores: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
    transition: np.ndarray,
    offsets: np.ndarray,
) -> np.ndarray:
    """Return the sequences of states with the largest total score; ties go to the lowest state.

    Parameters
    ----------
    scores : array (n, >= r)
        Scores of each word and state; further columns are ignored.
    start, end : arrays (r,)
    transition : array (r, r)
    offsets : int array (c + 1,)

    Returns
    -------
    int array (n,)
    """
    labels = np.empty(len(scores), np.int64)
    native.chain_pass.best_sequences(scores, start, end, transition, offsets, labels)
    return labels
