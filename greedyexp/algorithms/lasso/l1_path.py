"""A convex smooth loss with an l1 penalty, at decreasing weights of the penalty."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import Field

from greedyexp.algorithms import _parameters as param
from greedyexp.core.errors import DataError
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.losses.binding import bind, minimises_squares
from greedyexp.losses.loss import Loss
from greedyexp.problems.problem import Problem
from greedyexp.problems.scaling import scaled
from greedyexp.solvers.l1_path import L1Fit, NewtonFit, l1_fit, largest_slope
from greedyexp.solvers.row_paths import PathSettings, checked_lam, data_of, follow, lam_values
from greedyexp.solvers.row_penalties import DirtyPenalty

# Least squares aims at duality gaps that rounding errors hide; ``tol`` judges the violations.
_EXACT = 1e-15
# A column is far from centred if its squared mean is more than this fraction of its mean square.
_FAR = 0.9


@algorithm(
    "l1_path",
    title="L1",
    paper="Tibshirani (1996); baseline of Liu, Fujimaki & Ye (2014)",
    requires=param.needs,
    check=param.check_loss,
    takes_sparse=True,
    takes_population=True,
    stops=("lam", "max_features", "max_groups"),
)
def l1_path(
    problem: Problem,
    *,
    loss: param.LossName = "squared",
    ridge: param.Ridge = 0.0,
    intercept: param.Intercept = False,
    lam: param.Lams = None,
    n_lams: param.NLams = 50,
    lam_min_ratio: param.LamMinRatio = 0.01,
    max_features: Annotated[
        int | None,
        Field(ge=1, description="end the automatic path after more nonzero coefficients than this"),
    ] = None,
    max_groups: Annotated[
        int | None,
        Field(ge=1, description="end the automatic path after more rows (sensors) than this"),
    ] = None,
    tol: Annotated[
        float,
        Field(gt=0, lt=1, description="violation of optimality to reach, relative to lam_max"),
    ] = 1e-8,
    max_steps: Annotated[int, Field(ge=1, description="maximum number of steps per point")] = 200,
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Minimise Q(b, c) + lam ||b||_1 over selectable coefficients b and dense ones c.

    Q is the loss, a mean over samples, with its ridge; c is the intercept, or the transitions of a
    chain. With the squared loss this is the elastic net, which ``lasso`` solves too, exactly up to
    rounding. For other losses, a proximal Newton method goes from one lam to the next, with exact
    second derivatives for the logistic loss and learned ones otherwise.

    Parameters
    ----------
    problem : Problem
        A problem with what the loss requires: one task, chains for ``crf``, or a covariance for
        ``logdet``.
    loss : str
        Name of a smooth loss (``greedyexp list losses``).
        ||y - X b||^2 / (2 n), the mean of log(1 + exp(-y_i x_i b)), or the negative
        log-likelihood of a linear chain by word.
    ridge : float >= 0
        ridge / 2 ||b||^2 is added; for ``crf`` it includes the transitions. The intercept has none.
    intercept : bool
        Not penalised. ``crf`` has none: its transitions play this role.
    lam : float or list of float > 0, optional
        Explicit values; there is one estimate for each, in this order.
    n_lams : int >= 1
        Number of values of the automatic grid, equally spaced in log lam, down from lam_max, the
        smallest value that gives b = 0.
    lam_min_ratio : float in (0, 1)
        Ratio of the last value of this grid to the first.
    max_features, max_groups : int >= 1, optional
        The automatic path ends with the first estimate that has more nonzero coefficients, or uses
        more rows of the matrix of coefficients: a feature of a chain (a sensor) has a coefficient
        for each class, and is in use if one of them is not zero.
    tol : float in (0, 1)
        An estimate is ``converged`` if no condition of optimality is violated by more than
        tol lam_max: |grad_j Q + lam sign b_j| where b_j is not zero, |grad_j Q| - lam where it is,
        |grad_j Q| of dense coefficients.
    max_steps : int >= 1
        Maximum number of steps for one value of lam.
    grid : dict with an array ``lam``, optional
        Values that replace ``lam``.

    Returns
    -------
    Path
        With grid ``lam``; ``objective`` is Q + lam ||b||_1. ``facts`` are the ``violation``, in
        units of the gradient, and the ``evaluations`` of Q with its gradient so far (not for least
        squares, which uses the Gram matrix).

    Raises
    ------
    ConfigError
        If a value of lam is not positive and finite, a limit is impossible for this problem, or
        the loss has no such option.
    DataError
        If the loss does not accept the data, or has no minimum without features.

    References
    ----------
    J. D. Lee, Y. Sun, M. A. Saunders, Proximal Newton-type methods for minimizing composite
    functions, 2014.
    """
    limits = {"max_features": max_features, "max_groups": max_groups}
    param.enforce(param.check_loss, problem, loss=loss, intercept=intercept, **limits)
    asked = lam if grid is None else grid["lam"]
    lams = None if asked is None else checked_lam(asked)
    squares = minimises_squares({"loss": loss})
    if squares and not (intercept and problem.sparse_design):
        most = min((limit for limit in limits.values() if limit is not None), default=None)
        settings = PathSettings(lams, n_lams, lam_min_ratio, most, _EXACT, max_steps)
        bound = bind(loss, problem, ridge=ridge, intercept=intercept)
        return _least_squares(problem, bound, settings, tol)
    centred, means = _centred(problem) if intercept else (problem, None)
    fit = l1_fit(bind(loss, centred, ridge=ridge, intercept=intercept))
    if not fit.null.converged:
        reason = fit.null.message or "its gradient does not reach the tolerance."
        raise DataError(f"there is no fit without features: {reason}")
    automatic = lams is None
    if lams is None:
        lams = lam_values(fit.largest, n_lams, lam_min_ratio)
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
    path = _path(fit, lams[: len(found)], found, tol)
    if means is None:
        return path
    tasks = range(fit.loss.n_dense)
    shifts = np.column_stack([path.sparse.predictions(means[None], task) for task in tasks])
    return replace(
        path,
        loss=bind(loss, problem, ridge=ridge, intercept=intercept),
        dense=path.dense - shifts,
    )


