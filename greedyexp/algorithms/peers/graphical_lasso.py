"""The graphical lasso of scikit-learn."""

from __future__ import annotations

import warnings
from typing import Annotated

import numpy as np
from pydantic import Field

from greedyexp.algorithms import _parameters as param
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.losses.binding import bind
from greedyexp.problems.problem import Problem
from greedyexp.solvers.row_paths import lam_values


@algorithm(
    "graphical_lasso",
    title="graphical lasso (scikit-learn)",
    paper="Friedman, Hastie & Tibshirani (2008)",
    requires=("covariance",),
    takes_population=True,
    packages=("scikit-learn",),
    stops=("alpha",),
)
def graphical_lasso(
    problem: Problem,
    *,
    alpha: Annotated[
        param.Lams, Field(description="explicit value or values of alpha instead of the grid")
    ] = None,
    n_alphas: Annotated[
        int, Field(ge=1, description="number of points of the automatic grid")
    ] = 30,
    alpha_min_ratio: Annotated[
        float, Field(gt=0, lt=1, description="smallest over largest alpha of the automatic grid")
    ] = 0.05,
    standardize: Annotated[
        bool, Field(description="penalise the precision matrix of standardised variables")
    ] = False,
    tol: Annotated[float, Field(gt=0, description="duality gap to reach")] = 1e-4,
    max_iter: param.MaxIter = 100,
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Graphical models with an l1 penalty, by ``sklearn.covariance.graphical_lasso``.

    Minimises -log det T + <S, T> + alpha sum_{i != j} |T_ij| over positive definite matrices T. By
    default S is the covariance, and the graph depends on the units of variables: edges between
    variables of large variance enter first. Each value of alpha is a fit of its own. ``l1_path``
    with loss ``logdet`` and lam = 2 alpha minimises the same function, with a certificate for each
    coefficient.

    Parameters
    ----------
    problem : Problem
        A problem whose features are the pairs of variables.
    alpha : float or list of float > 0, optional
        Explicit values; there is one estimate for each, in this order.
    n_alphas : int >= 1
        Number of values of the automatic grid, equally spaced in log alpha, down from the largest
        |S_ij|, the smallest value that gives no edge.
    alpha_min_ratio : float in (0, 1)
        Ratio of the last value of this grid to the first.
    standardize : bool
        Whether S is the correlation matrix; coefficients are in units of the data again.
    tol : float > 0
        Duality gap to reach; the default is that of scikit-learn.
    max_iter : int >= 1
        Maximum number of iterations of a fit; the default is that of scikit-learn.
    grid : dict with an array ``alpha``, optional
        Values that replace ``alpha``.

    Returns
    -------
    Path
        A path with grid ``alpha``. ``objective`` is -log det T + <S, T>, without the penalty. A
        point that does not reach ``tol`` is not converged. Where rounding stops a fit, the point
        repeats the estimate of the one before.

    References
    ----------
    J. Friedman, T. Hastie, R. Tibshirani, Sparse inverse covariance estimation with the graphical
    lasso, 2008.
    """
    from sklearn.covariance import graphical_lasso as fit
    from sklearn.exceptions import ConvergenceWarning

    loss = bind("logdet", problem)
    assert problem.covariance is not None
    S, pairs = problem.covariance.matrix, problem.covariance.pairs
    units = np.sqrt(S.diagonal()) if standardize else np.ones(len(S))
    S = S / np.outer(units, units)
    if grid is not None:
        alphas = param.grid_values(grid, "alpha")
    elif alpha is not None:
        alphas = param.as_numbers(alpha)
    else:
        largest = float(np.abs(S[pairs]).max()) or float(S.diagonal().max())
        alphas = lam_values(largest, n_alphas, alpha_min_ratio)
    precision, found, converged = np.diag(1.0 / S.diagonal()), [], []
    said: list[str] = []
    for value in alphas:
        with warnings.catch_warnings(record=True) as issued:
            warnings.simplefilter("always")
            try:
                _, precision = fit(S, float(value), tol=tol, max_iter=max_iter)
                stopped = any(one.category is ConvergenceWarning for one in issued)
            except FloatingPointError as error:
                stopped = True
                said.append(f"rounding stops the fit at alpha = {value:.3g}: {error}")
        converged.append(not stopped)
        scaled = precision / np.outer(units, units)
        found.append(np.append(scaled[pairs], scaled.diagonal()))
    params = np.array(found)
    return Path(
        params[:, : loss.size, None],
        {"alpha": alphas},
        np.array([loss.value(one) for one in params]),
        np.array(converged),
        " ".join(said),
        loss=loss,
        dense=params[:, loss.size :],
    )
