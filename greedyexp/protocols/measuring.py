"""Metrics along a path, of its coefficients or of all that is known of it."""

from __future__ import annotations

import math

import numpy as np

from greedyexp.path import Path
from greedyexp.problem import Problem
from greedyexp.registry import Part


def measure(metric: Part, problem: Problem, path: Path) -> np.ndarray:
    """A metric at every estimate of a path, shape (m,)."""
    known = path if metric.extra["of"] == "path" else path.coef
    return np.asarray(metric.function(problem, known))


def all_finite(row: dict) -> bool:
    """Whether the numbers of a row are; texts and None are not looked at."""
    return all(math.isfinite(x) for x in row.values() if x is not None and not isinstance(x, str))
