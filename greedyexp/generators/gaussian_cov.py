"""One sparse regression with independent Gaussian features of unequal variances."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from greedyexp.core.registry import generator
from greedyexp.generators._regression import (
    AspectRatio,
    Features,
    check_features,
    draw_truth,
    n_features,
    respond,
    shape,
)
from greedyexp.problems.problem import Problem

Covariance = Literal["identity", "harmonic", "one_small", "one_large"]


@generator(
    "gaussian_cov",
    title="Gaussian features of unequal variances",
    paper="Moucer, Taylor & Bach 2024, figure 7",
    provides=("truth", "noise_std"),
    check=check_features,
    shape=shape,
    facts=("n_features",),
)
def gaussian_cov(
    rng: np.random.Generator,
    *,
    covariance: Annotated[
        Covariance,
        Field(
            description="variances of the features: all 1; 1, 1/2, ..., 1/p; the last 1/100;"
            " the last 100"
        ),
    ] = "identity",
    n_samples: Annotated[int, Field(ge=2, description="number of observations, n")] = 50,
    p: Features = None,
    aspect_ratio: AspectRatio = None,
    sparsity: Annotated[int, Field(ge=0, description="number of nonzero coefficients, s")] = 5,
    noise_std: Annotated[float, Field(ge=0, description="standard deviation of the noise")] = 0.5,
) -> Problem:
    """Rows N(0, D) with D diagonal, sparse coefficients +-1 on a uniformly drawn support.

    y = X truth + N(0, noise_std^2 I). The variances are those of the paper, where they show how
    much constants of the l1 geometry differ from those of the l2 geometry. The paper writes P for
    X, d for p and r for aspect_ratio.
    """
    p = n_features(n_samples, p, aspect_ratio)
    truth = draw_truth(rng, p, sparsity, "sign")
    X = rng.standard_normal((n_samples, p)) * np.sqrt(variances(covariance, p))
    y = respond(rng, X, truth, noise_std)
    return Problem((X,), (y,), truth, noise_std, sparsity, facts={"n_features": p})


def variances(covariance: Covariance, p: int) -> np.ndarray:
    """The diagonal of D, shape (p,)."""
    if covariance == "harmonic":
        return 1 / np.arange(1.0, p + 1)
    diagonal = np.ones(p)
    diagonal[-1] = {"identity": 1.0, "one_small": 1 / 100, "one_large": 100.0}[covariance]
    return diagonal
