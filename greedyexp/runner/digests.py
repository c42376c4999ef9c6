"""Digests of settings, tables and code."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import platform
import sqlite3
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import greedyexp
from greedyexp.core.errors import ConfigError
from greedyexp.core.packages import installed_plugins, version_of
from greedyexp.core.yaml_text import load_yaml

# The settings that determine rows. The others only affect figures, claims and descriptions.
ROW_SETTINGS = ("seed", "trials", "protocol", "data", "algorithms", "metrics")

# Libraries whose versions determine rows.
NUMERICAL_LIBRARIES = ("numpy", "scipy", "clarabel")
# Libraries whose versions every manifest records.
LIBRARIES = (*NUMERICAL_LIBRARIES, "pandas", "pydantic", "matplotlib")
_SOURCES = (".py", ".cpp", ".hpp")


def settings_digest(config_text: str) -> str:
    """Return the SHA-256 of the settings that determine rows; '' if the text is not a YAML mapping.

    Users may edit figures, tables and claims in the ``config.yaml`` of a run folder.
    """
    config = parsed_settings(config_text)
    if config is None:
        return ""
    kept = {key: config.get(key) for key in ROW_SETTINGS}
    try:
        return data_digest(kept)
    except (TypeError, ValueError):
        # Mixed key types or a mapping that contains itself; no run writes such settings.
        return hashlib.sha256(repr(kept).encode()).hexdigest()


def data_digest(data: Any) -> str:
    """Return the SHA-256 of plain data; mappings with other orders have the same."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, default=str).encode()).hexdigest()


def parsed_settings(text: str) -> dict[str, Any] | None:
    """Return the settings in a ``config.yaml``; None if it is not a YAML mapping."""
    try:
        config = load_yaml(text)
    except ConfigError:
        return None
    return config if isinstance(config, dict) else None


def content_digest(content: bytes) -> str:
    """Return the SHA-256 of a decompressed table, the same for all line endings."""
    return _digest(io.BytesIO(content))


def file_digest(path: Path) -> str:
    """Return ``content_digest`` of a file without reading all of it into memory."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
        return _digest(stream)


def _digest(stream: BinaryIO | gzip.GzipFile) -> str:
    digest = hashlib.sha256()
    left = b""
    while read := stream.read(1 << 16):
        chunk = left + read
        # A line may end in the next chunk.
        left = b"\r" if chunk.endswith(b"\r") else b""
        digest.update(chunk.removesuffix(left).replace(b"\r\n", b"\n"))
    digest.update(left)
    return digest.hexdigest()


def rows_digest(journal: sqlite3.Connection) -> str:
    """Return a digest of the rows of a journal, from their keys and checksums."""
    total = hashlib.sha256()
    for row in journal.execute("SELECT key, checksum FROM outcomes ORDER BY key"):
        total.update(repr(row).encode())
    return total.hexdigest()


def installation(libraries: Sequence[str] = NUMERICAL_LIBRARIES) -> str:
    """Return a digest of the code, the libraries and the version of Python.

    It is empty if plugins are installed, which may have any code.
    """
    if installed_plugins():
        return ""
    versions = [f"{name} {version_of(name)}" for name in libraries]
    return data_digest([package_digest(), platform.python_version(), *versions])


@cache
def package_digest() -> str:
    """Return a digest of the code of greedyexp."""
    return sources_digest(Path(greedyexp.__file__).parent)


def sources_digest(folder: Path) -> str:
    """Return a digest of all Python and C++ files below a folder."""
    found = {
        os.path.relpath(path, folder): path
        for place, _, files in os.walk(folder)
        for path in (os.path.join(place, name) for name in files if name.endswith(_SOURCES))
    }
    total = hashlib.sha256()
    for name in sorted(found):
        with open(found[name], "rb") as stream:
            total.update(f"{name} {hashlib.sha256(stream.read()).hexdigest()}\n".encode())
    return total.hexdigest()
