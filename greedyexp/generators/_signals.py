"""Coefficients and responses, shared by the synthetic generators."""

from __future__ import annotations

from typing import Literal

import numpy as np

Values = Literal["sign", "gaussian"]


def draw_values(rng: np.random.Generator, law: Values, size: int) -> np.ndarray:
    """Nonzero coefficients: +-1 with equal probability, or standard normal, shape (size,)."""
    if law == "sign":
        return rng.choice([-1.0, 1.0], size=size)
    return rng.standard_normal(size)


def draw_truth(rng: np.random.Generator, p: int, sparsity: int, law: Values) -> np.ndarray:
    """Coefficients of one task, shape (p, 1), nonzero on a uniformly drawn subset."""
    truth = np.zeros((p, 1))
    support = rng.choice(p, size=sparsity, replace=False)
    truth[support, 0] = draw_values(rng, law, sparsity)
    return truth


def respond(
    rng: np.random.Generator, X: np.ndarray, truth: np.ndarray, noise_std: float
) -> np.ndarray:
    """The response of one task, X truth plus N(0, noise_std^2) noise, shape (n,)."""
    return X @ truth[:, 0] + noise_std * rng.standard_normal(len(X))
