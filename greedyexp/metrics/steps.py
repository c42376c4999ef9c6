"""How many steps forward and backward led to an estimate."""

from __future__ import annotations

import numpy as np

from greedyexp.core.registry import metric
from greedyexp.estimates.path import Path
from greedyexp.metrics.untold import NotTold
from greedyexp.problems.problem import Problem


@metric("additions", better=None, title="features added", of="path")
def additions(problem: Problem, path: Path) -> np.ndarray:
    """Number of features added so far, those removed again included."""
    return _fact("additions", path)


@metric("removals", better=None, title="features removed", of="path")
def removals(problem: Problem, path: Path) -> np.ndarray:
    """Number of features removed so far."""
    return _fact("removals", path)


def _fact(name: str, path: Path) -> np.ndarray:
    """What the algorithm tells of each estimate.

    Raises
    ------
    NotTold
        When it does not tell this.
    """
    if name not in path.facts:
        raise NotTold(
            f"metric '{name}' needs an algorithm that counts its steps.",
            remedy="Such as foba_obj or foba_gdt.",
        )
    return np.asarray(path.facts[name])
