"""Metrics along a path, of its coefficients or of all that is known of it."""

from __future__ import annotations

import numpy as np

from greedyexp.path import Path
from greedyexp.problem import Problem
from greedyexp.registry import Part


def measure(metric: Part, problem: Problem, path: Path) -> np.ndarray:
    """A metric at every estimate of a path, shape (m,)."""
    known = path if metric.extra["of"] == "path" else path.coef
    return np.asarray(metric.function(problem, known))
