"""What Lasso, group lassos and dirty model share: grids, warm starts and the certificate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from greedyexp.core.errors import ConfigError, DataError
from greedyexp.estimates.path import Path
from greedyexp.kernels.gram_fit import stored
from greedyexp.kernels.row_path import row_path
from greedyexp.problems.checks import require_memory
from greedyexp.problems.problem import Problem

Price = Annotated[float, Field(gt=0)]
Lams = Annotated[
    Price | Annotated[list[Price], Field(min_length=1)] | None,
    Field(description="explicit value or values of lam instead of the automatic grid"),
]
NLams = Annotated[int, Field(ge=1, description="points of the automatic grid")]
LamMinRatio = Annotated[
    float, Field(gt=0, lt=1, description="smallest over largest lam of the automatic grid")
]
MaxSupport = Annotated[
    int | None,
    Field(ge=1, description="end the automatic path after a point with more nonzero entries"),
]
Tol = Annotated[
    float, Field(gt=0, lt=1, description="duality gap to reach, relative to the null objective")
]
MaxSweeps = Annotated[int, Field(ge=1, description="most rounds of updates for one point")]

# Between two points further apart than this, the path is followed through points of its own: a
# warm start from afar costs more than the way.
LONGEST_STEP = 0.5


@dataclass(frozen=True)
class Moments:
    """All that the estimates depend on.

    Parameters
    ----------
    gram : array (1 or r, p, p)
        X_j^T X_j / n_j, a single one when it is shared.
    correlation : array (r, p)
        X_j^T y_j / n_j.
    power : array (r,)
        ||y_j||^2 / n_j.
    rank : array (r,)
        Bound on the rank of each design.
    """

    gram: np.ndarray
    correlation: np.ndarray
    power: np.ndarray
    rank: np.ndarray

    def task(self, j: int) -> Moments:
        """The moments of one task."""
        own = slice(j, j + 1)
        gram = self.gram if len(self.gram) == 1 else self.gram[own]
        return Moments(gram, self.correlation[own], self.power[own], self.rank[own])


def moments(problem: Problem) -> Moments:
    """The moments of a problem.

    Raises
    ------
    DataError
        When they are not finite.
    """
    gram = stored(problem.gram)
    curvature = np.diagonal(gram, axis1=1, axis2=2)
    if not (np.isfinite(problem.correlation).all() and np.isfinite(curvature).all()):
        raise DataError("the data hold values that are not finite, or too large to be squared.")
    rank = np.minimum(problem.n_samples, problem.n_features)
    return Moments(gram, problem.correlation, problem.response_power, rank)


def smallest_null_lam(data: Moments, ratio: float) -> float:
    """The smallest lam at which the estimate is zero.

    Parameters
    ----------
    ratio : float in [1, r]
        lam_b / lam_s of the row penalty; r gives the Lasso, 1 the l1/linf group lasso.
    """
    size = np.abs(data.correlation)
    return float(max(size.max(), size.sum(axis=0).max() / ratio))


def lam_values(largest: float, n_lams: int, lam_min_ratio: float) -> np.ndarray:
    """``n_lams`` values down from the largest, equally spaced in log.

    Where every lam gives the zero estimate (largest = 0) the grid is the single value 1.
    """
    if largest == 0.0:
        return np.ones(1)
    return np.geomspace(largest, largest * lam_min_ratio, n_lams)


def checked_lam(lam: float | Sequence[float]) -> np.ndarray:
    """Positive finite values as an array (m,).

    Raises
    ------
    ConfigError
        When a value is not positive and finite.
    """
    values = np.atleast_1d(np.asarray(lam, dtype=float))
    if values.ndim != 1 or values.size == 0 or not np.all(np.isfinite(values) & (values > 0)):
        raise ConfigError(f"lam must be positive and finite, one value or a list; it is {lam}.")
    return values


def follow(
    data: Moments,
    lam: np.ndarray,
    ratio: float,
    *,
    tol: float,
    max_sweeps: int,
    max_support: int | None = None,
) -> Path:
    """Row-penalised estimates at the given values of lam, in their order.

    Parameters
    ----------
    lam : array (m,)
        Price of an entry, lam_s.
    ratio : float in [1, r]
        lam_b / lam_s.
    tol : float
        Duality gap at which a point counts as converged, relative to the objective at zero.
    max_sweeps : int
        Most rounds of updates for one point.
    max_support : int, optional
        End after the first point with more nonzero entries; lam must then be decreasing.

    Returns
    -------
    Path
        With grid ``lam``, and the points not reached left out.
    """
    power, rank = float(data.power.sum()), int(data.rank.sum())

    def solve(steps, accuracy, sweeps, limit):
        prices = steps, ratio * steps
        return row_path(data.gram, data.correlation, power, *prices, rank, accuracy, sweeps, limit)

    largest = smallest_null_lam(data, ratio)
    return follow_with(
        solve, data, lam, largest, tol=tol, max_sweeps=max_sweeps, max_support=max_support
    )


def follow_with(
    solve: Callable[[np.ndarray, float, int, np.ndarray], tuple],
    data: Moments,
    lam: np.ndarray,
    largest: float,
    *,
    tol: float,
    max_sweeps: int,
    max_support: int | None = None,
) -> Path:
    """As ``follow``, with any kernel and penalty.

    Parameters
    ----------
    solve : callable (lam, accuracy, max_sweeps, max_support)
        The estimates (m, p, r) at decreasing lam, their objectives and duality gaps, and how many
        of them were computed; it ends after a point with more nonzero entries than the array
        ``max_support`` allows there.
    largest : float
        The smallest lam at which the estimate is zero.
    """
    order = np.argsort(-lam, kind="stable")
    steps, asked = _with_stepping_stones(lam[order], largest)
    limit = np.full(len(steps), data.correlation.size)
    if max_support is not None:
        limit[asked] = max_support
    accuracy = 0.5 * tol * float(data.power.sum())
    require_memory(
        8.0 * len(steps) * data.correlation.size,
        f"a path of {len(steps)} estimates",
        "Give fewer values of lam.",
    )
    coef, objective, gap, done = solve(steps, accuracy, max_sweeps, limit)
    order = order[asked < done]
    at = asked[asked < done][np.argsort(order)]
    return Path(coef[at], {"lam": steps[at]}, objective[at], gap[at] <= accuracy)


def _with_stepping_stones(lam: np.ndarray, largest: float) -> tuple[np.ndarray, np.ndarray]:
    """Decreasing lam with more points in the wide gaps, and where the given ones stand."""
    steps: list[float] = []
    asked = []
    last = largest
    for value in lam:
        if value < LONGEST_STEP * last:
            count = int(np.ceil(np.log(value / last) / np.log(LONGEST_STEP)))
            steps.extend(np.geomspace(last, value, count + 1)[1:-1])
        asked.append(len(steps))
        steps.append(float(value))
        last = min(last, value)
    return np.array(steps), np.array(asked)


def remarks(converged: np.ndarray, tol: float, missing: int, max_support: int | None) -> str:
    """What a user should know of a path, in sentences."""
    said = []
    failed = np.count_nonzero(~converged)
    if failed:
        said.append(f"{failed} of {len(converged)} points did not reach a duality gap of {tol:g}.")
    if missing:
        said.append(
            f"The path ended {missing} points early, at more than {max_support} nonzero entries."
        )
    return " ".join(said)
