"""One spelling for equal values, so that hashes depend on meaning and not on writing."""

from __future__ import annotations

import hashlib
import json
from enum import Enum
from pathlib import PurePath

import numpy as np


def canonical_json(value) -> str:
    """JSON with sorted keys, floats by ``repr`` and no spaces.

    ``-0.0`` is written as ``0.0``; integers stay apart from floats (``1`` and ``1.0`` come from
    parameters of different types); tuples and arrays are lists.

    Raises
    ------
    TypeError
        When a value has no canonical form.
    """
    return json.dumps(
        plain_data(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=True
    )


def digest(value) -> bytes:
    """SHA-256 of the canonical JSON, 32 bytes."""
    return hashlib.sha256(canonical_json(value).encode("ascii")).digest()


def plain_data(value):
    """A value as None, bool, int, float, str, and lists and dicts of these.

    Raises
    ------
    TypeError
        When it holds anything else.
    """
    if isinstance(value, Enum):
        return plain_data(value.value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        # Adding a positive zero turns -0.0 into 0.0 and changes no other number.
        return float(value) + 0.0
    if isinstance(value, dict):
        return {str(key): plain_data(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_data(item) for item in value]
    if isinstance(value, (np.generic, np.ndarray)):
        return plain_data(value.tolist())
    if isinstance(value, PurePath):
        return value.as_posix()
    raise TypeError(f"a parameter of type {type(value).__name__} has no canonical form")
