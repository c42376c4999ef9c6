"""Reading and checking experiment files.

document    YAML as documents with places, and cursors that collect errors
sections    entries, parameters and sweeps, and checks that hold for any part
data        blocks of data, with the points of their sweep
rules       checks of data against the needs of parts
algorithms  the protocol, algorithms with their tuning and their sweeps, and metrics
trials      the rule for the number of trials
claims      claims, and checks of the rows that claims, figures and tables choose
displays    figures and tables, with checks of what they show
patches     profiles and ``--set``
only        ``--only``
run_names   names of the folders of runs with changed settings
loading     the whole experiment
schema      JSON Schema of experiment files
"""

from greedyexp.config.loading import load, reload
from greedyexp.config.schema import json_schema
from greedyexp.experiment.model import AlgorithmSpec, Experiment, PartSpec
from greedyexp.experiment.settings import PROFILES, PaperReference

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
