"""The typed model of a YAML experiment."""

from greedyexp.config.loading import load, reload
from greedyexp.config.model import (
    PROFILES,
    AlgorithmSpec,
    Experiment,
    FigureSpec,
    PaperReference,
)
from greedyexp.config.schema import json_schema

__all__ = [
    "PROFILES",
    "AlgorithmSpec",
    "Experiment",
    "FigureSpec",
    "PaperReference",
    "json_schema",
    "load",
    "reload",
]
