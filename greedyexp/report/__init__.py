"""Figures, tables and verdicts of a run, made only from its CSV and its configuration.

- ``source``: run folders at or below a path
- ``draw``: figures and tables
- ``verify``: verdicts on claims
- ``kept``: outputs that are up to date
- ``notebook``: a run folder in Python and in notebooks
- ``replay``, ``rows_again``, ``where``: rows computed again, and which
- ``compare``, ``matching``, ``compare_figure``: two runs compared
- ``look``: which figures are drawn, and in which style
- ``site``: the report in HTML
- ``figure_notes``: what figures say about their rows
"""

from greedyexp.report.draw import draw
from greedyexp.report.notebook import with_notes
from greedyexp.report.source import run_folders
from greedyexp.report.verify import Verified, challenged, verdicts, verify
from greedyexp.runner.tables import read_frame

__all__ = ["Verified", "challenged", "draw", "read_frame", "run_folders"]
__all__ += ["verdicts", "verify", "with_notes"]
