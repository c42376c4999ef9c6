"""What an experiment tells a protocol beside the problem, the algorithm and its parameters."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from greedyexp.core.parts import Metric


@dataclass(frozen=True)
class Setup:
    """How one algorithm is to be evaluated on one problem.

    Parameters
    ----------
    tuning : {"oracle", "cv", "theory", "none"}
        How a point of the algorithm's path is chosen; "none" for algorithms without a path.
    folds : int, at least 2
        Folds of the cross-validation.
    metrics : tuple of Metric
        The metrics that the experiment lists; empty for a protocol that takes none.
    rng : Generator
        The stream of this algorithm on this problem.
    clock : callable
        Seconds since some moment; a runner gives one that stands still while numba compiles.
    """

    tuning: str
    folds: int
    metrics: tuple[Metric, ...]
    rng: np.random.Generator
    clock: Callable[[], float] = time.perf_counter
