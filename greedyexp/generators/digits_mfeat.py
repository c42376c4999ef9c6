"""Handwritten digits as ten regressions that share their features."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from greedyexp.core.registry import generator
from greedyexp.datasets import places
from greedyexp.datasets.digits_mfeat import DATASET, N_DIGITS, load
from greedyexp.problems.problem import Problem, shared_design_shape
from greedyexp.problems.scaling import standardised

_PER_DIGIT = 200


def _shape(*, samples_per_digit) -> dict:
    p = sum(member.shape[1] for member in DATASET.members)
    return shared_design_shape(p, n_tasks=N_DIGITS, n_samples=N_DIGITS * samples_per_digit)


@generator(
    "digits_mfeat",
    title="Handwritten digits",
    paper="Jalali & Sanghavi 2012, section 4.2",
    provides=("multi_task", "test_rows", "labels"),
    shape=_shape,
    reads=lambda **_: places.paths(DATASET),
    facts=("n_samples", "n_test", "constant_features"),
    left_out=lambda *, samples_per_digit: 1 - samples_per_digit / _PER_DIGIT,
)
def digits_mfeat(
    rng: np.random.Generator,
    *,
    samples_per_digit: Annotated[
        int, Field(ge=2, le=199, description="training rows of each digit, out of 200")
    ] = 20,
) -> Problem:
    """Ten tasks, one for each digit: 1 on the rows of that digit, 0 on the others, centred.

    The data are UCI's Multiple Features: 2000 digits, 649 features, shared by all tasks
    (`greedyexp data fetch digits_mfeat`). Each replicate draws its own split: the given number of
    training rows of each digit; all others are test rows.

    On the training rows, features have mean 0 and mean square 1, and responses have mean 0. The
    test rows are shifted and scaled by the same numbers, which do not depend on them. A feature
    that is constant on the training rows is zero everywhere.

    The paper takes "n/10 samples from each digit" and prints n = 10, 20, 40. With one sample of
    each digit no method can select the published supports; they agree with n samples *per digit*.

    Columns
    -------
    constant_features
        Number of features that are constant on the training rows.
    """
    X, labels = load()
    train, test = _split(rng, labels, samples_per_digit)
    fitted, held, _, constant = standardised(X[train], X[test])
    indicators = (labels == np.arange(N_DIGITS)[:, None]).astype(float)
    centred = indicators - indicators[:, train].mean(axis=1, keepdims=True)
    return Problem(
        (fitted,) * N_DIGITS,
        tuple(centred[:, train]),
        facts={"n_samples": len(train), "n_test": len(test), "constant_features": len(constant)},
        X_test=(held,) * N_DIGITS,
        y_test=tuple(centred[:, test]),
    )


def _split(rng, labels: np.ndarray, per_digit: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw the training rows, the same number of each digit; all others are test rows."""
    orders = [rng.permutation(np.flatnonzero(labels == digit)) for digit in range(N_DIGITS)]
    train = np.sort(np.concatenate([order[:per_digit] for order in orders]))
    test = np.sort(np.concatenate([order[per_digit:] for order in orders]))
    return train, test
