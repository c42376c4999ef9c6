"""Features in [-1, 1], for which bounds by l1 norms are stated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from greedyexp.core.errors import DataError
from greedyexp.problems.problem import Problem


def in_unit_box(problem: Problem, features: str) -> tuple[Problem, float]:
    """The problem with features in [-1, 1], and the largest number that one was divided by.

    Parameters
    ----------
    problem : Problem
        One task. Moments are those of features in [-1, 1] already.
    features : {"refuse", "scale"}
        Whether larger features are refused, or each is divided by its own largest absolute value.
        Coefficients of the truth are multiplied by it, so that predictions stay as they are.

    Raises
    ------
    DataError
        When they are refused.
    """
    X = problem.X[0]
    if not X.shape[0]:
        return problem, 1.0
    largest = abs(X).max(axis=0)
    sizes = largest.toarray().ravel() if sparse.issparse(largest) else np.asarray(largest)
    factor = float(sizes.max(initial=0.0))
    if features == "refuse":
        if factor > 1.0:
            raise DataError(
                f"a feature has the value {factor:.4g}, and the bounds are for features in"
                " [-1, 1].",
                remedy="Let the protocol scale them by 'features: scale', or scale the data;"
                " generator 'file' standardizes by itself unless 'standardize: false'.",
            )
        return problem, 1.0
    sizes[sizes == 0.0] = 1.0
    if (sizes == 1.0).all():
        return problem, factor
    scaled = sparse.csr_array(X.multiply(1.0 / sizes)) if sparse.issparse(X) else X / sizes
    truth = None if problem.truth is None else problem.truth * sizes[:, None]
    boxed = replace(problem, X=(scaled,), truth=truth, X_test=(), y_test=(), moments=None)
    return boxed, factor
