"""Problems without a response, whose features are the pairs of the variables of a sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from greedyexp.core.errors import DataError
from greedyexp.problems.checks import (
    check_feature_sizes,
    constant_columns,
    is_sparse,
    require_memory,
)
from greedyexp.problems.moments import Covariance
from greedyexp.problems.problem import Problem, as_matrix, is_list_of_designs


def pair_problem(
    rows: np.ndarray,
    names: tuple[str, ...] = (),
    truth: np.ndarray | None = None,
    facts: dict[str, Any] | None = None,
) -> Problem:
    """Return the problem whose features are the pairs of variables, from finite rows.

    Parameters
    ----------
    rows : array (n, v)
    names : tuple of v str
        Names of the variables, by default x0, x1, ...
    truth : array (v, v), optional
        The true precision matrix, whose entries above the diagonal are the true coefficients.
    facts : dict, optional
        ``Problem.facts``.

    Returns
    -------
    Problem
        A problem without rows. The feature of the pair (x0, x1) is named ``x0 - x1``.
    """
    n, v = rows.shape
    centred = rows - rows.mean(axis=0)
    covariance = Covariance(centred.T @ centred / n, n)
    first, second = covariance.pairs
    named = names or tuple(f"x{i}" for i in range(v))
    true = None if truth is None else truth[first, second][:, None]
    return Problem(
        (np.zeros((0, len(first))),),
        (np.zeros(0),),
        truth=true,
        sparsity=None if true is None else int(np.count_nonzero(true)),
        facts=facts or {},
        feature_names=tuple(f"{named[i]} - {named[j]}" for i, j in zip(first, second, strict=True)),
        covariance=covariance,
    )


def as_pairs(X, names: tuple[str, ...] = ()) -> Problem:
    """Check rows of variables, and return the problem whose features are their pairs.

    Parameters
    ----------
    X : array or sparse array (n, v)
    names : tuple of v str, optional
        Names of the variables.

    Raises
    ------
    DataError
        If a value is not finite, there are fewer than two rows or variables, or a variable is
        constant.
    """
    if is_list_of_designs(X):
        raise DataError("a graph needs one sample of its variables.", remedy="Give X as one array.")
    design = as_matrix(X, "X")
    n, v = design.shape
    if n < 2:
        raise DataError(f"X has {n} row; at least 2 are needed.")
    if v < 2:
        raise DataError("X has one column, but edges need at least two variables.")
    check_feature_sizes(design, names)
    # Names, some arrays of one number for each pair, and second derivatives of the diagonal.
    require_memory(200.0 * v * v, f"the pairs of {v} variables", "Give fewer columns.")
    for variable in constant_columns(design)[:1]:
        name = f"'{names[variable]}'" if names else f"{variable}"
        raise DataError(
            f"column {name} of X is constant, so its precision would be infinite.",
            remedy="Leave it out.",
        )
    return pair_problem(design.toarray() if is_sparse(design) else design, names)
