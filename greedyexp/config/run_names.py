"""Names of the folders of runs with changed settings, and lists of such changes."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any

from greedyexp.config.patches import Override
from greedyexp.core.errors import ConfigError
from greedyexp.core.yaml_text import load_yaml
from greedyexp.experiment.messages import show

# Settings that change no row: they are about trials, figures, claims and texts.
_KEEP_ROWS = (
    *("trials", "time_limit", "name", "description", "paper"),
    *("figures", "tables", "claims", "readings"),
)
_TAG = re.compile(r"[A-Za-z0-9_.,=-]+")
_PLAIN = re.compile(r"[A-Za-z0-9_.-]+")
_LONGEST = 100
_DIGEST = 8


def variant_name(overrides: Sequence[Override]) -> str:
    """Return the suffix of the profile in the name of the results folder: ``+noise_std=0.5``.

    Overrides that change rows get their own folder and never replace the results of the unchanged
    file. Their order does not matter.
    """
    kept: dict[str, Any] = {}
    for one in overrides:
        if one.section not in _KEEP_ROWS:
            key, value = one.key, one.value.data
            if one.appends and isinstance(value, list):
                key = f"{key}+"
                value = [*kept.get(key, []), *value]
            kept[key] = value
    name = "".join(f"+{_short(key)}={_word(value)}" for key, value in sorted(kept.items()))
    alike = len({_short(key) for key in kept}) < len(kept)
    return f"+changed={_digest(kept)}" if alike or len(name) > _LONGEST else name


def require_tag(tag: str) -> str:
    """Return the tag after checking that it can name a folder.

    Raises
    ------
    ConfigError
        If the tag contains a character that is not allowed, or is too long.
    """
    if not _TAG.fullmatch(tag) or len(tag) > _LONGEST:
        raise ConfigError(
            f"{show(tag)} cannot name a folder.",
            place="--tag",
            remedy=f"Use letters, digits and any of _ . , = - (at most {_LONGEST}).",
        )
    return tag


def changes(
    old: dict[str, Any], new: dict[str, Any], keys: Sequence[str], prefix: str = ""
) -> list[str]:
    """Return the settings that differ, such as ``data.noise_std: 0.1 -> 0.5``.

    Parameters
    ----------
    old, new : dict
        Resolved settings.
    keys : sequence of str
        Keys to compare.
    prefix : str
        Start of the names of the settings.
    """
    found = []
    for key in keys:
        before, after, path = old.get(key), new.get(key), f"{prefix}{key}"
        if isinstance(before, dict) and isinstance(after, dict):
            found += changes(before, after, list(dict.fromkeys([*before, *after])), f"{path}.")
        elif before != after:
            found.append(f"{path}: {show(before)} -> {show(after)}")
    return found


def _short(key: str) -> str:
    for section in ("data.", "algorithms."):
        key = key.removeprefix(section)
    return key if _PLAIN.fullmatch(key.removesuffix("+")) else _digest(key)


def _word(value: Any) -> str:
    """Return numbers, plain words and lists of these as text, and any other value as a digest."""
    items = value if isinstance(value, list) else [value]
    words = [item if isinstance(item, str) else json.dumps(item) for item in items]
    # A text such as '1' must not look like the number.
    plain = all(load_yaml(item) == item for item in items if isinstance(item, str))
    if items and plain and all(map(_PLAIN.fullmatch, words)):
        return ",".join(words)
    return _digest(value)


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]
