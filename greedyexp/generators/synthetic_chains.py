"""Sentences of labelled words, drawn as in the toolbox that the paper names."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from greedyexp.core.errors import DataError
from greedyexp.core.registry import generator
from greedyexp.generators._labelled_chains import TRAITS, LabelledChains, chain_problem
from greedyexp.problems.problem import Problem, shared_design_shape

# Feature f takes the values 0 to LARGEST[f]; 0 means that it is absent.
LARGEST = (2, 3, 4, 5)
_N_CLASSES = 4

# Contribution of a feature with the value s to the weight of class s.
_STRENGTH = 10.0 ** np.arange(_N_CLASSES)


@generator(
    "synthetic_chains",
    title="Synthetic sentences",
    paper="Liu, Fujimaki & Ye 2014, appendix D.2; generator of M. Schmidt's crfChain",
    provides=TRAITS,
    shape=lambda **_: shared_design_shape(sum(LARGEST), n_tasks=_N_CLASSES),
    facts=("n_samples", "n_test", "n_sentences"),
)
def synthetic_chains(
    rng: np.random.Generator,
    *,
    n_words: Annotated[
        int, Field(ge=3, description="length of the sequence, including labels that end sentences")
    ] = 800,
) -> Problem:
    """Sentences of words with four categorical features and one of four labels.

    One long sequence is drawn. Feature f of a word is uniform on 0 to m_f, m = (2, 3, 4, 5), where
    0 means that it is absent; each of the 14 other values is a column of X, 1 if a word has it.
    The next label is drawn with probabilities proportional to weights. The weight of class s is
    10^(s-1) times the number of features with the value s; that of the previous label is at least
    a tenth of the largest weight. Label 0 ends a sentence: its weight is 0 after itself and at the
    start, half the largest after class 4, and otherwise a tenth of it. A word whose features give
    all classes the weight 0 (one of 180) is drawn again.

    Label 0 only separates sentences: it is not a word, and its features are left out. This removes
    about 13% of the sequence: n_words = 800 gives about 106 sentences of 6.6 words, 694 words in
    all. The first half of the sentences (rounded up) is for training; the second half is for
    testing. The demonstration of the toolbox draws 1000 words, the paper 800.

    A chain model of these data has 14 x 4 = 56 weights of observations, and 4 + 4 + 16 of starts,
    ends and transitions.

    Columns
    -------
    n_sentences
        Number of sentences, for training and testing together.
    """
    values = _values(rng, n_words)
    sequence = _labels(rng.random(n_words), _weights(values))
    word = sequence > 0
    # Every 0 ends a sentence; the end of the sequence ends the last one.
    sentence = np.cumsum(~word)[word]
    lengths = np.unique(sentence, return_counts=True)[1]
    if len(lengths) < 2:
        raise DataError(
            f"the {n_words} words drawn make one sentence; at least two are needed, for"
            " training and for testing.",
            remedy="Raise n_words.",
        )
    record = LabelledChains(_one_hot(values[word]), sequence[word] - 1, lengths, *_names())
    train = np.arange(len(lengths)) < (len(lengths) + 1) // 2
    return chain_problem(record.part(train), record.part(~train), n_sentences=len(lengths))


def _values(rng: np.random.Generator, n_words: int) -> np.ndarray:
    """Draw features of words, int array (n_words, 4), with a value from 1 to 4 in each row."""
    highest = np.array(LARGEST) + 1
    values = rng.integers(0, highest, (n_words, len(LARGEST)))
    while (empty := ~_weights(values).any(axis=1)).any():
        values[empty] = rng.integers(0, highest, (int(empty.sum()), len(LARGEST)))
    return values


def _weights(values: np.ndarray) -> np.ndarray:
    """Unnormalised weights of the four classes at each word, (n_words, 4)."""
    counts = (values[:, :, None] == np.arange(1, _N_CLASSES + 1)).sum(axis=1)
    return counts * _STRENGTH


def _labels(uniforms: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Labels 0 to 4 of the sequence, int array (n_words,)."""
    labels = np.zeros(len(uniforms), dtype=np.int64)
    before = 0
    for t, (uniform, row) in enumerate(zip(uniforms, weights, strict=True)):
        # The first weight is that of label 0; raising another to a tenth keeps the largest.
        all_weights = np.array([0.0, *row])
        largest = row.max()
        if before > 0:
            all_weights[before] = max(row[before - 1], largest / 10)
            all_weights[0] = largest / 2 if before == _N_CLASSES else largest / 10
        cumulative = np.cumsum(all_weights)
        before = int(np.searchsorted(cumulative, uniform * cumulative[-1], side="right"))
        labels[t] = before
    return labels


def _one_hot(values: np.ndarray) -> np.ndarray:
    """Columns for the values other than 0 of each feature, (n, 14)."""
    return np.hstack(
        [values[:, [f]] == np.arange(1, largest + 1) for f, largest in enumerate(LARGEST)]
    ).astype(float)


def _names() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the 14 columns and of the four classes."""
    features = tuple(
        f"feature {f} = {value}"
        for f, largest in enumerate(LARGEST, 1)
        for value in range(1, largest + 1)
    )
    return features, tuple(str(s) for s in range(1, _N_CLASSES + 1))
