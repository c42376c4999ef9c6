"""Known paths given to protocol ``selection``, for its tests."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from greedyexp.core import registry
from greedyexp.core.parts import Algorithm
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem
from greedyexp.protocols.base import Setup
from greedyexp.protocols.selection import selection

METRICS = tuple(registry.find("metric", name) for name in ("support_size", "frobenius_error"))
DEFAULTS = {"by": "features", "classes_at": [], "chosen_at": []}


def path_of(*supports, tasks=1, **known) -> Path:
    """Ones on the entries (i, j), or (i, 0) for numbers i, of six features."""
    coef = np.zeros((len(supports), 6, tasks))
    for point, support in enumerate(supports):
        for entry in support:
            coef[(point, *(entry if isinstance(entry, tuple) else (entry, 0)))] = 1.0
    m = len(supports)
    known = {"converged": np.ones(m, bool), **known}
    return Path(coef, {"size": np.arange(m)}, np.arange(m, dtype=float), **known)


def problem_of(tasks=1, **more) -> Problem:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8, 6))
    y = tuple(rng.standard_normal(8) for _ in range(tasks))
    return Problem((X,) * tasks, y, np.zeros((6, tasks)), **more)


def select(path, problem=None, metrics=METRICS, clock=None, **params):
    part = Algorithm("known", lambda problem: path)
    setup = Setup("none", 5, metrics, np.random.default_rng(0))
    setup = setup if clock is None else replace(setup, clock=clock)
    return selection(problem or problem_of(path.coef.shape[2]), part, {}, setup, **params)


def column(outcome, name, record="size") -> dict:
    return {row["size"]: row[name] for row in outcome.rows if row["record"] == record}
