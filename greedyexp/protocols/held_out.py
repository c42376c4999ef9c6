"""The error of estimates on rows left out of a fit, which cross-validation compares."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from greedyexp.losses.logistic import LogisticLoss
from greedyexp.path import Path
from greedyexp.problem import Problem


def held_out_errors(fitted: Path, left: Problem, whole: Problem) -> Iterator[np.ndarray]:
    """Mean loss on the rows left out of each task, without any penalty.

    The mean squared residual; of a logistic loss the mean of log(1 + exp(-y margin)). An intercept
    is part of the prediction.

    Parameters
    ----------
    fitted : Path
        m estimates from the other rows.
    left : Problem
        The rows left out.
    whole : Problem
        All rows, whose responses tell what the two classes are.

    Yields
    ------
    array (m,)
    """
    for task, (X, y) in enumerate(zip(left.X, left.y, strict=True)):
        predicted = fitted.coef[:, :, task] @ X.T
        if fitted.dense is not None and fitted.dense.size:
            predicted = predicted + fitted.dense
        if isinstance(fitted.loss, LogisticLoss):
            signs = np.where(y == whole.y[task].max(), 1.0, -1.0)
            yield np.logaddexp(0.0, -signs * predicted).mean(axis=1)
        else:
            yield ((y - predicted) ** 2).mean(axis=1)
