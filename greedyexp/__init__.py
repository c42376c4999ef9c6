"""greedyexp: a laboratory for greedy sparse optimisation."""

from __future__ import annotations

import importlib

__version__ = "0.1.0"

# Resolved on first use: `greedyexp --help` must not pay for numpy.
_LAZY = {
    "Path": "greedyexp.path",
    "Problem": "greedyexp.problem",
    "algorithm": "greedyexp.registry",
    "figure": "greedyexp.registry",
    "generator": "greedyexp.registry",
    "metric": "greedyexp.registry",
    "protocol": "greedyexp.registry",
    "run": "greedyexp.api",
    "solve": "greedyexp.api",
    "table": "greedyexp.registry",
}

__all__ = sorted(_LAZY)


def __getattr__(name: str):
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'greedyexp' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
