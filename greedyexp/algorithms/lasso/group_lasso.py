"""Group lassos: least squares with an l1/linf or an l1/l2 penalty on rows."""

from __future__ import annotations

import numpy as np

from greedyexp.algorithms import _parameters as param
from greedyexp.core.errors import DataError
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem
from greedyexp.solvers.row_paths import PathSettings, data_of, penalised_path
from greedyexp.solvers.row_penalties import DirtyPenalty, EuclideanPenalty
from greedyexp.theory.noise import row_price, row_price_l2


def theory_grid(problem: Problem, **_) -> dict[str, np.ndarray]:
    """lam at twice the noise in the rows of the gradient; see ``theory.noise``."""
    return {"lam": np.array([row_price(problem)])}


@algorithm(
    "group_lasso",
    title="Group lasso (l1/linf)",
    paper="Turlach, Venables & Wright (2005); Negahban & Wainwright (2008)",
    check=param.check_max_support,
    takes_sparse=True,
    theory=theory_grid,
    stops=("lam", "max_support"),
)
def group_lasso(
    problem: Problem,
    *,
    lam: param.Lams = None,
    n_lams: param.NLams = 50,
    lam_min_ratio: param.LamMinRatio = 0.01,
    max_support: param.MaxSupport = None,
    tol: param.Tol = 1e-7,
    max_sweeps: param.MaxSweeps = 1000,
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """l1/linf group lasso: rows of the coefficients enter together.

    Minimises sum_j ||y_j - X_j b_j||^2 / (2 n_j) + lam sum_i max_j |b_ij|, exactly up
    to rounding. Block coordinate descent finds the entries that are zero, tied at the largest size
    of their row, or below it; Newton steps solve on that manifold. With one task this is the Lasso.

    Parameters
    ----------
    problem : Problem
        A problem with r >= 1 tasks.
    lam : float or list of float > 0, optional
        Explicit values; there is one estimate for each, in this order.
    n_lams : int >= 1
        Number of values of the automatic grid, equally spaced in log lam, down from
        max_i sum_j |x_ij^T y_j| / n_j, the smallest value that gives zero.
    lam_min_ratio : float in (0, 1)
        Ratio of the last value of this grid to the first.
    max_support : int >= 1, optional
        The automatic path ends with the first estimate that has more nonzero entries; a row of
        the support usually has r.
    tol : float in (0, 1)
        An estimate is ``converged`` if its duality gap is at most tol times the objective at 0.
    max_sweeps : int >= 1
        Maximum number of rounds of row updates and Newton steps for one value of lam.
    grid : dict with an array ``lam``, optional
        Values that replace ``lam``.

    Returns
    -------
    Path
        A path with grid ``lam``; ``objective`` is the loss plus the penalty.

    Raises
    ------
    ConfigError
        If a value of lam is not positive and finite, or max_support is more than p r.
    DataError
        If the data are not finite.

    References
    ----------
    B. A. Turlach, W. N. Venables, S. J. Wright, Simultaneous variable selection, 2005.
    S. Negahban, M. J. Wainwright, Joint support recovery under high-dimensional scaling: benefits
    and perils of l1,inf-regularization, 2008.
    """
    param.enforce(param.check_max_support, problem, max_support=max_support)
    asked = lam if grid is None else grid["lam"]
    settings = PathSettings(asked, n_lams, lam_min_ratio, max_support, tol, max_sweeps)
    return penalised_path(data_of(problem), DirtyPenalty(1.0), settings)


# Newton's method takes powers of the largest correlation; outside this range they overflow.
_SMALLEST, _LARGEST = 1e-80, 1e80


def theory_grid_l2(problem: Problem, **_) -> dict[str, np.ndarray]:
    """lam at twice the noise in the rows of the gradient; see ``theory.noise``."""
    return {"lam": np.array([row_price_l2(problem)])}


@algorithm(
    "group_lasso_l2",
    title="Group lasso (l1/l2)",
    paper="Yuan & Lin (2006); Obozinski, Wainwright & Jordan (2011)",
    check=param.check_max_support,
    takes_sparse=True,
    theory=theory_grid_l2,
    stops=("lam", "max_support"),
)
def group_lasso_l2(
    problem: Problem,
    *,
    lam: param.Lams = None,
    n_lams: param.NLams = 50,
    lam_min_ratio: param.LamMinRatio = 0.01,
    max_support: param.MaxSupport = None,
    tol: param.Tol = 1e-7,
    max_sweeps: param.MaxSweeps = 1000,
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """l1/l2 group lasso: rows of the coefficients enter together.

    Minimises sum_j ||y_j - X_j b_j||^2 / (2 n_j) + lam sum_i (sum_j b_ij^2)^(1/2), exactly up to
    rounding, by Newton's method in one scale for each row. With one task this is the Lasso. Where
    columns are linearly dependent the minimiser may not be unique; one of them is returned.

    Parameters
    ----------
    problem : Problem
        A problem with r >= 1 tasks.
    lam : float or list of float > 0, optional
        Explicit values; there is one estimate for each, in this order.
    n_lams : int >= 1
        Number of values of the automatic grid, equally spaced in log lam, down from
        max_i (sum_j (x_ij^T y_j / n_j)^2)^(1/2), the smallest value that gives zero.
    lam_min_ratio : float in (0, 1)
        Ratio of the last value of this grid to the first.
    max_support : int >= 1, optional
        The automatic path ends with the first estimate that has more nonzero entries; a row of
        the support has r, except for columns that are zero in a task.
    tol : float in (0, 1)
        An estimate is ``converged`` if its duality gap is at most tol times the objective at 0.
    max_sweeps : int >= 1
        Maximum number of Newton steps for one value of lam.
    grid : dict with an array ``lam``, optional
        Values that replace ``lam``.

    Returns
    -------
    Path
        A path with grid ``lam``; ``objective`` is the loss plus the penalty.

    Raises
    ------
    ConfigError
        If a value of lam is not positive and finite, or max_support is more than p r.
    DataError
        If the data are not finite, or too large or small for Newton steps.

    References
    ----------
    M. Yuan, Y. Lin, Model selection and estimation in regression with grouped variables, 2006.
    G. Obozinski, M. J. Wainwright, M. I. Jordan, Support union recovery in high-dimensional
    multivariate regression, 2011.
    """
    param.enforce(param.check_max_support, problem, max_support=max_support)
    asked = lam if grid is None else grid["lam"]
    settings = PathSettings(asked, n_lams, lam_min_ratio, max_support, tol, max_sweeps)
    data, penalty = data_of(problem), EuclideanPenalty()
    largest = penalty.largest(data.correlation)
    if largest and not _SMALLEST < largest < _LARGEST:
        raise DataError(
            f"the largest correlation of a feature with the responses is {largest:.1e}, out of the"
            " range that Newton steps can be computed with.",
            remedy=f"Use units in which it is between {_SMALLEST:g} and {_LARGEST:g}.",
        )
    return penalised_path(data, penalty, settings)
