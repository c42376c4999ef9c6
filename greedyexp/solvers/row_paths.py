"""Paths of least squares with a penalty on rows: grids, warm starts and the certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from greedyexp.core.errors import ConfigError, DataError
from greedyexp.estimates.path import Path
from greedyexp.estimates.sparse import SparseEstimates
from greedyexp.kernels.gram_fit import stored
from greedyexp.problems.checks import require_memory
from greedyexp.problems.problem import LARGEST_GRAM, Problem
from greedyexp.solvers.row_penalties import Estimates, Points, RowPenalty, TaskMoments
from greedyexp.solvers.working_set import TaskDesigns

# Extra points are inserted where lam falls below this fraction of the point before: a warm start
# from far away costs more than the points on the way.
_LONGEST_STEP = 0.5

# A Gram matrix of more features than this pays only if this number of paths share it.
FEW_FEATURES, MANY_PATHS = 1024, 4


@dataclass(frozen=True)
class TaskGrams:
    """The moments of tasks, with their designs.

    Products with a Gram matrix lose twice the digits of those with a design. If data are nearly
    degenerate, only the design tells how close an estimate is.
    """

    moments: TaskMoments
    designs: TaskDesigns

    @property
    def correlation(self) -> np.ndarray:
        return self.moments.correlation

    @property
    def power(self) -> np.ndarray:
        return self.moments.power

    def violations(self, lam: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """Return by how much coefficients violate optimality; see ``TaskDesigns``."""
        return self.designs.violations(lam, coef)

    def task(self, j: int) -> TaskGrams:
        """Return the moments and the design of one task."""
        return TaskGrams(self.moments.task(j), self.designs.task(j))

    def estimates(self, penalty: RowPenalty, points: Points) -> Estimates:
        """Return the estimates at all points; designs judge those that moments cannot certify."""
        coef, objective, gap, done = self.moments.estimates(penalty, points)
        for k in np.flatnonzero(~(gap[:done] <= points.accuracy)):
            objective[k], gap[k] = self.designs.certificate(penalty, points.lam[k], coef[k])
        return coef, objective, gap, done


Data = TaskGrams | TaskDesigns


def data_of(problem: Problem, n_paths: int = 1, ridge: float = 0.0) -> Data:
    """Return what determines the estimates: moments, or designs if there are many features.

    Parameters
    ----------
    problem : Problem
    n_paths : int
        Number of paths that are computed from each design.
    ridge : float >= 0
        ridge / 2 ||b_j||^2 is added to the loss of each task.

    Raises
    ------
    DataError
        If squares of the data are not finite.
    """
    rank = np.minimum(problem.n_samples, problem.n_features)
    if ridge:
        rank = np.full_like(rank, problem.n_features)
    designs = TaskDesigns.of(problem, rank, ridge)
    if problem.n_features > (LARGEST_GRAM if n_paths >= MANY_PATHS else FEW_FEATURES):
        curvature = np.stack([columns.square for columns in problem.columns])
        data: Data = designs
    else:
        gram = stored(problem.gram)
        if ridge:
            gram = gram + ridge * np.eye(problem.n_features)
        curvature = np.diagonal(gram, axis1=1, axis2=2)
        moments = TaskMoments(gram, problem.correlation, problem.response_power, rank)
        data = TaskGrams(moments, designs)
    if not (np.isfinite(problem.correlation).all() and np.isfinite(curvature).all()):
        raise DataError("the data hold values that are not finite, or too large to be squared.")
    return data


@dataclass(frozen=True)
class PathSettings:
    """The points of a path and the accuracy of its estimates.

    Parameters
    ----------
    lam : float or list of float > 0, optional
        Explicit values; None for the automatic grid.
    n_lams : int
        Points of the automatic grid.
    lam_min_ratio : float in (0, 1)
        Ratio of the last to the first value of the automatic grid.
    max_support : int, optional
        The automatic path ends after the first point with more nonzero entries.
    tol : float
        Duality gap at which a point counts as converged, relative to the objective at zero.
    max_sweeps : int
        Maximum number of update rounds per point.
    """

    lam: float | Sequence[float] | np.ndarray | None = None
    n_lams: int = 50
    lam_min_ratio: float = 0.01
    max_support: int | None = None
    tol: float = 1e-7
    max_sweeps: int = 1000

    @property
    def limit(self) -> int | None:
        """Number of nonzero entries after which the path ends; None for explicit values."""
        return self.max_support if self.lam is None else None

    def lams(self, largest: float) -> np.ndarray:
        """Return the values of lam, (m,), if ``largest`` is the smallest that gives zero.

        Raises
        ------
        ConfigError
            If an explicit value is not positive and finite.
        """
        if self.lam is None:
            return lam_values(largest, self.n_lams, self.lam_min_ratio)
        return checked_lam(self.lam)

    def remarks(self, converged: np.ndarray, missing: int) -> str:
        """Return remarks on points that have not converged and points that were not reached."""
        found = []
        failed = np.count_nonzero(~converged)
        if failed:
            found.append(
                f"{failed} of {len(converged)} points did not reach a duality gap of {self.tol:g}."
            )
        if missing:
            found.append(
                f"The path ended {missing} points early, at more than {self.limit} nonzero entries."
            )
        return " ".join(found)


def lam_values(largest: float, n_lams: int, lam_min_ratio: float) -> np.ndarray:
    """Return ``n_lams`` decreasing values from the largest, equally spaced in the logarithm.

    If every lam gives the zero estimate (largest = 0), the grid is the single value 1.
    """
    if largest == 0.0:
        return np.ones(1)
    return np.geomspace(largest, largest * lam_min_ratio, n_lams)


def checked_lam(lam: float | Sequence[float] | np.ndarray) -> np.ndarray:
    """Return positive finite values as an array (m,).

    Raises
    ------
    ConfigError
        If a value is not positive and finite.
    """
    values = np.atleast_1d(np.asarray(lam, dtype=float))
    if values.ndim != 1 or values.size == 0 or not np.all(np.isfinite(values) & (values > 0)):
        raise ConfigError(f"lam must be positive and finite, one value or a list; it is {lam}.")
    return values


def penalised_path(data: Data, penalty: RowPenalty, settings: PathSettings) -> Path:
    """Return the path of one penalty, with remarks for the user."""
    lams = settings.lams(penalty.largest(data.correlation))
    path = follow(data, penalty, lams, settings)
    return replace(path, message=settings.remarks(path.converged, len(lams) - len(path)))


def follow(data: Data, penalty: RowPenalty, lam: np.ndarray, settings: PathSettings) -> Path:
    """Return the estimates at given values of lam, in their order.

    Parameters
    ----------
    lam : array (m,)
        Decreasing if the settings have a ``limit``.

    Returns
    -------
    Path
        A path with grid ``lam``; points after the limit are left out.
    """
    order = np.argsort(-lam, kind="stable")
    steps, asked = _with_stepping_stones(lam[order], penalty.largest(data.correlation))
    limit = np.full(len(steps), data.correlation.size)
    if settings.limit is not None:
        limit[asked] = settings.limit
    accuracy = 0.5 * settings.tol * float(data.power.sum())
    require_memory(
        8.0 * len(steps) * data.correlation.size,
        f"a path of {len(steps)} estimates",
        "Give fewer values of lam.",
    )
    points = Points(steps, limit, accuracy, settings.max_sweeps)
    coef, objective, gap, done = data.estimates(penalty, points)
    order = order[asked < done]
    at = asked[asked < done][np.argsort(order)]
    estimates = SparseEstimates.of(coef).take(at)
    return Path(estimates, {"lam": steps[at]}, objective[at], gap[at] <= accuracy)


def _with_stepping_stones(lam: np.ndarray, largest: float) -> tuple[np.ndarray, np.ndarray]:
    """Return lam with extra points in wide gaps, and the indices of the given values."""
    steps: list[float] = []
    asked = []
    last = largest
    for value in lam:
        if value < _LONGEST_STEP * last:
            count = int(np.ceil(np.log(value / last) / np.log(_LONGEST_STEP)))
            steps.extend(np.geomspace(last, value, count + 1)[1:-1])
        asked.append(len(steps))
        steps.append(float(value))
        last = min(last, value)
    return np.array(steps), np.array(asked)
