"""The radius of an l1 ball: as given, or the l1 norm of the true coefficients."""

from __future__ import annotations

import numpy as np

from greedyexp.core.errors import ConfigError
from greedyexp.problems.problem import Problem

# The square of a radius outside this range, times the largest allowed features, overflows.
SMALLEST_RADIUS, LARGEST_RADIUS = 1e-75, 1e75


def truth_of(problem: Problem, remedy: str) -> np.ndarray:
    """Return the true coefficients, (d,), or raise ConfigError with this remedy."""
    if problem.truth is None:
        raise ConfigError("the true coefficients are not known.", remedy=remedy)
    return problem.truth[:, 0].astype(np.float64)


def radius_of(problem: Problem, radius: float | None, owner: str) -> float:
    """Return ``radius`` if it is given, otherwise the l1 norm of the true coefficients.

    Parameters
    ----------
    owner : str
        The part that has the parameter, such as ``algorithm 'l1_ball'``.

    Raises
    ------
    ConfigError
        If no radius is given and the truth is unknown or zero.
    """
    if radius is not None:
        return float(radius)
    remedy = f"Give radius of {owner}."
    norm = float(np.abs(truth_of(problem, remedy)).sum())
    if norm == 0.0:
        raise ConfigError("the true coefficients are zero.", remedy=remedy)
    return norm
