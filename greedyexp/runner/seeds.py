"""Random streams, seeded by their purpose, and the canonical form of parameters.

The stream of a data set is a function of (seed of the experiment, generator, its parameters,
replicate). The stream of an algorithm also depends on its name. The order of sweeps, algorithms,
workers and batches does not matter. A new value in a sweep, more trials or a new algorithm
therefore change no existing row, and all algorithms see the same data.

Parameters are complete, including defaults: an explicit value and an equal default give the same
stream. ``unseeded`` parameters of a generator, which only control how a file is read, are left out.
So are ``added`` parameters at their defaults: a parameter that a later version adds does not change
the data of earlier experiments, whose published rows can then be computed again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from enum import Enum
from pathlib import PurePath
from typing import Any

import numpy as np


def data_stream(
    seed: int, generator: str, params: Mapping[str, Any], replicate: int
) -> np.random.Generator:
    """Return the stream that draws one data set.

    Parameters
    ----------
    seed : int, at least 0
        Seed of the experiment.
    generator : str
        Name of the generator.
    params : dict
        The complete parameters of the generator, except those that it leaves out of seeding.
    replicate : int, at least 0
        Number of the data set among those with these parameters.
    """
    return _stream(["data", seed, generator, params, replicate])


def algorithm_stream(
    seed: int, generator: str, params: Mapping[str, Any], replicate: int, algorithm: str
) -> np.random.Generator:
    """Return the stream of one algorithm on one data set, for folds and random starts.

    The stream depends on the name of the algorithm but not on its label or parameters. Two settings
    of one algorithm are therefore compared on the same folds.
    """
    return _stream(["algorithm", seed, generator, params, replicate, algorithm])


def _stream(identity: list[Any]) -> np.random.Generator:
    entropy = int.from_bytes(digest(identity), "big")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))


def digest(value: object) -> bytes:
    """Return the SHA-256 of the canonical JSON, 32 bytes."""
    return hashlib.sha256(canonical_json(value).encode("ascii")).digest()


def canonical_json(value: object) -> str:
    """Return JSON with sorted keys, floats by ``repr`` and no spaces.

    ``-0.0`` is written as ``0.0``. ``1`` and ``1.0`` differ, since they come from parameters of
    different types. Tuples and arrays are written as lists.

    Raises
    ------
    TypeError
        If a value has no canonical form.
    """
    return json.dumps(
        plain_data(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=True
    )


def plain_data(value: object) -> Any:
    """Convert a value to None, bool, int, float, str, or lists and dicts of these.

    Raises
    ------
    TypeError
        If the value contains anything else.
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
