"""From the CSV of a run alone: its figures, its tables and the verdicts on its claims."""

from greedyexp.report.draw import draw
from greedyexp.report.folders import read_frame, run_folders
from greedyexp.report.verify import Verified, verify

__all__ = ["Verified", "draw", "read_frame", "run_folders", "verify"]
