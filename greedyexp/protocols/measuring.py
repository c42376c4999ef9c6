"""Metrics along a path, of its coefficients or of all that is known of it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from greedyexp.core.parts import Metric
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem
from greedyexp.protocols.border import check_metric, own_randomness_only


def measure(metric: Metric, problem: Problem, path: Path) -> np.ndarray:
    """A metric at every estimate of a path, shape (m,).

    Raises
    ------
    PluginError
        When it returns anything else, or draws from a global random state.
    """
    # One metric must not change what the next one sees.
    coef = path.coef.view()
    coef.flags.writeable = False
    known = replace(path, coef=coef) if metric.of == "path" else coef
    with own_randomness_only(metric):
        made = metric.function(problem, known)
    return check_metric(metric, made, len(path))


def all_finite(row: dict) -> bool:
    """Whether the numbers of a row are finite; texts and None are ignored."""
    return all(math.isfinite(x) for x in row.values() if x is not None and not isinstance(x, str))
