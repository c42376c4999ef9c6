"""A convex smooth loss with an l1 penalty, along decreasing weights of it."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from greedyexp.algorithms._limits import enforce
from greedyexp.algorithms._loss_settings import (
    Intercept,
    LossName,
    Ridge,
    check_loss,
    needs,
)
from greedyexp.algorithms.lasso._row_paths import (
    LamMinRatio,
    Lams,
    NLams,
    checked_lam,
    lam_values,
)
from greedyexp.core.errors import DataError
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.losses.binding import bind
from greedyexp.problems.problem import Problem
from greedyexp.solvers.l1_path import L1Fit

MaxFeatures = Annotated[
    int | None,
    Field(ge=1, description="end the automatic path after a point with more nonzero coefficients"),
]
MaxGroups = Annotated[
    int | None,
    Field(ge=1, description="end the automatic path after a point that uses more rows, or sensors"),
]
Tol = Annotated[
    float, Field(gt=0, lt=1, description="violation of optimality to reach, relative to lam_max")
]
MaxSteps = Annotated[int, Field(ge=1, description="most steps for one point")]


@algorithm(
    "l1_path",
    title="L1",
    paper="Tibshirani (1996); baseline of Liu, Fujimaki & Ye (2014)",
    requires=needs,
    check=check_loss,
    takes_sparse=True,
    stops=("lam", "max_features", "max_groups"),
)
def l1_path(
    problem: Problem,
    *,
    loss: LossName = "squared",
    ridge: Ridge = 0.0,
    intercept: Intercept = False,
    lam: Lams = None,
    n_lams: NLams = 50,
    lam_min_ratio: LamMinRatio = 0.01,
    max_features: MaxFeatures = None,
    max_groups: MaxGroups = None,
    tol: Tol = 1e-8,
    max_steps: MaxSteps = 200,
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Minimise Q(b, c) + lam ||b||_1 over selectable coefficients b and dense ones c.

    Q is the loss, a mean over samples, with its ridge; c is the intercept, or what a chain has of
    transitions. A proximal quasi-Newton method goes from one lam to the next.

    Parameters
    ----------
    problem : Problem
        One task for ``squared`` and ``logistic``; chains of labelled words for ``crf``.
    loss : {"squared", "logistic", "crf"}
        ||y - X b||^2 / (2 n), the mean of log(1 + exp(-y_i x_i b)), or the negative
        log-likelihood of a linear chain by word.
    ridge : float >= 0
        ridge / 2 ||b||^2 is added; it spares the intercept, but nothing of ``crf``.
    intercept : bool
        Not penalised; not for ``crf``, whose transitions are that.
    lam : float or list of float > 0, optional
        One estimate for each, in this order.
    n_lams : int >= 1
        Without ``lam``: so many values from lam_max, the smallest that gives b = 0, downwards,
        equally spaced in log lam.
    lam_min_ratio : float in (0, 1)
        Last of them over the first.
    max_features, max_groups : int >= 1, optional
        The automatic path ends with the first estimate that has more nonzero coefficients, or uses
        more rows of the matrix of coefficients: a feature of a chain (a sensor) has a coefficient
        for each class, and is in use when one of them is.
    tol : float in (0, 1)
        An estimate is ``converged`` when no condition of optimality is violated by more than
        tol lam_max: |grad_j Q + lam sign b_j| where b_j is not zero, |grad_j Q| - lam where it is,
        |grad_j Q| of dense coefficients.
    max_steps : int >= 1
        Most steps for one value of lam.
    grid : dict with an array ``lam``, optional
        As ``lam``.

    Returns
    -------
    Path
        With grid ``lam``; ``objective`` is Q + lam ||b||_1. ``facts`` are the ``violation``, in
        units of the gradient, and the ``evaluations`` of Q with its gradient so far.

    Raises
    ------
    ConfigError
        When a value of lam is not positive and finite, a limit is impossible for this problem, or
        the loss has no such option.
    DataError
        When the loss does not take the data, or has no minimum without features.

    References
    ----------
    J. D. Lee, Y. Sun, M. A. Saunders, Proximal Newton-type methods for minimizing composite
    functions, 2014.
    """
    limits = {"max_features": max_features, "max_groups": max_groups}
    enforce(check_loss, problem, loss=loss, intercept=intercept, **limits)
    if grid is not None:
        lam = grid["lam"]
    asked = None if lam is None else checked_lam(lam)
    fit = L1Fit(bind(loss, problem, ridge=ridge, intercept=intercept))
    if not fit.null.converged:
        said = fit.null.message or "its gradient does not reach the tolerance."
        raise DataError(f"there is no fit without features: {said}")
    automatic = asked is None
    lams = lam_values(fit.largest, n_lams, lam_min_ratio) if automatic else asked
    order = np.argsort(-lams, kind="stable")
    tolerance = tol * (fit.largest or fit.loss.scale)
    found = []
    for value in lams[order]:
        certified = fit.follow(float(value), tolerance, max_steps)
        found.append((fit.params, fit.objective, certified, fit.residual, fit.evaluations))
        if automatic and _beyond(fit, **limits):
            break
    if not automatic:
        found = [found[place] for place in np.argsort(order)]
    return _path(fit, lams[: len(found)], found, tol)


def _beyond(fit: L1Fit, *, max_features: int | None, max_groups: int | None) -> bool:
    """Whether an estimate is larger than a limit allows."""
    used = fit.params[: fit.loss.size].reshape(fit.loss.shape) != 0.0
    over = max_features is not None and np.count_nonzero(used) > max_features
    return over or (max_groups is not None and np.count_nonzero(used.any(axis=1)) > max_groups)


def _path(fit: L1Fit, lams: np.ndarray, found: list[tuple], tol: float) -> Path:
    loss = fit.loss
    params, objective, certified, violation, evaluations = map(np.array, zip(*found, strict=True))
    short = np.count_nonzero(~certified)
    said = f"{short} of {len(lams)} points violate optimality by more than {tol:g} lam_max."
    return Path(
        coef=params[:, : loss.size].reshape(-1, *loss.shape),
        grid={"lam": lams},
        objective=objective,
        converged=certified,
        message=said if short else "",
        loss=loss,
        dense=params[:, loss.size :],
        facts={"violation": violation, "evaluations": evaluations},
    )
