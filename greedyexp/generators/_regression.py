"""Parts of synthetic regressions: sizes, coefficients, designs and responses."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
import scipy
from pydantic import Field

from greedyexp.problems.problem import shared_design_shape

_DEFAULT = 200

Features = Annotated[
    int | None,
    Field(ge=1, description=f"number of features; {_DEFAULT} if aspect_ratio is not given either"),
]
AspectRatio = Annotated[
    float | None,
    Field(gt=0, le=1e9, description="p / n_samples, instead of p; p is rounded"),
]

Rows = Annotated[int, Field(ge=2, description="number of observations, n")]
Sparsity = Annotated[int, Field(ge=0, description="number of nonzero coefficients, s")]
Correlation = Annotated[
    float, Field(gt=-1, lt=1, description="rho of the covariance rho^|i-j| of the columns")
]
NoiseStd = Annotated[float, Field(ge=0, description="standard deviation of the noise")]
Values = Annotated[
    Literal["sign", "gaussian", "away_from_zero", "decaying"],
    Field(
        description="law of the nonzero coefficients: +-1, N(0, 1), N(0, 1) without the values"
        " between -0.2 and 0.2, or random signs times sizes that decay geometrically from 1 to 0.3"
    ),
]

# Size of the smallest coefficient that is away from zero.
_LEAST = 0.2

# Size of the smallest of several decaying coefficients.
_SMALLEST = 0.3


def n_features(n_samples: int, p: int | None, aspect_ratio: float | None) -> int:
    """Return the number of features; halves are rounded up."""
    if aspect_ratio is not None:
        return math.floor(aspect_ratio * n_samples + 0.5)
    return _DEFAULT if p is None else p


def check_features(*, n_samples, p, aspect_ratio, sparsity, **_) -> None:
    """Raise ValueError if p and aspect_ratio are both given, or p is less than the sparsity."""
    if p is not None and aspect_ratio is not None:
        raise ValueError("p and aspect_ratio both set the number of features; give one of them.")
    features = n_features(n_samples, p, aspect_ratio)
    if aspect_ratio is None:
        if sparsity > features:
            raise ValueError(f"sparsity {sparsity} is larger than p = {features}.")
        return
    cause = f"aspect_ratio = {aspect_ratio:g} gives p = {features} at n_samples = {n_samples}"
    if features < 1:
        raise ValueError(f"{cause}; at least one feature is needed.")
    if sparsity > features:
        raise ValueError(f"{cause}, which is less than sparsity {sparsity}.")


def shape(*, n_samples: int, p: int | None, aspect_ratio: float | None = None, **_) -> dict:
    """Shape of a problem with one task, from the parameters of its generator."""
    return shared_design_shape(n_features(n_samples, p, aspect_ratio), n_samples=n_samples)


def draw_values(rng: np.random.Generator, law: str, size: int) -> np.ndarray:
    """Draw nonzero coefficients (size,) of a law; see ``Values``."""
    if law == "gaussian":
        return rng.standard_normal(size)
    signs = rng.choice([-1.0, 1.0], size=size)
    if law == "sign":
        return signs
    if law == "away_from_zero":
        # The inverse of the distribution of |b|, whose tail beyond _LEAST is uniform.
        tail = scipy.special.ndtr(-_LEAST) * (1 - rng.random(size))
        return signs * -scipy.special.ndtri(tail)
    # Tasks share the rows of their first coefficients. A random order makes these like the others.
    return signs * rng.permutation(np.geomspace(1.0, _SMALLEST, size))


def draw_truth(rng: np.random.Generator, p: int, sparsity: int, law: str) -> np.ndarray:
    """Draw coefficients of one task, shape (p, 1), nonzero on a uniformly drawn subset."""
    truth = np.zeros((p, 1))
    support = rng.choice(p, size=sparsity, replace=False)
    truth[support, 0] = draw_values(rng, law, sparsity)
    return truth


def respond(
    rng: np.random.Generator, X: np.ndarray, truth: np.ndarray, noise_std: float
) -> np.ndarray:
    """Draw the response of one task, X truth plus N(0, noise_std^2) noise, shape (n,)."""
    return X @ truth[:, 0] + noise_std * rng.standard_normal(len(X))


def stationary(rng: np.random.Generator, n_samples: int, p: int, correlation: float) -> np.ndarray:
    """Draw independent rows N(0, Sigma), Sigma_ij = correlation^|i-j|, shape (n_samples, p)."""
    X = rng.standard_normal((n_samples, p))
    if correlation:
        # A stationary AR(1) process has exactly this covariance.
        innovation = np.sqrt(1 - correlation**2)
        for j in range(1, p):
            X[:, j] = correlation * X[:, j - 1] + innovation * X[:, j]
    return X
