"""Problems with features that are signs: parameters, checks, responses and exact moments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
from pydantic import Field
from scipy.special import expit

from greedyexp.problems.moments import DenseMoments, Moments, SpreadMoments
from greedyexp.problems.problem import Problem

# The matrix E[x x^T] of so many features takes 134 MB.
MOST_DENSE = 4096
# Largest number of features, and of values of a design.
MOST_FEATURES = 10_000_000
MOST_VALUES = 2_000_000_000
# Sums of squares of larger numbers overflow.
LARGEST = 1e75
# A coefficient smaller than this part of the largest would be lost in rounding.
_LEAST_SHARE = 1e-15

Samples = Annotated[
    int, Field(ge=0, description="number of observations, n; 0 for the distribution only")
]
Features = Annotated[int, Field(ge=1, description="number of features")]
Sparsity = Annotated[int, Field(ge=1, description="number of nonzero coefficients")]
L1Norm = Annotated[float, Field(gt=0, le=LARGEST, description="l1 norm of the true coefficients")]
Decay = Annotated[
    float,
    Field(gt=0, le=1, description="ratio of the size of each true coefficient to the previous one"),
]
NoiseStd = Annotated[
    float,
    Field(ge=0, le=LARGEST, description="standard deviation of the noise on a linear response"),
]
Response = Annotated[
    Literal["linear", "classes"],
    Field(description="<truth, x> plus noise, or 1 and -1 with these log-odds"),
]


def check(*, n_samples, p, sparsity, decay, noise_std, response, **_) -> None:
    """Raise ValueError if the values of parameters are impossible together."""
    check_samples(n_samples)
    check_size(n_samples, p)
    if sparsity > p:
        raise ValueError(f"sparsity = {sparsity} is more than p = {p}.")
    if decay ** (sparsity - 1) < _LEAST_SHARE:
        raise ValueError(
            f"decay = {decay:g} leaves the smallest of {sparsity} coefficients"
            f" {decay ** (sparsity - 1):.1e} times the largest, which must be at least"
            f" {_LEAST_SHARE:g}."
        )
    if response == "classes" and noise_std > 0:
        raise ValueError("classes are drawn by their probability: leave noise_std out.")
    if response == "classes" and n_samples == 0:
        raise ValueError(
            "the moments of classes are not known: give n_samples of at least 2, or"
            " response: linear."
        )


def check_samples(n_samples: int) -> None:
    """Raise ValueError for a single row."""
    if n_samples == 1:
        raise ValueError("n_samples = 1: give at least 2, or 0 for the distribution only.")


def check_size(n_samples: int, n_features: int) -> None:
    """Raise ValueError if there are too many features, or values of a design, to be drawn."""
    if n_features > MOST_FEATURES:
        raise ValueError(f"more than {MOST_FEATURES} features in all: lower p.")
    if n_samples * n_features > MOST_VALUES:
        raise ValueError(
            f"more than {MOST_VALUES:g} values of {n_features} features: lower n_samples or p."
        )


def check_dense(n_samples: int, n_features: int) -> None:
    """Raise ValueError for a distribution without samples if its moments are not known."""
    if n_samples == 0 and n_features > MOST_DENSE:
        raise ValueError(
            f"moments are computed for at most {MOST_DENSE} features, not {n_features}:"
            " give n_samples of at least 2, or fewer features."
        )


def traits(n_samples: int, response: str, *, moments: bool = True) -> tuple[str, ...]:
    """Traits of a problem; ``moments`` states whether those of a linear response are known."""
    if response == "classes":
        return ("truth", "labels")
    known = ("moments",) if moments else ()
    return ("truth", "noise_std", *known, *(() if n_samples else ("population",)))


def draw_signs(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Draw independent values, -1 or 1 with equal probability."""
    return 2.0 * rng.integers(0, 2, size=shape) - 1.0


def draw_flips(rng: np.random.Generator, probability: float, *shape: int) -> np.ndarray:
    """Draw independent values, -1 with the given probability and 1 otherwise."""
    return np.where(rng.random(shape) < probability, -1.0, 1.0)


def draw_truth(
    rng: np.random.Generator, p: int, sparsity: int, truth_l1_norm: float, decay: float
) -> np.ndarray:
    """Draw coefficients (p, 1) with the given l1 norm on a uniformly drawn support.

    Signs are uniform, and sizes in the order of the draw fall by the factor ``decay``.
    """
    support = rng.choice(p, size=sparsity, replace=False)
    sizes = decay ** np.arange(sparsity)
    truth = np.zeros((p, 1))
    truth[support, 0] = truth_l1_norm * sizes / sizes.sum() * draw_signs(rng, sparsity)
    return truth


def spread_moments(alpha: float, u: float, truth: np.ndarray, noise_std: float) -> SpreadMoments:
    """Moments of a linear response to features with E[x x^T] = alpha I + u^2 11^T."""
    w = truth[:, 0]
    cross = alpha * w + u * u * w.sum()
    power = float(w @ cross) + noise_std**2
    return SpreadMoments(np.full(len(w), alpha), np.full(len(w), u), cross, power)


def dense_moments(matrix: np.ndarray, truth: np.ndarray, noise_std: float) -> DenseMoments:
    """Moments of a linear response to features with the given E[x x^T]."""
    support = np.flatnonzero(truth[:, 0])
    cross = matrix[:, support] @ truth[support, 0]
    power = float(truth[:, 0] @ cross) + noise_std**2
    return DenseMoments(matrix, cross, power)


def sign_problem(
    rng: np.random.Generator,
    X: np.ndarray,
    truth: np.ndarray,
    moments: Callable[[], Moments] | None,
    *,
    noise_std: float,
    response: str,
    facts: dict | None = None,
) -> Problem:
    """Draw the responses to a truth (d, 1); without rows nothing is drawn.

    Parameters
    ----------
    X : array (n, d)
    moments : callable or None
        Returns the moments of a linear response; None if they are not known.
    """
    y = X @ truth[:, 0]
    linear = response == "linear"
    if linear:
        y += noise_std * rng.standard_normal(len(X))
    else:
        y = np.where(rng.random(len(X)) < expit(y), 1.0, -1.0)
    return Problem(
        (X,),
        (y,),
        truth,
        noise_std if linear else None,
        int(np.count_nonzero(truth)),
        facts=facts or {},
        moments=moments() if linear and moments else None,
    )
