"""The error of estimates on rows left out of a fit, which cross-validation compares."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem


def held_out_errors(fitted: Path, left: Problem) -> Iterator[np.ndarray]:
    """Mean error of the rows left out of each task: what the loss of the path says, or squares.

    Parameters
    ----------
    fitted : Path
        m estimates from the other rows.
    left : Problem
        The rows left out.

    Yields
    ------
    array (m,)

    Raises
    ------
    DataError
        When the loss is not one of single rows.
    """
    if fitted.loss is not None:
        yield fitted.loss.row_losses(left.X[0], left.y[0], fitted.params).mean(axis=1)
        return
    for task, (X, y) in enumerate(zip(left.X, left.y, strict=True)):
        yield ((y - fitted.coef[:, :, task] @ X.T) ** 2).mean(axis=1)
