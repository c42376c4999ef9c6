"""Several sparse regressions that share a fraction kappa of their supports."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from pydantic import Field

from greedyexp.core.registry import generator
from greedyexp.generators._regression import (
    Correlation,
    NoiseStd,
    Values,
    draw_values,
    stationary,
)
from greedyexp.problems.problem import Problem


def _sizes(
    p: int, n_tasks: int, sparsity: int | None, kappa: float, theta: float
) -> tuple[int, int, int]:
    """Nonzeros of a task, those of them in shared rows, and samples.

    At theta = 1 there are s log(p - (2 - kappa) s) samples (JS12 section 4.1). With more than two
    tasks (2 - kappa) s becomes the size of the union of supports, (n_tasks - (n_tasks - 1) kappa)
    s. The number of samples is 0 if the logarithm is not positive.
    """
    s = sparsity if sparsity is not None else math.floor(p / 10 + 0.5)
    outside = p - (n_tasks - (n_tasks - 1) * kappa) * s
    rate = s * math.log(outside) if outside > 0 else 0.0
    return s, math.floor(kappa * s + 0.5), math.ceil(theta * rate) if rate > 0 else 0


def _shape(*, p, n_tasks, sparsity, kappa, theta, **_):
    n = _sizes(p, n_tasks, sparsity, kappa, theta)[2]
    return {"n_tasks": n_tasks, "n_samples": n, "n_features": p}


def _check(*, p, n_tasks, sparsity, kappa, theta, **_):
    s, shared, n = _sizes(p, n_tasks, sparsity, kappa, theta)
    if s < 1:
        raise ValueError(f"p = {p} gives sparsity {s}; raise p or give sparsity.")
    if s > p:
        raise ValueError(f"sparsity {s} is larger than p = {p}.")
    union = shared + n_tasks * (s - shared)
    if union > p:
        raise ValueError(
            f"{n_tasks} supports of {s} entries with kappa = {kappa:g} need {union} rows"
            f" but p = {p}."
        )
    if n < 2:
        raise ValueError(
            f"theta = {theta:g} gives n = {n} samples at p = {p}, sparsity {s}, kappa = {kappa:g};"
            " at least 2 are needed."
        )


@generator(
    "multitask_overlap",
    title="Multi-task regression with overlapping supports",
    paper="Jalali & Sanghavi 2012, section 4.1",
    provides=lambda n_tasks, **_: (
        ("truth", "noise_std", "multi_task") if n_tasks > 1 else ("truth", "noise_std")
    ),
    check=_check,
    shape=_shape,
    facts=("s", "n_samples"),
    added=("correlation",),
)
def multitask_overlap(
    rng: np.random.Generator,
    *,
    p: Annotated[int, Field(ge=2, description="number of features")] = 128,
    n_tasks: Annotated[int, Field(ge=1, description="number of tasks, r in the paper")] = 2,
    sparsity: Annotated[
        int | None, Field(ge=1, description="nonzeros per task, s; by default p/10, rounded")
    ] = None,
    kappa: Annotated[float, Field(ge=0, le=1, description="shared fraction of each support")] = 0.5,
    theta: Annotated[
        float,
        Field(
            gt=0,
            description="control parameter n / (s log(p - (2 - kappa) s)), or n / (s log(p - s))"
            " with one task",
        ),
    ] = 1.0,
    correlation: Correlation = 0.0,
    values: Values = "sign",
    noise_std: NoiseStd = 0.1,
) -> Problem:
    """Gaussian designs, uniformly placed supports, kappa * s rows shared by all tasks.

    Every task has its own design with n independent rows N(0, Sigma),
    Sigma_ij = correlation^|i-j|, and s nonzero coefficients, round(kappa s) of them in rows shared
    by all tasks; the other rows belong to one task each. n = ceil(theta s log(p - (2 - kappa) s)).
    The paper has independent columns.

    The paper is ambiguous on two points; each is a parameter: ``values`` (the text says
    Gaussian, but with noise 0.1 the smallest values cannot be detected; the published curves need
    values that are not too close to 0, such as those of ``sign`` or ``away_from_zero``) and
    ``noise_std`` (0.1 in the captions; the text's "variance 0.1" is 0.316).

    Columns
    -------
    s
        Number of nonzero coefficients of each task.
    """
    s, shared, n = _sizes(p, n_tasks, sparsity, kappa, theta)
    own = s - shared
    rows = rng.permutation(p)
    truth = np.zeros((p, n_tasks))
    for task in range(n_tasks):
        start = shared + task * own
        support = np.concatenate([rows[:shared], rows[start : start + own]])
        truth[support, task] = draw_values(rng, values, s)
    X = tuple(stationary(rng, n, p, correlation) for _ in range(n_tasks))
    y = tuple(Xj @ truth[:, j] + noise_std * rng.standard_normal(n) for j, Xj in enumerate(X))
    return Problem(X, y, truth, noise_std, s, facts={"s": s, "n_samples": n})
