"""A label that many features predict together, each with little information."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from greedyexp.core.registry import generator
from greedyexp.generators import signs
from greedyexp.problems.moments import SpreadMoments
from greedyexp.problems.problem import Problem, shared_design_shape
from greedyexp.theory.spread_label import mean_absolute_error

MOST_FEATURES = 1_000_000


def _wanted(truth_l1_norm: float, accuracy: float, accuracy_of: str) -> float:
    """Return B1^2 / l or B1^2 / l^2, infinite if it overflows."""
    ratio = truth_l1_norm / accuracy
    return ratio * ratio if accuracy_of == "absolute" else ratio * truth_l1_norm


def _n_features(truth_l1_norm: float, accuracy: float, accuracy_of: str) -> int:
    # Values such as 3^2 / 0.1 are integers up to rounding.
    return math.ceil(_wanted(truth_l1_norm, accuracy, accuracy_of) * (1.0 - 1e-12))


def _check(*, n_samples, truth_l1_norm, accuracy, accuracy_of) -> None:
    signs.check_samples(n_samples)
    wanted = _wanted(truth_l1_norm, accuracy, accuracy_of)
    if wanted > MOST_FEATURES:
        raise ValueError(
            f"truth_l1_norm = {truth_l1_norm:g} and accuracy = {accuracy:g} take {wanted:.3g}"
            f" features, more than {MOST_FEATURES}."
        )


def _provides(*, n_samples, **_) -> tuple[str, ...]:
    return ("truth", "moments", "spread_label", "labels" if n_samples else "population")


def _shape(*, n_samples, **others) -> dict:
    return shared_design_shape(_n_features(**others), n_samples=n_samples)


@generator(
    "spread_label",
    title="A label spread over many features",
    paper="Shalev-Shwartz, Srebro & Zhang 2009, Theorems 6 and 7, Section A.8",
    provides=_provides,
    check=_check,
    shape=_shape,
    facts=("n_features", "truth_l1_norm", "a", "dense_error"),
)
def spread_label(
    rng: np.random.Generator,
    *,
    n_samples: signs.Samples = 0,
    truth_l1_norm: Annotated[
        float, Field(gt=1, description="B1, the l1 norm of the dense predictor; theorems: > 2")
    ] = 3.0,
    accuracy: Annotated[
        float,
        Field(gt=0, le=1, description="l, an upper bound on the error of the dense predictor"),
    ] = 0.1,
    accuracy_of: Annotated[
        Literal["squared", "absolute"], Field(description="the mean error that l bounds")
    ] = "squared",
) -> Problem:
    """A label y uniform on {-1, 1} and d features that agree with it slightly more often than not.

    Given y the features are independent; each equals y with probability (1 + a) / 2, a = 1 / B1.
    There are d = ceil(B1^2 / l) of them for the squared error (<w, x> - y)^2 and ceil(B1^2 / l^2)
    for |<w, x> - y|. The truth is the dense predictor with all coefficients 1 / (d a). Its l1 norm
    is B1, and its mean error is less than l. Predictors with few
    features have a large error; for B1 > 2 the theorems bound it from below.

    E[x x^T] = (1 - a^2) I + a^2 11^T, E[y x] = a 1 and E[y^2] = 1. The best predictor with k
    features has equal coefficients and mean squared error (1 - a^2) / (1 - a^2 + a^2 k). With
    ``n_samples: 0`` there are no rows, only these moments, and nothing is drawn.

    Columns
    -------
    a
        1 / B1: each feature equals y with probability (1 + a) / 2.
    dense_error
        Exact mean error of the dense predictor.
    """
    d, a = _n_features(truth_l1_norm, accuracy, accuracy_of), 1.0 / truth_l1_norm
    facts = {
        "n_features": d,
        "truth_l1_norm": truth_l1_norm,
        "a": a,
        "dense_error": _dense_error(d, truth_l1_norm, accuracy_of),
    }
    y = signs.draw_signs(rng, n_samples)
    X = y[:, None] * signs.draw_flips(rng, (1.0 - a) / 2.0, n_samples, d)
    spread = np.full(d, a)
    return Problem(
        (X,),
        (y,),
        np.full((d, 1), 1.0 / (d * a)),
        sparsity=d,
        facts=facts,
        moments=SpreadMoments(np.full(d, 1.0 - a * a), spread, spread, 1.0),
    )


def _dense_error(d: int, truth_l1_norm: float, accuracy_of: str) -> float:
    """Mean error of the dense predictor."""
    if accuracy_of == "squared":
        return (truth_l1_norm - 1.0) * (truth_l1_norm + 1.0) / d
    return mean_absolute_error(np.full(d, truth_l1_norm / d), truth_l1_norm).value
