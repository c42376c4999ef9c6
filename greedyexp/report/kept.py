"""Which figures, tables and verdicts of a run folder are up to date.

A small file in the run folder has two digests of each: of everything that it is made from (rows,
settings, code and libraries) and of the files themselves. A run makes again only what has changed.
The file belongs to one machine; without it, everything is made again.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from greedyexp.core.errors import StorageError
from greedyexp.core.packages import version_of
from greedyexp.experiment.design import Design
from greedyexp.runner.files import package_digest, sources_digest, write_text
from greedyexp.runner.state import PLUGINS, RunState, find

RECORD = ".drawn.json"
_LIBRARIES = ("numpy", "scipy", "pandas", "matplotlib", "pillow", "fonttools", "pydantic")
# Settings from which only some outputs are made; the others belong to all.
_OWN_SETTINGS = ("figures", "tables", "claims")


class KeptFiles:
    """The outputs of a run folder that are up to date.

    Parameters
    ----------
    state : RunState
    design : Design
        Its settings.
    """

    def __init__(self, state: RunState, design: Design):
        self._folder = state.folder
        try:
            self._common = _common(state, design)
        except OSError:
            # A run that replaces this state has moved a plugin.
            self._common = None
        self._entries = _read(state.folder / RECORD)

    def files(self, name: str, settings: Any) -> list[Path] | None:
        """Return the files of an output if it is up to date, otherwise None.

        Parameters
        ----------
        name : str
            Such as ``figures/comparison``.
        settings : plain data
            The settings that only this output depends on.
        """
        if self._common is None:
            return None
        try:
            known = self._entries[name]
            digests = dict(known["files"])
            current = known["inputs"] == self._inputs(settings) and all(
                _digest((self._folder / file).read_bytes()) == digest
                for file, digest in digests.items()
            )
        except (KeyError, TypeError, ValueError, OSError):
            return None
        return [self._folder / file for file in digests] if current else None

    def remember(self, name: str, settings: Any, files: Iterable[Path]) -> None:
        """Store that these files have just been made."""
        digests = {
            file.relative_to(self._folder).as_posix(): _digest(file.read_bytes()) for file in files
        }
        self._entries[name] = {"inputs": self._inputs(settings), "files": digests}

    def write(self) -> None:
        """Write the file, if possible and if there is something new to remember."""
        if self._entries == _read(self._folder / RECORD):
            return
        try:
            write_text(self._folder / RECORD, json.dumps(self._entries, indent=1))
        except StorageError:
            # Without it, everything is made again next time.
            (self._folder / RECORD).unlink(missing_ok=True)

    def _inputs(self, settings: Any) -> str:
        """Return the digest of everything that an output is made from."""
        text = json.dumps([self._common, settings], sort_keys=True, default=str)
        return _digest(text.encode())


def _common(state: RunState, design: Design) -> str | None:
    """Return a digest of what all outputs depend on; None if it cannot be known."""
    if entry_points(group="greedyexp.plugins"):
        # Installed plugins may have any code.
        return None
    shared = {key: value for key, value in design.settings.items() if key not in _OWN_SETTINGS}
    parts = {
        "settings": shared,
        "profile": design.profile,
        "rows": [_digest(state.table_content), _digest(state.timings or b"")],
        "done": (state.manifest.get("replicates") or {}).get("done"),
        "code": package_digest(),
        "plugins": sources_digest(find(state.folder, PLUGINS)),
        "libraries": {name: version_of(name) or "" for name in _LIBRARIES},
        "python": platform.python_version(),
    }
    return _digest(json.dumps(parts, sort_keys=True, default=str).encode())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
