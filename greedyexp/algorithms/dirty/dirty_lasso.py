"""Dirty model: an l1 penalty on single entries plus an l1/linf penalty on whole rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import Field

from greedyexp.algorithms import _parameters as param
from greedyexp.core.errors import ConfigError
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path, join
from greedyexp.problems.problem import Problem
from greedyexp.solvers.row_paths import PathSettings, checked_lam, data_of, follow
from greedyexp.solvers.row_penalties import DirtyPenalty
from greedyexp.theory.noise import entry_price, row_price

DEFAULT_FRACTIONS = (0.1, 0.3, 0.5, 0.7, 0.9)

Ratio = Annotated[float, Field(ge=1)]


def check(shape: dict, *, ratio, max_support: int | None, **_) -> None:
    """Raise ValueError if a ratio is outside [1, r] or max_support exceeds p r."""
    if ratio is not None:
        r = shape["n_tasks"]
        values = param.as_numbers(ratio)
        outside = values[~((values >= 1) & (values <= r))]
        if outside.size or not values.size:
            given = f"{outside[0]:.10g}" if outside.size else "an empty list"
            raise ValueError(
                f"ratio must lie between 1 and the number of tasks, {r}, but is {given}; outside,"
                " the model is the l1/linf group lasso or the Lasso at another lam."
            )
    param.check_max_support(shape, max_support=max_support)


def theory_grid(problem: Problem, **_) -> dict[str, np.ndarray]:
    """Both penalty weights at twice the noise in the gradient, their ratio clipped to [1, r]."""
    lam = entry_price(problem)
    ratio = min(max(row_price(problem) / lam, 1.0), float(problem.n_tasks))
    return {"lam": np.array([lam]), "ratio": np.array([ratio])}


@algorithm(
    "dirty_lasso",
    title="Dirty model",
    paper="Jalali, Ravikumar, Sanghavi & Ruan (2010)",
    requires=("multi_task",),
    check=check,
    takes_sparse=True,
    theory=theory_grid,
    stops=("lam", "max_support"),
)
def dirty_lasso(
    problem: Problem,
    *,
    ratio: Annotated[
        Ratio | Annotated[list[Ratio], Field(min_length=1)] | None,
        Field(description="lam_b / lam_s, one or several, each in [1, r]; default five values"),
    ] = None,
    lam: param.Lams = None,
    n_lams: param.NLams = 50,
    lam_min_ratio: param.LamMinRatio = 0.01,
    max_support: param.MaxSupport = None,
    tol: param.Tol = 1e-7,
    max_sweeps: param.MaxSweeps = 1000,
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Dirty model b = S + B: an l1 penalty on entries of S, an l1/linf penalty on rows of B.

    Minimises sum_j ||y_j - X_j b_j||^2 / (2 n_j) + lam_s sum_ij |S_ij| + lam_b sum_i max_j |B_ij|
    with lam_s = lam and lam_b = ratio * lam, exactly up to rounding. For given b the best split is
    known row by row (``split``), which leaves one penalty on b. Block coordinate descent finds the
    manifold, Newton steps solve on it.

    Parameters
    ----------
    problem : Problem
        A problem with r >= 2 tasks.
    ratio : float or list of float in [1, r]
        Default 1 + (r - 1) * (0.1, 0.3, 0.5, 0.7, 0.9). At 1 the model is the l1/linf group lasso,
        and at r it is the Lasso. Outside [1, r], it would be one of these two at another lam.
    lam : float or list of float > 0, optional
        Values of lam_s, which are used for every ratio.
    n_lams : int >= 1
        Number of values of the automatic grid of each ratio, equally spaced in log lam, down from
        max(max_ij |c_ij|, max_i sum_j |c_ij| / ratio) with c_j = X_j^T y_j / n_j, the smallest
        value that gives zero.
    lam_min_ratio : float in (0, 1)
        Ratio of the last value of this grid to the first.
    max_support : int >= 1, optional
        For each ratio, the automatic path ends with the first estimate that has more nonzero
        entries.
    tol : float in (0, 1)
        An estimate is ``converged`` if its duality gap is at most tol times the objective at 0.
    max_sweeps : int >= 1
        Maximum number of rounds of row updates and Newton steps for one value of lam.
    grid : dict with arrays ``lam`` and ``ratio``, optional
        Return one estimate for each pair, in this order.

    Returns
    -------
    Path
        With grid ``lam`` and ``ratio``, ratio by ratio; ``coef`` is S + B and ``objective`` loss
        plus penalty.

    Raises
    ------
    ConfigError
        If a ratio lies outside [1, r], a value of lam is not positive and finite, or max_support
        is more than p r.
    DataError
        If the data are not finite.

    References
    ----------
    A. Jalali, P. Ravikumar, S. Sanghavi, C. Ruan, A dirty model for multi-task learning, 2010.
    """
    asked = ratio if grid is None else grid["ratio"]
    param.enforce(check, problem, ratio=asked, max_support=max_support)
    given = lam if grid is None else grid["lam"]
    settings = PathSettings(given, n_lams, lam_min_ratio, max_support, tol, max_sweeps)
    default = 1.0 + (problem.n_tasks - 1) * np.array(DEFAULT_FRACTIONS)
    ratios = param.as_numbers(default if asked is None else asked)
    data = data_of(problem, len(np.unique(ratios)))

    def one_ratio(value: float, lams: np.ndarray) -> Path:
        path = follow(data, DirtyPenalty(value), lams, settings)
        return replace(path, grid=path.grid | {"ratio": np.full(len(path), value)})

    if grid is None:
        lams = [settings.lams(DirtyPenalty(one).largest(data.correlation)) for one in ratios]
        path = join([one_ratio(float(one), own) for one, own in zip(ratios, lams, strict=True)])
        missing = sum(map(len, lams)) - len(path)
    else:
        pairs_lam = checked_lam(grid["lam"])
        if len(pairs_lam) != len(ratios):
            raise ConfigError("the grid needs the same number of values of lam and ratio.")
        places = [np.flatnonzero(ratios == value) for value in np.unique(ratios)]
        paths = [one_ratio(float(ratios[own[0]]), pairs_lam[own]) for own in places]
        path, missing = join(paths).take(np.argsort(np.concatenate(places))), 0
    return replace(path, message=settings.remarks(path.converged, missing))


def split(coef: np.ndarray, ratio: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the cheapest S and B with S + B = coef.

    B is coef clipped, row by row, to [-theta, theta].

    Lowering theta gains lam_b = ratio * lam_s and costs lam_s for each task beyond it, so theta is
    the size of the ceil(ratio)-th largest entry of the row, and 0 for ratio = r.

    Parameters
    ----------
    coef : array (..., p, r)
    ratio : float in [1, r]
        lam_b / lam_s.

    Returns
    -------
    S, B : arrays (..., p, r)
    """
    r = coef.shape[-1]
    if ratio >= r:
        return coef.copy(), np.zeros_like(coef)
    sizes = np.sort(np.abs(coef), axis=-1)
    theta = sizes[..., r - int(np.ceil(ratio)), None]
    shared = np.clip(coef, -theta, theta)
    return coef - shared, shared
