"""Compiled inner loops: plain float64 arrays in, no validation, no I/O.

Compiled code is cached in a folder named after the hash of all kernel sources, because numba
notices a change in the file that holds a function but not in the functions it calls elsewhere.
"""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

import numba
from platformdirs import user_cache_path


def _cache_folder() -> Path:
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    name = f"kernels-{digest.hexdigest()[:16]}"
    folder = user_cache_path("greedyexp") / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return Path(tempfile.gettempdir()) / "greedyexp" / name


numba.config.CACHE_DIR = str(_cache_folder())
