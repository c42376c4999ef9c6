"""The runner: plan, seeds, engine, journal, tidy CSV."""

from greedyexp.runner.folder_status import FolderStatus, status
from greedyexp.runner.rehearsal import rehearse
from greedyexp.runner.session import ENGINES, Report, run

__all__ = ["ENGINES", "FolderStatus", "Report", "rehearse", "run", "status"]
