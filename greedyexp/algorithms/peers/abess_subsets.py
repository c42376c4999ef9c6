"""Best subsets by splicing, the method of abess."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from greedyexp.algorithms import _parameters as param
from greedyexp.algorithms.peers._tasks import (
    Fitted,
    check_sizes,
    path_of_tasks,
    sizes_of,
    small_problem,
)
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem

# Root mean square of the response that abess gets.
_RESPONSE = 1e4


def prepare(**_) -> None:
    """Import abess."""
    abess(small_problem())


@algorithm(
    "abess",
    title="abess",
    paper="Zhu et al. (2020)",
    check=check_sizes,
    packages=("abess",),
    prepare=prepare,
    stops=("n_atoms", "criterion"),
)
def abess(
    problem: Problem,
    *,
    n_atoms: param.Atoms = None,
    criterion: Annotated[
        Literal["aic", "bic", "gic", "ebic"] | None,
        Field(description="return one estimate, whose size abess chooses by this criterion"),
    ] = None,
    max_iter: param.MaxIter = 20,
    exchange_num: Annotated[
        int, Field(ge=1, description="maximum number of features exchanged at a time")
    ] = 5,
    important_search: Annotated[
        int, Field(ge=0, description="number of outside features considered; 0 for all")
    ] = 0,
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Adaptive best-subset selection for each task, by ``abess.LinearRegression``.

    For each size, features are exchanged as long as the residual sum of squares falls. abess itself
    asks that ||y_j - X_j b_j||^2 / (2 n_j) falls by 0.01 s log(p) log(log n_j) / n_j, whatever the
    units of the response. It gets a multiple of the response for which this limit is negligible.
    It gets no columns of zeros, which it refuses.

    Without a criterion, each size is a fit of its own, so that an estimate does not depend on the
    other sizes of the path; abess starts from no features. With a criterion, one call of abess goes
    through all sizes, starting each from the one before, and chooses a size for each task.

    Parameters
    ----------
    problem : Problem
        A problem with r >= 1 tasks.
    n_atoms : int, optional
        Largest number of features of a task; by default half of min(n, p), with n the smallest
        number of rows of a task.
    criterion : {"aic", "bic", "gic", "ebic"}, optional
        With a criterion, the path has one point. abess uses ebic by default. Use ``tuning: end``.
    max_iter : int >= 1
        Maximum number of exchanges for one size; the default is that of abess.
    exchange_num : int >= 1
        The default is that of abess.
    important_search : int >= 0
        abess considers the 128 most promising outside features by default. All of them are
        considered here, as in the paper.
    grid : dict with array ``n_atoms``, optional
        Return one estimate for each number of features, in this order. A criterion is not used.

    Returns
    -------
    Path
        A path with grid ``n_atoms``. With a criterion, it is the limit of the sizes, and not the
        chosen size.

    Raises
    ------
    ConfigError
        If n_atoms is more than p or the number of rows.

    References
    ----------
    J. Zhu, C. Wen, J. Zhu, H. Zhang, X. Wang, A polynomial algorithm for best-subset selection
    problem, 2020.
    """
    from abess.linear import LinearRegression

    param.enforce(check_sizes, problem, n_atoms=n_atoms)
    settings: dict[str, Any] = {
        "fit_intercept": False,
        "max_iter": max_iter,
        "exchange_num": exchange_num,
        "important_search": important_search,
    }

    def fitted(X: np.ndarray, y: np.ndarray, support_size: list[int], **more: Any) -> np.ndarray:
        scale = float(np.sqrt((y**2).mean())) / _RESPONSE
        kept = np.flatnonzero(X.any(axis=0))
        coef = np.zeros(X.shape[1])
        if scale and len(kept):
            most = min(len(X), len(kept))
            sizes = sorted({min(size, most) for size in support_size})
            # abess scales the columns, and returns coefficients in units of the data.
            model = LinearRegression(support_size=sizes, **more, **settings)
            coef[kept] = model.fit(X[:, kept], y / scale).coef_ * scale
        return coef

    def fit(X: np.ndarray, y: np.ndarray, sizes: np.ndarray) -> Fitted:
        coef = [fitted(X, y, [int(size)]) for size in sizes]
        return Fitted(np.stack(coef), np.ones(len(sizes), bool))

    def chosen(X: np.ndarray, y: np.ndarray, sizes: np.ndarray) -> Fitted:
        every = list(range(int(sizes[0]) + 1))
        return Fitted(fitted(X, y, every, ic_type=criterion)[None], np.ones(1, bool))

    sizes = sizes_of(problem, "n_atoms", n_atoms, grid)
    if criterion is not None and grid is None:
        return path_of_tasks(problem, "n_atoms", sizes[-1:], chosen)
    return path_of_tasks(problem, "n_atoms", sizes, fit)
