"""Chains of labelled words, and the problem of fitting to some of them and testing on the rest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from greedyexp.core.errors import DataError
from greedyexp.problems.problem import Problem

TRAITS = ("multi_task", "labels", "chains", "test_rows")

Representation = Annotated[
    Literal["last_fired", "raw"],
    Field(description="of a sample: the sensor that fired last, or all that were on in it"),
]
TrainShare = Annotated[
    float,
    Field(gt=0, lt=1, description="share of the days, drawn in each replicate, to fit to"),
]


@dataclass(frozen=True)
class LabelledChains:
    """Words one after the other, cut into chains.

    Parameters
    ----------
    X : array (n, p)
        What is observed at each word.
    labels : int array (n,)
        Class of each word, 0 to r - 1.
    lengths : int array (c,)
        Words of each chain, at least one; they sum to n.
    feature_names, class_names : tuples of p and r str
    """

    X: np.ndarray
    labels: np.ndarray
    lengths: np.ndarray
    feature_names: tuple[str, ...]
    class_names: tuple[str, ...]

    def part(self, kept: np.ndarray) -> LabelledChains:
        """Some of the chains, by a bool array (c,), in their order."""
        word = np.repeat(kept, self.lengths)
        return replace(self, X=self.X[word], labels=self.labels[word], lengths=self.lengths[kept])


def require_two_days(record: LabelledChains, place: str | None = None) -> None:
    """Refuse a record that cannot be split.

    Raises
    ------
    DataError
        When it has a single chain.
    """
    if len(record.lengths) < 2:
        raise DataError(
            "the record spans one day; one to fit to and one to test on are needed.",
            place=place,
            remedy="Use a longer record.",
        )


def split_days(
    rng: np.random.Generator, record: LabelledChains, train_share: float, **facts
) -> Problem:
    """A problem that fits to a share of the chains, drawn at random, and tests on all others.

    Both get at least one chain.

    Parameters
    ----------
    **facts
        Scalars beside the numbers of words.

    Raises
    ------
    DataError
        When there is a single chain.
    """
    require_two_days(record)
    count = len(record.lengths)
    n_train = min(max(round(train_share * count), 1), count - 1)
    train = np.zeros(count, dtype=bool)
    train[rng.choice(count, size=n_train, replace=False)] = True
    return pose(record.part(train), record.part(~train), **facts)


def pose(fitted: LabelledChains, held: LabelledChains, **facts) -> Problem:
    """One task for each class, 1 on its words and 0 on all others.

    Parameters
    ----------
    fitted, held : LabelledChains
        What to fit to and to test on, of the same features and classes.
    **facts
        Scalars beside the numbers of words.
    """
    n_classes = len(fitted.class_names)
    return Problem(
        (fitted.X,) * n_classes,
        _indicators(fitted.labels, n_classes),
        facts={"n_samples": len(fitted.labels), "n_test": len(held.labels), **facts},
        X_test=(held.X,) * n_classes,
        y_test=_indicators(held.labels, n_classes),
        chains=fitted.lengths,
        chains_test=held.lengths,
        feature_names=fitted.feature_names,
        class_names=fitted.class_names,
    )


def _indicators(labels: np.ndarray, n_classes: int) -> tuple[np.ndarray, ...]:
    """Rows of one array (r, n)."""
    return tuple((labels == np.arange(n_classes)[:, None]).astype(float))
