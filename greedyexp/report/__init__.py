"""Reading a run's folder and drawing its figures from the CSV alone."""

from greedyexp.report.draw import draw
from greedyexp.report.folders import read_frame, run_folders

__all__ = ["draw", "read_frame", "run_folders"]