def _least_squares(problem: Problem, loss: Loss, settings: PathSettings, tol: float) -> Path:
    """Return the path of the squared loss, on centred data if there is an intercept."""
    centred, scaling = problem, None
    if loss.n_dense:
        centred, scaling = scaled(problem, centre=True, scale=False)
    data = data_of(centred, ridge=loss.ridge)
    largest = largest_slope(loss, data.correlation)
    path = follow(data, DirtyPenalty(1.0), settings.lams(largest), settings)
    violation = data.violations(path.grid["lam"], path.coef)
    converged = violation <= tol * (largest or loss.scale)
    return replace(
        path,
        converged=converged,
        message=_remark(converged, tol),
        loss=loss,
        dense=scaling.intercepts(path.coef) if scaling else np.zeros((len(path), 0)),
        facts={"violation": violation},
    )


def _centred(problem: Problem) -> tuple[Problem, np.ndarray | None]:
    """Return a problem with centred columns and their means (p,), if a column is far from centred.

    The intercept takes up the means, but second derivatives lose their digits to large ones. Other
    problems, and sparse designs, are returned as they are, with None.
    """
    columns = problem.columns[0]
    far = columns.mean**2 > _FAR * columns.square
    if problem.sparse_design or not far.any():
        return problem, None
    made, scaling = scaled(problem, centre=True, scale=False)
    return replace(made, y=problem.y), scaling.means[0]


def _beyond(fit: L1Fit | NewtonFit, *, max_features: int | None, max_groups: int | None) -> bool:
    """Return whether the estimate exceeds a limit."""
    used = fit.params[: fit.loss.size].reshape(fit.loss.shape) != 0.0
    if max_features is not None and int(np.count_nonzero(used)) > max_features:
        return True
    return max_groups is not None and int(np.count_nonzero(used.any(axis=1))) > max_groups


def _path(fit: L1Fit | NewtonFit, lams: np.ndarray, found: list[tuple], tol: float) -> Path:
    loss = fit.loss
    params, objective, certified, violation, evaluations = map(np.array, zip(*found, strict=True))
    return Path(
        params[:, : loss.size].reshape(-1, *loss.shape),
        grid={"lam": lams},
        objective=objective,
        converged=certified,
        message=_remark(certified, tol),
        loss=loss,
        dense=params[:, loss.size :],
        facts={"violation": violation, "evaluations": evaluations},
    )


def _remark(converged: np.ndarray, tol: float) -> str:
    short = np.count_nonzero(~converged)
    if not short:
        return ""
    return f"{short} of {len(converged)} points violate optimality by more than {tol:g} lam_max."
