"""The registry given back as it was, for tests that register parts of their own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from greedyexp.core import parts, plugins, registry
from greedyexp.theory import theorems


@contextmanager
def kept_registry() -> Iterator[None]:
    """Forget what is registered inside, and that plugin files were loaded."""
    for kind in parts.KINDS:
        registry.parts(kind)
    before = {kind: dict(known) for kind, known in registry._PARTS.items()}
    loaded = dict(plugins._loaded)
    proved = dict(theorems._REGISTERED)
    modules = set(sys.modules)
    try:
        yield
    finally:
        for kind, known in before.items():
            registry._PARTS[kind].clear()
            registry._PARTS[kind].update(known)
        theorems._REGISTERED.clear()
        theorems._REGISTERED.update(proved)
        plugins._loaded.clear()
        plugins._loaded.update(loaded)
        for name in set(sys.modules) - modules:
            if name.startswith("greedyexp_plugin_"):
                del sys.modules[name]
