"""The runner: plan, seeds, engine, journal, tidy CSV."""

from __future__ import annotations

import importlib

# Resolved on first use: a worker, whose module is in this package, needs none of them.
_LAZY = {
    "ENGINES": "greedyexp.runner.session",
    "FolderStatus": "greedyexp.runner.folder_status",
    "Report": "greedyexp.runner.session",
    "folders_below": "greedyexp.runner.folder_status",
    "rehearse": "greedyexp.runner.rehearsal",
    "run": "greedyexp.runner.session",
    "status": "greedyexp.runner.folder_status",
}

__all__ = sorted(_LAZY)


def __getattr__(name: str):
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'greedyexp.runner' has no attribute '{name}'")


def __dir__() -> list[str]:
    return list(__all__)
