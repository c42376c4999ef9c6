"""Two Gaussian classes whose means are sparse and opposite."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import scipy
from pydantic import Field

from greedyexp.core.registry import generator
from greedyexp.generators._regression import shape, stationary
from greedyexp.problems.problem import Problem


def _check(*, n_samples, n_test, p, sparsity, **_) -> None:
    for name, rows in (("n_samples", n_samples), ("n_test", n_test)):
        if rows % 2:
            raise ValueError(f"{name} = {rows} is odd; both classes have the same number of rows.")
    if sparsity > p:
        raise ValueError(f"sparsity = {sparsity} is more than p = {p}.")


def _provides(*, n_test, **_) -> tuple[str, ...]:
    return ("truth", "labels", "test_rows") if n_test else ("truth", "labels")


@generator(
    "two_class_gaussian",
    title="Two Gaussian classes",
    paper="Liu, Fujimaki & Ye 2014, Figure 3",
    provides=_provides,
    check=_check,
    shape=shape,
)
def two_class_gaussian(
    rng: np.random.Generator,
    *,
    n_samples: Annotated[int, Field(ge=2, description="training rows, half of each class")] = 100,
    n_test: Annotated[int, Field(ge=0, description="test rows, half of each class")] = 0,
    p: Annotated[int, Field(ge=1, description="number of features")] = 500,
    sparsity: Annotated[int, Field(ge=1, description="number of nonzero coefficients")] = 10,
    norm: Annotated[float, Field(gt=0, description="l2 norm of the coefficients, ||b*||")] = 5.0,
    correlation: Annotated[
        float, Field(ge=0, lt=1, description="rho of the covariance rho^|i-j| of the noise")
    ] = 0.0,
    truth: Annotated[
        Literal["means", "log_odds"],
        Field(
            description="meaning of b*: the mean of class 1, or half the coefficients of log-odds"
        ),
    ] = "means",
) -> Problem:
    """Rows N(b*, Sigma) labelled 1 and N(-b*, Sigma) labelled -1, the same number of each.

    b* has values U[0, 1] on a uniformly drawn support, scaled to the given norm, and
    Sigma_ij = correlation^|i-j|. The paper takes n = 100, d = 500, sparsities from 5 to 14 and no
    correlation.

    The log-odds of a row x are 2 x^T Sigma^-1 b*. With correlation the best linear classifier
    therefore also uses the neighbours of the support, to cancel noise. With ``truth: log_odds`` the
    means are Sigma b* and -Sigma b* and the log-odds 2 x^T b*. Neighbours of the support are then
    correlated with the class, but add nothing to a model that contains the support.
    """
    coef = np.zeros((p, 1))
    values = rng.uniform(size=sparsity)
    coef[rng.choice(p, size=sparsity, replace=False), 0] = norm * values / np.linalg.norm(values)
    mean = coef[:, 0]
    if truth == "log_odds" and correlation:
        mean = scipy.linalg.toeplitz(correlation ** np.arange(p)) @ mean
    X, y = _classes(rng, n_samples, mean, correlation)
    held = [_classes(rng, n_test, mean, correlation)] if n_test else []
    return Problem(
        (X,),
        (y,),
        coef,
        sparsity=sparsity,
        X_test=tuple(rows for rows, _ in held),
        y_test=tuple(labels for _, labels in held),
    )


def _classes(
    rng: np.random.Generator, rows: int, mean: np.ndarray, correlation: float
) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows of class 1, then as many of class -1, and their labels."""
    labels = np.repeat([1.0, -1.0], rows // 2)
    return labels[:, None] * mean + stationary(rng, rows, len(mean), correlation), labels
