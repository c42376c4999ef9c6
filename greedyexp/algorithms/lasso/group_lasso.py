"""Group lasso with linf norms over rows: least squares with an l1/linf penalty."""

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
    follow,
    lam_values,
    moments,
    remarks,
    smallest_null_lam,
)
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem
from greedyexp.theory.noise import row_price


def theory_grid(problem: Problem, **_) -> dict[str, np.ndarray]:
    """lam at twice the noise in the rows of the gradient; see ``theory.noise``."""
    return {"lam": np.array([row_price(problem)])}


@algorithm(
    "group_lasso",
    title="Group lasso (l1/linf)",
    paper="Turlach, Venables & Wright (2005); Negahban & Wainwright (2008)",
    check=check_max_support,
    theory=theory_grid,
    stops=("lam", "max_support"),
)
def group_lasso(
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
    """l1/linf group lasso: rows of the coefficients enter together.

    Minimises sum_j ||y_j - X_j b_j||^2 / (2 n_j) + lam sum_i max_j |b_ij|, exactly but for
    rounding: block coordinate descent finds which entries are zero, tied at the largest size of
    their row, or below it; Newton steps solve on that manifold. With one task this is the Lasso.

    Parameters
    ----------
    problem : Problem
        r >= 1 tasks.
    lam : float or list of float > 0, optional
        One estimate for each, in this order.
    n_lams : int >= 1
        Without ``lam``: so many values from max_i sum_j |x_ij^T y_j| / n_j, the smallest that
        gives zero, downwards, equally spaced in log lam.
    lam_min_ratio : float in (0, 1)
        Last of them over the first.
    max_support : int >= 1, optional
        The automatic path ends with the first estimate that has more nonzero entries; a row of
        the support usually has r.
    tol : float in (0, 1)
        An estimate is ``converged`` when its duality gap is at most tol times the objective at 0.
    max_sweeps : int >= 1
        Most rounds of row updates and Newton steps for one value of lam.
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
        When the data are not finite.

    References
    ----------
    B. A. Turlach, W. N. Venables, S. J. Wright, Simultaneous variable selection, 2005.
    S. Negahban, M. J. Wainwright, Joint support recovery under high-dimensional scaling: benefits
    and perils of l1,inf-regularization, 2008.
    """
    enforce(check_max_support, problem, max_support=max_support)
    data = moments(problem)
    if grid is not None:
        lam = grid["lam"]
    if lam is None:
        lams = lam_values(smallest_null_lam(data, 1.0), n_lams, lam_min_ratio)
    else:
        lams, max_support = checked_lam(lam), None
    path = follow(data, lams, 1.0, tol=tol, max_sweeps=max_sweeps, max_support=max_support)
    message = remarks(path.converged, tol, len(lams) - len(path), max_support)
    return Path(path.coef, path.grid, path.objective, path.converged, message)
