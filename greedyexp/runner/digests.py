"""Digests by which settings and tables of different runs can be told from each other."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from pathlib import Path
from typing import BinaryIO

import yaml

# The settings that determine rows. The others only say what is drawn, tested and described.
ROW_SETTINGS = ("seed", "trials", "protocol", "data", "algorithms", "metrics")


def settings_digest(config_text: str) -> str:
    """SHA-256 of the settings that determine rows, whatever else the file says.

    Figures, tables and claims may be edited in the ``config.yaml`` of a run folder. The digest is
    empty if the text is not a YAML mapping.
    """
    config = parsed_settings(config_text)
    if config is None:
        return ""
    kept = {key: config.get(key) for key in ROW_SETTINGS}
    try:
        text = json.dumps(kept, sort_keys=True, default=str)
    except (TypeError, ValueError):
        # Keys of several types, or a mapping that contains itself: no run writes such settings.
        text = repr(kept)
    return hashlib.sha256(text.encode()).hexdigest()


def parsed_settings(text: str) -> dict | None:
    """The settings in a ``config.yaml``; None when it is not a mapping in YAML."""
    try:
        config = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return config if isinstance(config, dict) else None


def content_digest(content: bytes) -> str:
    """SHA-256 of a decompressed table; line ends may be those of any system."""
    return _digest(io.BytesIO(content))


def _digest(stream: BinaryIO) -> str:
    found = hashlib.sha256()
    for line in stream:
        found.update(line[:-2] + b"\n" if line.endswith(b"\r\n") else line)
    return found.hexdigest()


def file_digest(path: Path) -> str:
    """As ``content_digest``, without holding the table in memory."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
        return _digest(stream)
