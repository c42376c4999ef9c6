"""Pages in the cache of the user, so that a report makes again only those whose run has changed.

Nobody else writes the cache. A run folder or an earlier report may come from others, who may have
edited what they hold.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import time
from contextlib import suppress
from typing import Any

import numpy as np
from platformdirs import user_cache_path

from greedyexp.core.files import replacing
from greedyexp.core.packages import version_of
from greedyexp.report.kept import common_inputs
from greedyexp.runner.digests import data_digest
from greedyexp.runner.run_contents import Run

# Seconds after which a page that no report has used is removed.
_UNUSED = 30 * 24 * 3600


class KeptPage:
    """The page of a run in the cache.

    Parameters
    ----------
    run : Run
    """

    def __init__(self, run: Run):
        self._inputs = _inputs(run)
        name = hashlib.sha256(os.fsencode(run.folder.resolve())).hexdigest()[:32]
        self._file = user_cache_path("greedyexp") / "pages" / f"{name}.json.gz"

    def read(self) -> tuple[dict[str, Any], dict[str, bytes]] | None:
        """Return what the page shows and its files; None if the run or the code has changed."""
        if self._inputs is None:
            return None
        with suppress(OSError, EOFError, ValueError, KeyError, TypeError):
            kept = json.loads(gzip.decompress(self._file.read_bytes()))
            if kept["inputs"] == self._inputs:
                os.utime(self._file)
                files = {name: text.encode("latin-1") for name, text in kept["files"].items()}
                return kept["content"], files
        return None

    def write(self, content: dict[str, Any], files: dict[str, bytes]) -> None:
        """Keep the page, and remove those that have not been used for long."""
        if self._inputs is None:
            return
        kept = {
            "inputs": self._inputs,
            "content": content,
            "files": {name: data.decode("latin-1") for name, data in files.items()},
        }
        text = json.dumps(kept, default=np.generic.item).encode()
        home = self._file.parent
        # Without the cache, the page is made again next time.
        with suppress(OSError):
            home.mkdir(parents=True, exist_ok=True, mode=0o700)
            with replacing(self._file) as stream:
                stream.write(gzip.compress(text, 1, mtime=0))
            for file in home.iterdir():
                if file.stat().st_mtime < time.time() - _UNUSED:
                    file.unlink()


def _inputs(run: Run) -> str | None:
    """Return a digest of all that a page is made from; None if it cannot be known."""
    common = common_inputs(run)
    if common is None:
        return None
    packages = run.manifest.get("packages") or {}
    versions = {name: version_of(name) for name in packages}
    return data_digest([common, str(run.folder), run.design.settings, run.manifest, versions])
