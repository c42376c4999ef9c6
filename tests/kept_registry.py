"""The registry given back as it was, for tests that register parts of their own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from greedyexp import registry


@contextmanager
def kept_registry() -> Iterator[None]:
    """Forget what is registered inside, and that plugin files were loaded."""
    for kind in registry.PACKAGES:
        registry.parts(kind)
    before = {kind: dict(known) for kind, known in registry._PARTS.items()}
    modules = set(sys.modules)
    try:
        yield
    finally:
        for kind, known in before.items():
            registry._PARTS[kind].clear()
            registry._PARTS[kind].update(known)
        # A module that is still there would not register its parts a second time.
        for name in set(sys.modules) - modules:
            if name.startswith("greedyexp_plugin_"):
                del sys.modules[name]
