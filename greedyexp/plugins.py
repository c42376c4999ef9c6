"""Plugins: a user's own Python files and installed packages, which register parts on import."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Callable, Iterable
from importlib.metadata import entry_points
from pathlib import Path

from greedyexp.errors import PluginError


def load_plugins(paths: Iterable[str | Path]) -> None:
    """Import the named Python files and every installed ``greedyexp.plugins`` entry point.

    Raises
    ------
    PluginError
        When a file is missing or raises on import.
    """
    for entry in entry_points(group="greedyexp.plugins"):
        _guarded(entry.load, f"plugin '{entry.name}' ({entry.value})")
    for path in paths:
        _load_file(Path(path).resolve())


def _load_file(path: Path) -> None:
    if not path.is_file():
        raise PluginError("there is no such plugin file.", place=str(path))
    # The contents are part of the name, so that a file edited in a long session is loaded anew.
    identity = str(path).encode() + path.read_bytes()
    name = "greedyexp_plugin_" + hashlib.sha256(identity).hexdigest()[:16]
    if name in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PluginError("a plugin must be a Python file (.py).", place=str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        _guarded(lambda: spec.loader.exec_module(module), str(path))
    except PluginError:
        del sys.modules[name]
        raise


def _guarded(action: Callable[[], object], place: str) -> None:
    try:
        action()
    except PluginError:
        raise
    except (Exception, SystemExit) as error:
        raise PluginError(
            f"the plugin raised {type(error).__name__} on import: {error}.",
            place=place,
            remedy="Mend the plugin; --traceback shows where it failed.",
        ) from error
