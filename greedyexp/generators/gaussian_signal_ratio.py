"""One sparse regression with an exact ratio of the weakest coefficient to the noise."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from greedyexp.core.registry import generator
from greedyexp.generators._regression import single_design, stationary
from greedyexp.problems.problem import Problem


def _check(*, n_samples, p, sparsity, **_) -> None:
    if sparsity >= p:
        raise ValueError(f"sparsity = {sparsity} leaves no other feature of p = {p}.")
    if sparsity >= n_samples:
        raise ValueError(
            f"sparsity = {sparsity} with n_samples = {n_samples} leaves no room for a residual."
        )


@generator(
    "gaussian_signal_ratio",
    title="Gaussian design with an exact signal ratio",
    paper="Liu, Fujimaki & Ye 2014, Theorems 4 and 5",
    provides=("truth",),
    check=_check,
    shape=lambda *, n_samples, p, **_: single_design(n_samples, p),
    facts=("residual_rms",),
)
def gaussian_signal_ratio(
    rng: np.random.Generator,
    *,
    signal_ratio: Annotated[
        float, Field(gt=0, description="min |b_j| on the support / ||grad Q(b)||_inf")
    ] = 10.0,
    n_samples: Annotated[int, Field(ge=2, description="number of observations, n")] = 100,
    p: Annotated[int, Field(ge=2, description="number of features")] = 200,
    sparsity: Annotated[int, Field(ge=1, description="number of nonzero coefficients")] = 10,
    strongest: Annotated[
        float, Field(ge=1, description="largest possible coefficient; the weakest is 1")
    ] = 3.0,
    correlation: Annotated[
        float, Field(gt=-1, lt=1, description="rho of the covariance rho^|i-j| of the columns")
    ] = 0.0,
) -> Problem:
    """y = X b + e, b the least-squares fit on its own support, at a given distance from the noise.

    With Q(b) = ||y - X b||^2 / (2 n) the theorems of forward-backward selection compare the weakest
    coefficient of b with max_j |x_j^T e| / n = ||grad Q(b)||_inf, and here the ratio of the two is
    exactly ``signal_ratio``. Columns of X are Gaussian and scaled to ||x_j||^2 = n, so every
    curvature of Q along a coordinate is 1. The support is drawn uniformly, signs are +-1, one
    |b_j| is 1 and the others U[1, strongest]. e is standard Gaussian noise projected off the span
    of the support and scaled; ``residual_rms`` is ||e|| / sqrt(n).
    """
    X = stationary(rng, n_samples, p, correlation)
    X *= np.sqrt(n_samples) / np.linalg.norm(X, axis=0)
    support = rng.choice(p, size=sparsity, replace=False)
    sizes = rng.uniform(1.0, strongest, size=sparsity)
    sizes[0] = 1.0
    truth = np.zeros((p, 1))
    truth[support, 0] = sizes * rng.choice([-1.0, 1.0], size=sparsity)
    noise, basis = rng.standard_normal(n_samples), np.linalg.qr(X[:, support])[0]
    residual = noise - basis @ (basis.T @ noise)
    gradient = np.abs(np.delete(X, support, axis=1).T @ residual).max() / n_samples
    residual /= gradient * signal_ratio
    facts = {"residual_rms": float(np.sqrt(np.mean(residual**2)))}
    return Problem((X,), (X @ truth[:, 0] + residual,), truth, sparsity=sparsity, facts=facts)
