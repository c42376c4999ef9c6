"""Correlated signs, with equal correlations or along a chain."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field
from scipy.linalg import toeplitz

from greedyexp.core.registry import generator
from greedyexp.generators import _signs as signs
from greedyexp.generators._regression import single_design
from greedyexp.problems.moments import Moments
from greedyexp.problems.problem import Problem

Kind = Literal["equicorrelated", "toeplitz"]


def _check(*, n_samples, p, kind, correlation, **others) -> None:
    signs.check(n_samples=n_samples, p=p, **others)
    if kind == "equicorrelated" and correlation < 0:
        raise ValueError(
            f"correlation = {correlation:g}: equicorrelated signs cannot have a negative"
            " correlation."
        )
    if kind == "toeplitz":
        signs.check_dense(n_samples, p)


def _known(p: int, kind: str) -> bool:
    return kind == "equicorrelated" or p <= signs.MOST_DENSE


@generator(
    "correlated",
    title="Correlated signs",
    paper="Shalev-Shwartz, Srebro & Zhang 2009",
    provides=lambda *, n_samples, p, kind, response, **_: signs.traits(
        n_samples, response, moments=_known(p, kind)
    ),
    check=_check,
    shape=lambda *, n_samples, p, **_: single_design(n_samples, p),
)
def correlated(
    rng: np.random.Generator,
    *,
    n_samples: signs.Samples = 200,
    p: signs.Features = 100,
    kind: Annotated[
        Kind, Field(description="second moments: all rho, or rho^|i-j| along a chain")
    ] = "toeplitz",
    correlation: Annotated[
        float, Field(gt=-1, lt=1, description="rho, the second moment of two neighbours")
    ] = 0.5,
    sparsity: signs.Sparsity = 10,
    truth_l1_norm: signs.L1Norm = 1.0,
    decay: signs.Decay = 1.0,
    noise_std: signs.NoiseStd = 0.0,
    response: signs.Response = "linear",
) -> Problem:
    """Signs with E[x_i x_j] = rho, or rho^|i-j|; truth and response as ``rademacher``.

    Equicorrelated: each row has a sign, and given that sign its features are independent and equal
    to it with probability (1 + sqrt(rho)) / 2. Toeplitz: a row is a Markov chain that starts with
    either sign and keeps it from one feature to the next with probability (1 + rho) / 2.
    """
    truth = signs.draw_truth(rng, p, sparsity, truth_l1_norm, decay)
    return signs.sign_problem(
        rng,
        _draw(rng, n_samples, p, kind, correlation),
        truth,
        (lambda: _moments(kind, correlation, truth, noise_std)) if _known(p, kind) else None,
        noise_std=noise_std,
        response=response,
    )


def _draw(
    rng: np.random.Generator, n_samples: int, p: int, kind: str, correlation: float
) -> np.ndarray:
    first = signs.draw_signs(rng, n_samples, 1)
    if kind == "equicorrelated":
        return first * signs.draw_flips(rng, (1.0 - np.sqrt(correlation)) / 2.0, n_samples, p)
    steps = signs.draw_flips(rng, (1.0 - correlation) / 2.0, n_samples, p - 1)
    return np.cumprod(np.hstack([first, steps]), axis=1)


def _moments(kind: str, correlation: float, truth: np.ndarray, noise_std: float) -> Moments:
    if kind == "equicorrelated":
        return signs.spread_moments(1.0 - correlation, np.sqrt(correlation), truth, noise_std)
    return signs.dense_moments(toeplitz(correlation ** np.arange(len(truth))), truth, noise_std)
