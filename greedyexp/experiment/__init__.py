"""The typed model of a YAML experiment."""

from greedyexp.experiment.loading import load, reload
from greedyexp.experiment.model import (
    PROFILES,
    AlgorithmSpec,
    Experiment,
    FigureSpec,
    PaperReference,
)
from greedyexp.experiment.schema import json_schema

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
