"""How an experiment differs from its file, and two runs from each other."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence

import yaml

from greedyexp.config.overrides import Override
from greedyexp.core.errors import ConfigError
from greedyexp.experiment.messages import show

# Overrides of these change no row: they are about trials, figures, claims and texts.
_KEEP_ROWS = (
    *("trials", "time_limit", "name", "description", "paper"),
    *("figures", "tables", "claims", "readings"),
)
_TAG = re.compile(r"[A-Za-z0-9_.,=-]+")
_PLAIN = re.compile(r"[A-Za-z0-9_.-]+")
_LONGEST = 100
_DIGEST = 8


def variant_of(overrides: Sequence[Override], seed: int | None) -> str:
    """What follows the profile in the name of the results folder, such as ``+noise_std=0.5``.

    Overrides that change rows get a folder of their own, so they never replace the results of the
    unchanged file. The order of overrides does not matter.

    Parameters
    ----------
    overrides : sequence of Override
    seed : int or None
        The value of ``--seed``.
    """
    values = {one.key: one.value.data for one in overrides}
    if seed is not None:
        values["seed"] = seed
    kept = {key: value for key, value in values.items() if key.split(".")[0] not in _KEEP_ROWS}
    parts = [f"+{_short(key)}={_word(value)}" for key, value in sorted(kept.items())]
    name = "".join(parts)
    alike = len({_short(key) for key in kept}) < len(kept)
    return f"+changed={_digest(kept)}" if alike or len(name) > _LONGEST else name


def require_tag(tag: str) -> str:
    """A tag that can name a folder.

    Raises
    ------
    ConfigError
        When it holds other characters, or too many.
    """
    if not _TAG.fullmatch(tag) or len(tag) > _LONGEST:
        raise ConfigError(
            f"a tag names a folder, but is {show(tag)}.",
            place="--tag",
            remedy=f"Use letters, digits and any of _ . , = - (at most {_LONGEST}).",
        )
    return tag


def changes(old: dict, new: dict, keys: Sequence[str]) -> list[str]:
    """The settings that differ, such as ``data.noise_std: 0.1 -> 0.5``.

    Parameters
    ----------
    old, new : dict
        Resolved settings.
    keys : sequence of str
        Keys of the top level to compare.
    """
    return [
        f"{path}: {show(before)} -> {show(after)}"
        for key in keys
        for path, before, after in _differences(key, old.get(key), new.get(key))
    ]


def _differences(path: str, old, new) -> Iterator[tuple[str, object, object]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            yield from _differences(f"{path}.{key}", old.get(key), new.get(key))
    elif old != new:
        yield path, old, new


def _short(key: str) -> str:
    for section in ("data.", "algorithms."):
        key = key.removeprefix(section)
    return key if _PLAIN.fullmatch(key) else _digest(key)


def _word(value) -> str:
    """Numbers, plain words and lists of them as text; a digest of anything else."""
    items = value if isinstance(value, list) else [value]
    words = [item if isinstance(item, str) else json.dumps(item) for item in items]
    # A text such as '1' must not look like the number.
    plain = all(yaml.safe_load(item) == item for item in items if isinstance(item, str))
    if items and plain and all(map(_PLAIN.fullmatch, words)):
        return ",".join(words)
    return _digest(value)


def _digest(value) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]
