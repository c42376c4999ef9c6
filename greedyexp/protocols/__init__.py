"""Protocols: a problem and an algorithm in, rows of results out."""

from __future__ import annotations

import importlib
from types import ModuleType

from greedyexp.errors import ConfigError, did_you_mean

NAMES = ("recovery",)


def find(name: str) -> ModuleType:
    """The protocol's module: ``evaluate`` makes rows, ``columns`` names what they hold.

    Raises
    ------
    ConfigError
        When there is no protocol of that name.
    """
    if name not in NAMES:
        raise ConfigError(f"there is no protocol '{name}'.", remedy=did_you_mean(name, NAMES))
    return importlib.import_module(f"greedyexp.protocols.{name}")
