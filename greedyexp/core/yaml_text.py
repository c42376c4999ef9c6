"""Plain YAML, read with the compiled parser of PyYAML where it has one."""

from __future__ import annotations

from typing import Any


def safe_loader() -> Any:
    """Return PyYAML's safe loader: the compiled one unless PyYAML was built without libyaml."""
    # Commands that read no YAML start without it.
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_yaml(text: str) -> Any:
    """Return the value of a YAML text.

    Raises
    ------
    yaml.YAMLError
        If the text is not YAML.
    """
    import yaml

    return yaml.load(text, Loader=safe_loader())
