"""Reading and checking experiment files.

document    YAML with places, and cursors that collect errors
sections    entries, parameters and sweeps
data        blocks of data, with the points of their sweep
rules       checks of data against the needs of parts
algorithms  protocol, algorithms, metrics, rule for trials
choices     checks of claims, figures and tables
patches     profiles and ``--set``
only        ``--only``
loading     the whole experiment
schema      JSON Schema of experiment files
"""

from greedyexp.config.loading import load, reload
from greedyexp.config.schema import json_schema
from greedyexp.experiment.model import PROFILES, AlgorithmSpec, Experiment, PaperReference, PartSpec

__all__ = [
    "PROFILES",
    "AlgorithmSpec",
    "Experiment",
    "PaperReference",
    "PartSpec",
    "json_schema",
    "load",
    "reload",
]
