"""One sparse regression with a Gaussian design."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from greedyexp.generators._signals import Values, draw_values
from greedyexp.problem import Problem
from greedyexp.registry import generator


def _check(*, p, sparsity, **_):
    if sparsity > p:
        raise ValueError(f"sparsity {sparsity} is larger than p = {p}.")


@generator(
    "gaussian",
    title="Sparse regression with a Gaussian design",
    paper="Wainwright 2009",
    provides=("truth", "noise_std"),
    check=_check,
    shape=lambda n_samples, p, **_: {"n_tasks": 1, "n_samples": n_samples, "n_features": p},
)
def gaussian(
    rng: np.random.Generator,
    *,
    n_samples: Annotated[int, Field(ge=2, description="number of observations, n")] = 100,
    p: Annotated[int, Field(ge=1, description="number of features")] = 200,
    sparsity: Annotated[int, Field(ge=0, description="number of nonzero coefficients, s")] = 10,
    correlation: Annotated[
        float, Field(gt=-1, lt=1, description="rho of the covariance rho^|i-j| of the columns")
    ] = 0.0,
    values: Annotated[Values, Field(description="law of the nonzero coefficients")] = "sign",
    noise_std: Annotated[float, Field(ge=0, description="standard deviation of the noise")] = 0.1,
) -> Problem:
    """Rows N(0, Sigma) with Sigma_ij = correlation^|i-j|, supports uniform over all subsets."""
    truth = np.zeros((p, 1))
    support = rng.choice(p, size=sparsity, replace=False)
    truth[support, 0] = draw_values(rng, values, sparsity)
    X = rng.standard_normal((n_samples, p))
    if correlation:
        # A stationary AR(1) process along the columns has exactly this covariance.
        innovation = np.sqrt(1 - correlation**2)
        for j in range(1, p):
            X[:, j] = correlation * X[:, j - 1] + innovation * X[:, j]
    y = X @ truth[:, 0] + noise_std * rng.standard_normal(n_samples)
    return Problem((X,), (y,), truth, noise_std, sparsity)
