"""Regressions and classes whose features are signs: truth, responses, exact second moments."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit

from greedyexp.problems.moments import DenseMoments, Moments, SpreadMoments
from greedyexp.problems.problem import Problem


def draw_signs(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Independent values, -1 or 1 with equal probability."""
    return 2.0 * rng.integers(0, 2, size=shape) - 1.0


def draw_flips(rng: np.random.Generator, probability: float, *shape: int) -> np.ndarray:
    """Independent values, -1 with the given probability and 1 otherwise."""
    return np.where(rng.random(shape) < probability, -1.0, 1.0)


def draw_truth(
    rng: np.random.Generator, p: int, sparsity: int, truth_l1_norm: float, decay: float
) -> np.ndarray:
    """Coefficients (p, 1) with the given sum of sizes, on a uniformly drawn support.

    Signs are uniform, and sizes in the order of the draw fall by the factor ``decay``.
    """
    support = rng.choice(p, size=sparsity, replace=False)
    sizes = decay ** np.arange(sparsity)
    truth = np.zeros((p, 1))
    truth[support, 0] = truth_l1_norm * sizes / sizes.sum() * draw_signs(rng, sparsity)
    return truth


def spread_moments(alpha: float, u: float, truth: np.ndarray, noise_std: float) -> SpreadMoments:
    """Of a linear response to features with E[x x^T] = alpha I + u^2 11^T."""
    w = truth[:, 0]
    cross = alpha * w + u * u * w.sum()
    power = float(w @ cross) + noise_std**2
    return SpreadMoments(np.full(len(w), alpha), np.full(len(w), u), cross, power)


def dense_moments(matrix: np.ndarray, truth: np.ndarray, noise_std: float) -> DenseMoments:
    """Of a linear response to features with the given E[x x^T]."""
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
    """Responses to a truth (d, 1); without rows nothing is drawn.

    Parameters
    ----------
    X : array (n, d)
    moments : callable or None
        Those of a linear response; None when they are not known.
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
