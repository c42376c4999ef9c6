"""Group lasso with l2 norms over rows: least squares with an l1/l2 penalty."""

from __future__ import annotations

import numpy as np

from greedyexp.algorithms._limits import check_max_support, enforce
from greedyexp.algorithms.lasso._row_paths import (
    LamMinRatio,
    Lams,
    MaxSupport,
    MaxSweeps,
    NLams,
    Tol,
    checked_lam,
    follow_with,
    lam_values,
    moments,
    remarks,
)
from greedyexp.core.errors import DataError
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.kernels.l2_path import l2_path
from greedyexp.problems.problem import Problem
from greedyexp.theory.noise import row_price_l2

# Sizes of the largest correlation for which the powers in Newton's method are numbers.
_SMALLEST, _LARGEST = 1e-80, 1e80


def theory_grid(problem: Problem, **_) -> dict[str, np.ndarray]:
    """lam at twice the noise in the rows of the gradient; see ``theory.noise``."""
    return {"lam": np.array([row_price_l2(problem)])}


@algorithm(
    "group_lasso_l2",
    title="Group lasso (l1/l2)",
    paper="Yuan & Lin (2006); Obozinski, Wainwright & Jordan (2011)",
    check=check_max_support,
    theory=theory_grid,
    stops=("lam", "max_support"),
)
def group_lasso_l2(
    problem: Problem,
    *,
    lam: Lams = None,
    n_lams: NLams = 50,
    lam_min_ratio: LamMinRatio = 0.01,
    max_support: MaxSupport = None,
    tol: Tol = 1e-7,
    max_sweeps: MaxSweeps = 1000,
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """l1/l2 group lasso: rows of the coefficients enter together.

    Minimises sum_j ||y_j - X_j b_j||^2 / (2 n_j) + lam sum_i (sum_j b_ij^2)^(1/2), exactly but for
    rounding, by Newton's method in one scale for each row. With one task this is the Lasso. Where
    columns are linearly dependent the minimiser may not be unique; one of them is returned.

    Parameters
    ----------
    problem : Problem
        r >= 1 tasks.
    lam : float or list of float > 0, optional
        One estimate for each, in this order.
    n_lams : int >= 1
        Without ``lam``: so many values from max_i (sum_j (x_ij^T y_j / n_j)^2)^(1/2), the smallest
        that gives zero, downwards, equally spaced in log lam.
    lam_min_ratio : float in (0, 1)
        Last of them over the first.
    max_support : int >= 1, optional
        The automatic path ends with the first estimate that has more nonzero entries; a row of
        the support has r, but for columns that are zero in a task.
    tol : float in (0, 1)
        An estimate is ``converged`` when its duality gap is at most tol times the objective at 0.
    max_sweeps : int >= 1
        Most Newton steps for one value of lam.
    grid : dict with an array ``lam``, optional
        As ``lam``.

    Returns
    -------
    Path
        With grid ``lam``; ``objective`` is loss plus penalty.

    Raises
    ------
    ConfigError
        When a value of lam is not positive and finite, or max_support is more than p r.
    DataError
        When the data are not finite, or too large or small for Newton steps.

    References
    ----------
    M. Yuan, Y. Lin, Model selection and estimation in regression with grouped variables, 2006.
    G. Obozinski, M. J. Wainwright, M. I. Jordan, Support union recovery in high-dimensional
    multivariate regression, 2011.
    """
    enforce(check_max_support, problem, max_support=max_support)
    data = moments(problem)
    power = float(data.power.sum())
    largest = float(np.linalg.norm(data.correlation, axis=0).max())
    if largest and not _SMALLEST < largest < _LARGEST:
        raise DataError(
            f"the largest correlation of a feature with the responses is {largest:.1e}, out of the"
            " range that Newton steps can be computed with.",
            remedy=f"Use units in which it is between {_SMALLEST:g} and {_LARGEST:g}.",
        )
    if grid is not None:
        lam = grid["lam"]
    if lam is None:
        lams = lam_values(largest, n_lams, lam_min_ratio)
    else:
        lams, max_support = checked_lam(lam), None

    def solve(steps, accuracy, sweeps, limit):
        return l2_path(data.gram, data.correlation, power, steps, accuracy, sweeps, limit)

    path = follow_with(
        solve, data, lams, largest, tol=tol, max_sweeps=max_sweeps, max_support=max_support
    )
    message = remarks(path.converged, tol, len(lams) - len(path), max_support)
    return Path(path.coef, path.grid, path.objective, path.converged, message)
