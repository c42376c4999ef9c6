"""Runs of experiments.

- ``session``: a run, from the plan to the tables
- ``plan``, ``shards``: the replicates, and parts of them
- ``allocation``, ``deciding``: rules that request more replicates
- ``engine``, ``processes``, ``worker_handle``, ``worker``: where replicates are computed
- ``dask``: the engine for clusters
- ``work``, ``evaluator``, ``seeds``: how one replicate is computed
- ``fingerprint``, ``code_version``: keys of replicates
- ``journal``: storage of finished replicates
- ``run_folder``, ``run_contents``, ``next_state``: the run folder and its states
- ``digests``, ``own_files``: digests, and which files a run has written
- ``rows``, ``tables``, ``manifest``, ``manifest_content``: the contents of its files
- ``merging``: several run folders become one
- ``folder_status``, ``progress``: progress of runs
- ``explanation``, ``reasons``, ``rehearsal``: what a run would compute and why, and a trial run
"""

from __future__ import annotations

import importlib
from typing import Any

# Imported on first use: workers, whose module is in this package, do not need them.
_LAZY = {
    "ENGINES": "greedyexp.runner.session",
    "Explanation": "greedyexp.runner.explanation",
    "FolderStatus": "greedyexp.runner.folder_status",
    "Merged": "greedyexp.runner.merging",
    "Report": "greedyexp.runner.session",
    "RunOptions": "greedyexp.runner.work",
    "Shard": "greedyexp.runner.shards",
    "announce": "greedyexp.runner.progress",
    "explain": "greedyexp.runner.explanation",
    "explain_folder": "greedyexp.runner.explanation",
    "folders_below": "greedyexp.runner.folder_status",
    "merge": "greedyexp.runner.merging",
    "rehearse": "greedyexp.runner.rehearsal",
    "run": "greedyexp.runner.session",
    "status": "greedyexp.runner.folder_status",
}

__all__ = sorted(_LAZY)


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'greedyexp.runner' has no attribute '{name}'")


def __dir__() -> list[str]:
    return list(__all__)
