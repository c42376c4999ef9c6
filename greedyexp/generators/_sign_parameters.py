"""What the problems whose features are signs share: parameters, refusals, what is known before."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

# The matrix E[x x^T] of so many features takes 134 MB.
MOST_DENSE = 4096
# Features, and values of a design, that are drawn.
MOST_FEATURES = 10_000_000
MOST_VALUES = 2_000_000_000
# Sums of squares of larger numbers overflow.
LARGEST = 1e75
# A coefficient smaller than this part of the largest is lost beside it in rounding.
_LEAST_SHARE = 1e-15

Samples = Annotated[
    int, Field(ge=0, description="number of observations, n; 0 for the distribution alone")
]
Features = Annotated[int, Field(ge=1, description="number of features")]
Sparsity = Annotated[int, Field(ge=1, description="number of nonzero coefficients")]
L1Norm = Annotated[
    float, Field(gt=0, le=LARGEST, description="sum of the sizes of the true coefficients")
]
Decay = Annotated[
    float, Field(gt=0, le=1, description="size of each true coefficient over the one before")
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
    """Refuse values that are impossible together.

    Raises
    ------
    ValueError
        With a sentence.
    """
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
    """Refuse a single row.

    Raises
    ------
    ValueError
        With a sentence.
    """
    if n_samples == 1:
        raise ValueError("n_samples = 1: give at least 2, or 0 for the distribution alone.")


def check_size(n_samples: int, n_features: int) -> None:
    """Refuse more features, or values of a design, than are drawn.

    Raises
    ------
    ValueError
        With a sentence.
    """
    if n_features > MOST_FEATURES:
        raise ValueError(f"more than {MOST_FEATURES} features in all: lower p.")
    if n_samples * n_features > MOST_VALUES:
        raise ValueError(
            f"more than {MOST_VALUES:g} values of {n_features} features: lower n_samples or p."
        )


def check_dense(n_samples: int, n_features: int) -> None:
    """Refuse a distribution alone whose moments are not known.

    Raises
    ------
    ValueError
        With a sentence.
    """
    if n_samples == 0 and n_features > MOST_DENSE:
        raise ValueError(
            f"the moments of {n_features} features are not computed, at most of {MOST_DENSE}:"
            " give n_samples of at least 2, or fewer features."
        )


def traits(n_samples: int, response: str, *, moments: bool = True) -> tuple[str, ...]:
    """What problems provide; ``moments`` tells whether they are known of a linear response."""
    if response == "classes":
        return ("truth", "labels")
    known = ("moments",) if moments else ()
    return ("truth", "noise_std", *known, *(() if n_samples else ("population",)))


def shape(n_samples: int, n_features: int) -> dict:
    """What is known of a problem before it is drawn."""
    return {
        "n_tasks": 1,
        "n_samples": n_samples,
        "n_features": n_features,
        "shared_design": True,
    }
