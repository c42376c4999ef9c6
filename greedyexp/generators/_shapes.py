"""Shapes of problems that are known before they are drawn."""

from __future__ import annotations


def shared_design(n_features: int, *, n_tasks: int = 1, **known: int) -> dict:
    """Shape of a problem with one design for all tasks, and ``n_samples`` if it is known."""
    return {"n_tasks": n_tasks, "n_features": n_features, "shared_design": True, **known}
