"""Objective values and step counts that an algorithm reports along its path."""

from __future__ import annotations

import numpy as np

from greedyexp.core.errors import DataError
from greedyexp.core.registry import metric
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem


class NotReported(DataError):
    """The algorithm does not report the quantity; other metrics of the path are unaffected."""


@metric("objective", better="lower", title="objective value", of="path")
def objective(problem: Problem, path: Path) -> np.ndarray:
    """Objective that the algorithm reports: for a loss, its mean over samples plus its ridge."""
    return np.array(path.objective, dtype=float)


@metric("total_objective", better="lower", title="objective, sum over samples", of="path")
def total_objective(problem: Problem, path: Path) -> np.ndarray:
    """Objective times the number of samples, as papers print it.

    Raises
    ------
    NotReported
        If the algorithm names no loss: the samples of the mean are then unknown.
    """
    if path.loss is None:
        raise NotReported(
            "metric 'total_objective' needs an algorithm that names its loss.",
            remedy="Use metric 'objective'.",
        )
    return path.loss.n_samples * objective(problem, path)


@metric("additions", better=None, title="features added", of="path")
def additions(problem: Problem, path: Path) -> np.ndarray:
    """Number of features added so far, including features that were removed again."""
    return _step_count("additions", path)


@metric("removals", better=None, title="features removed", of="path")
def removals(problem: Problem, path: Path) -> np.ndarray:
    """Number of features removed so far."""
    return _step_count("removals", path)


def _step_count(name: str, path: Path) -> np.ndarray:
    if name not in path.facts:
        raise NotReported(
            f"metric '{name}' needs an algorithm that counts its steps.",
            remedy="Use foba_obj or foba_gdt, for example.",
        )
    return np.asarray(path.facts[name])
