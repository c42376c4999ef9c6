"""One sparse regression with a Gaussian design."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from greedyexp.core.registry import generator
from greedyexp.generators._regression import (
    AspectRatio,
    Features,
    Values,
    check_features,
    draw_truth,
    n_features,
    respond,
    shape,
    stationary,
)
from greedyexp.problems.problem import Problem


@generator(
    "gaussian",
    title="Sparse regression with a Gaussian design",
    paper="Wainwright 2009; Moucer, Taylor & Bach 2024, section 2.3",
    provides=("truth", "noise_std"),
    check=check_features,
    shape=shape,
    facts=("n_features",),
)
def gaussian(
    rng: np.random.Generator,
    *,
    n_samples: Annotated[int, Field(ge=2, description="number of observations, n")] = 100,
    p: Features = None,
    aspect_ratio: AspectRatio = None,
    sparsity: Annotated[int, Field(ge=0, description="number of nonzero coefficients, s")] = 10,
    correlation: Annotated[
        float, Field(gt=-1, lt=1, description="rho of the covariance rho^|i-j| of the columns")
    ] = 0.0,
    values: Annotated[Values, Field(description="law of the nonzero coefficients")] = "sign",
    noise_std: Annotated[float, Field(ge=0, description="standard deviation of the noise")] = 0.1,
    start: Annotated[
        Literal["zero", "gaussian"],
        Field(description="where iterative methods begin: at zero or at N(0, I)"),
    ] = "zero",
) -> Problem:
    """Rows N(0, Sigma) with Sigma_ij = correlation^|i-j|, supports uniform over all subsets.

    y = X truth + N(0, noise_std^2 I). Moucer, Taylor & Bach write P for X, d for p, r for
    aspect_ratio and sigma for noise_std; they take n = 50, s = 8, sigma = 0.5 and independent
    columns.
    """
    p = n_features(n_samples, p, aspect_ratio)
    truth = draw_truth(rng, p, sparsity, values)
    X = stationary(rng, n_samples, p, correlation)
    y = respond(rng, X, truth, noise_std)
    begin = rng.standard_normal((p, 1)) if start == "gaussian" else None
    return Problem((X,), (y,), truth, noise_std, sparsity, facts={"n_features": p}, start=begin)
