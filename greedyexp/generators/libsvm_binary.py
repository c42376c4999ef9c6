"""Incomes and web pages, each in two classes, with sparse binary features."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from greedyexp.core.registry import generator
from greedyexp.datasets import places
from greedyexp.datasets.libsvm_binary import load, of
from greedyexp.problems.problem import Problem, shared_design_shape

Name = Literal["a1a", "a2a", "w1a"]


def _shape(*, dataset) -> dict:
    n_samples, p = of(dataset).members[0].shape
    return shared_design_shape(p, n_samples=n_samples)


@generator(
    "libsvm_binary",
    title="LIBSVM's binary sets",
    paper="Liu, Fujimaki & Ye 2014, Table 4; data of LIBSVM",
    provides=("labels", "test_rows", "sparse"),
    shape=_shape,
    reads=lambda *, dataset: places.paths(of(dataset)),
    facts=("n_samples", "n_test", "n_features"),
    left_out=lambda **_: 0.0,
)
def libsvm_binary(
    rng: np.random.Generator,
    *,
    dataset: Annotated[Name, Field(description="incomes (a1a, a2a) or web pages (w1a)")] = "a1a",
) -> Problem:
    """LIBSVM's training and test rows; labels 1 and -1, features 0 and 1.

    The data are LIBSVM's (`greedyexp data fetch libsvm_binary`): a1a has 1605 training and
    30956 test rows, a2a 2265 and 30296, both with 123 features; w1a has 2477 and 47272, with 300.
    Designs are sparse and neither centred nor scaled. Nothing is drawn: every replicate is the
    same, so one trial is enough.

    About 3% of the pages of w1a are of class 1. The paper prints 2205 training rows for a2a.
    """
    data = load(dataset)
    facts = {
        "n_samples": len(data.labels),
        "n_test": len(data.labels_test),
        "n_features": data.X.shape[1],
    }
    return Problem(
        (data.X,),  # type: ignore[arg-type]  # designs may be sparse
        (data.labels,),
        facts=facts,
        X_test=(data.X_test,),  # type: ignore[arg-type]
        y_test=(data.labels_test,),
    )
