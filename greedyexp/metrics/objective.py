"""What an algorithm minimises, at its estimates."""

from __future__ import annotations

import numpy as np

from greedyexp.core.registry import metric
from greedyexp.estimates.path import Path
from greedyexp.metrics.untold import NotTold
from greedyexp.problems.problem import Problem


@metric("objective", better="lower", title="objective value", of="path")
def objective(problem: Problem, path: Path) -> np.ndarray:
    """What the algorithm says it minimises: of a loss the mean over samples, with its ridge."""
    return np.array(path.objective, dtype=float)


@metric("total_objective", better="lower", title="objective, sum over samples", of="path")
def total_objective(problem: Problem, path: Path) -> np.ndarray:
    """The objective times the number of samples, as papers print it.

    Raises
    ------
    NotTold
        When the algorithm names no loss, and so not what its objective is a mean over.
    """
    if path.loss is None:
        raise NotTold(
            "metric 'total_objective' needs an algorithm that names its loss.",
            remedy="Use metric 'objective'.",
        )
    return path.loss.n_samples * objective(problem, path)
