"""greedyexp: a laboratory for greedy sparse optimisation."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable

__version__ = "0.2.0"

# Resolved on first use: `greedyexp --help` must not pay for numpy.
_LAZY = {
    "Constant": "greedyexp.theory.constants",
    "Context": "greedyexp.results.context",
    "Measured": "greedyexp.protocols.base",
    "Outcome": "greedyexp.protocols.base",
    "Path": "greedyexp.estimates.path",
    "Problem": "greedyexp.problems.problem",
    "RecordKind": "greedyexp.core.parts",
    "SparseEstimates": "greedyexp.estimates.sparse",
    "Status": "greedyexp.protocols.base",
    "SteppedIteration": "greedyexp.estimates.iteration",
    "algorithm": "greedyexp.core.registry",
    "compare": "greedyexp.report.compare",
    "figure": "greedyexp.core.registry",
    "generator": "greedyexp.core.registry",
    "loss": "greedyexp.core.registry",
    "metric": "greedyexp.core.registry",
    "open": "greedyexp.report.notebook",
    "protocol": "greedyexp.core.registry",
    "replay": "greedyexp.report.replay",
    "run": "greedyexp.api",
    "solve": "greedyexp.api",
    "table": "greedyexp.core.registry",
}

# Modules that were documented for plugins under other names, which plugins may still import.
FORMER = {
    "greedyexp.frames.context": "greedyexp.results.context",
    "greedyexp.iteration": "greedyexp.estimates.iteration",
    "greedyexp.theory.constant": "greedyexp.theory.constants",
}

# `from greedyexp import *` must not replace the builtin function.
__all__ = sorted(_LAZY.keys() - {"open"})


def provide_former_modules(sources: Iterable[bytes]) -> None:
    """Make modules available under the former names that appear in the sources of plugins."""
    for source in sources:
        for former, present in FORMER.items():
            if former.encode() in source:
                sys.modules.setdefault(former, importlib.import_module(present))


def __getattr__(name: str):
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'greedyexp' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*_LAZY, "__version__"]
