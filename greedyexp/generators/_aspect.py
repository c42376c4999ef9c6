"""How many features a design has: given, or as a multiple of its rows."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field

DEFAULT = 200

Features = Annotated[
    int | None,
    Field(ge=1, description=f"number of features; {DEFAULT} when there is no aspect_ratio either"),
]
AspectRatio = Annotated[
    float | None,
    Field(gt=0, le=1e9, description="p / n_samples in place of p, which is rounded to a number"),
]


def n_features(n_samples: int, p: int | None, aspect_ratio: float | None) -> int:
    """The number of features; halves are rounded up."""
    if aspect_ratio is not None:
        return math.floor(aspect_ratio * n_samples + 0.5)
    return DEFAULT if p is None else p


def check_features(*, n_samples, p, aspect_ratio, sparsity, **_) -> None:
    """Refuse both ways at once, and fewer features than there are to be nonzero coefficients.

    Raises
    ------
    ValueError
        With a sentence.
    """
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


def shape(*, n_samples, p, aspect_ratio, **_) -> dict:
    """What is known of a single task before it is drawn."""
    return {
        "n_tasks": 1,
        "n_samples": n_samples,
        "n_features": n_features(n_samples, p, aspect_ratio),
    }
