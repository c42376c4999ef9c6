"""Sparse regressions with a Gaussian design."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import scipy
from pydantic import Field

from greedyexp.core.registry import generator
from greedyexp.generators._regression import (
    AspectRatio,
    Correlation,
    Features,
    NoiseStd,
    Rows,
    Sparsity,
    Values,
    check_features,
    draw_truth,
    n_features,
    respond,
    shape,
    stationary,
)
from greedyexp.problems.problem import Problem

# The traits of each kind of response.
_RESPONSES = {"linear": ("noise_std",), "counts": ("counts",), "classes": ("labels",)}


def _n_tasks(response: str, classes: int) -> int:
    return classes if response == "classes" and classes > 2 else 1


def _provides(*, response: str, classes: int, test_rows: int, **_) -> tuple[str, ...]:
    several = ("multi_task", "classes") if _n_tasks(response, classes) > 1 else ()
    return ("truth", *_RESPONSES[response], *several, *(("test_rows",) if test_rows else ()))


def _shape(*, response: str, classes: int, **others) -> dict:
    return shape(**others) | {"n_tasks": _n_tasks(response, classes)}


@generator(
    "gaussian",
    title="Sparse regression with a Gaussian design",
    paper="Wainwright 2009; Moucer, Taylor & Bach 2024, section 2.3",
    provides=_provides,
    check=check_features,
    shape=_shape,
    facts=("n_features",),
    added=("response", "signal", "classes", "test_rows"),
)
def gaussian(
    rng: np.random.Generator,
    *,
    n_samples: Rows = 100,
    p: Features = None,
    aspect_ratio: AspectRatio = None,
    sparsity: Sparsity = 10,
    correlation: Correlation = 0.0,
    values: Values = "sign",
    noise_std: NoiseStd = 0.1,
    start: Annotated[
        Literal["zero", "gaussian"],
        Field(description="where iterative methods begin: at zero or at N(0, I)"),
    ] = "zero",
    response: Annotated[
        Literal["linear", "counts", "classes"],
        Field(
            description="X truth plus noise; Poisson counts with means exp(X truth); or classes,"
            " 1 and -1 with log-odds X truth, or several"
        ),
    ] = "linear",
    signal: Annotated[
        float, Field(gt=0, le=5, description="l2 norm of the truth of counts and classes")
    ] = 1.0,
    classes: Annotated[int, Field(ge=2, le=100, description="number of classes")] = 2,
    test_rows: Annotated[
        int, Field(ge=0, description="number of further observations that are held out")
    ] = 0,
) -> Problem:
    """Rows N(0, Sigma) with Sigma_ij = correlation^|i-j|, supports uniform over all subsets.

    y = X truth + N(0, noise_std^2 I), or counts or classes, which do not depend on ``noise_std``.
    With more than two classes, r, the truth has a column for each class, of coefficients N(0, 1)
    with sum 0 over the classes, class k has a probability proportional to exp(X truth_k), and its
    response is 1 for its rows and 0 for others.
    Moucer, Taylor & Bach write P for X, d for p, r for aspect_ratio and sigma for noise_std; they
    take n = 50, s = 8, sigma = 0.5 and independent columns.
    """
    p = n_features(n_samples, p, aspect_ratio)
    truth = draw_truth(rng, p, sparsity, values)
    several = _n_tasks(response, classes)
    if several > 1:
        support = np.flatnonzero(truth)
        truth = np.zeros((p, several))
        truth[support] = rng.standard_normal((sparsity, several))
        truth[support] -= truth[support].mean(axis=1, keepdims=True)
    if response != "linear":
        truth *= signal * np.sqrt(several) / (np.linalg.norm(truth) or 1.0)
    X = stationary(rng, n_samples + test_rows, p, correlation)
    y = _responses(rng, X, truth, noise_std, response)
    begin = rng.standard_normal((p, 1)) if start == "gaussian" else None
    held = tuple(yj[n_samples:] for yj in y)
    return Problem(
        (X[:n_samples],) * several,
        tuple(yj[:n_samples] for yj in y),
        truth,
        noise_std if response == "linear" else None,
        sparsity,
        X_test=(X[n_samples:],) * several if test_rows else (),
        y_test=held if test_rows else (),
        facts={"n_features": p},
        start=begin,
    )


def _responses(
    rng: np.random.Generator, X: np.ndarray, truth: np.ndarray, noise_std: float, response: str
) -> tuple[np.ndarray, ...]:
    """Draw the responses of ``gaussian`` to a truth (p, r), each (n,)."""
    if response == "linear":
        return (respond(rng, X, truth, noise_std),)
    scores = X @ truth
    if response == "counts":
        return (rng.poisson(np.exp(scores[:, 0])).astype(np.float64),)
    if truth.shape[1] == 1:
        return (np.where(rng.random(len(X)) < scipy.special.expit(scores[:, 0]), 1.0, -1.0),)
    shares = scipy.special.softmax(scores, axis=1).cumsum(axis=1)
    drawn = (rng.random((len(X), 1)) * shares[:, -1:] >= shares).sum(axis=1)
    return tuple((drawn == k).astype(np.float64) for k in range(truth.shape[1]))


Covariance = Annotated[
    Literal["identity", "harmonic", "one_small", "one_large"],
    Field(
        description="variances of the features: all 1; 1, 1/2, ..., 1/p; the last 1/100;"
        " the last 100"
    ),
]


@generator(
    "gaussian_cov",
    title="Gaussian features of unequal variances",
    paper="Moucer, Taylor & Bach 2024, figure 7",
    provides=("truth", "noise_std"),
    check=check_features,
    shape=shape,
    facts=("n_features",),
)
def gaussian_cov(
    rng: np.random.Generator,
    *,
    covariance: Covariance = "identity",
    n_samples: Rows = 50,
    p: Features = None,
    aspect_ratio: AspectRatio = None,
    sparsity: Sparsity = 5,
    noise_std: NoiseStd = 0.5,
) -> Problem:
    """Rows N(0, D) with D diagonal, sparse coefficients +-1 on a uniformly drawn support.

    y = X truth + N(0, noise_std^2 I). The variances are those of the paper, where they show how
    much constants of the l1 geometry differ from those of the l2 geometry. The paper writes P for
    X, d for p and r for aspect_ratio.
    """
    p = n_features(n_samples, p, aspect_ratio)
    truth = draw_truth(rng, p, sparsity, "sign")
    X = rng.standard_normal((n_samples, p)) * np.sqrt(variances(covariance, p))
    y = respond(rng, X, truth, noise_std)
    return Problem((X,), (y,), truth, noise_std, sparsity, facts={"n_features": p})


def variances(covariance: str, p: int) -> np.ndarray:
    """The diagonal of D, shape (p,)."""
    if covariance == "harmonic":
        return 1 / np.arange(1.0, p + 1)
    diagonal = np.ones(p)
    diagonal[-1] = {"identity": 1.0, "one_small": 1 / 100, "one_large": 100.0}[covariance]
    return diagonal


def _check_signal_ratio(*, n_samples, p, sparsity, **_) -> None:
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
    check=_check_signal_ratio,
    shape=shape,
    facts=("residual_rms",),
)
def gaussian_signal_ratio(
    rng: np.random.Generator,
    *,
    signal_ratio: Annotated[
        float, Field(gt=0, description="min |b_j| on the support / ||grad Q(b)||_inf")
    ] = 10.0,
    n_samples: Rows = 100,
    p: Annotated[int, Field(ge=2, description="number of features")] = 200,
    sparsity: Annotated[int, Field(ge=1, description="number of nonzero coefficients")] = 10,
    strongest: Annotated[
        float, Field(ge=1, description="largest possible coefficient; the weakest is 1")
    ] = 3.0,
    correlation: Correlation = 0.0,
) -> Problem:
    """y = X b + e, b the least-squares fit on its own support, at a given distance from the noise.

    With Q(b) = ||y - X b||^2 / (2 n) the theorems of forward-backward selection compare the weakest
    coefficient of b with max_j |x_j^T e| / n = ||grad Q(b)||_inf, and here the ratio of the two is
    exactly ``signal_ratio``. Columns of X are Gaussian and scaled to ||x_j||^2 = n, so every
    curvature of Q along a coordinate is 1. The support is drawn uniformly, signs are +-1, one
    |b_j| is 1 and the others U[1, strongest]. e is standard Gaussian noise projected off the span
    of the support and scaled.

    Columns
    -------
    residual_rms
        Root mean square of the noise, ||e|| / sqrt(n).
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
