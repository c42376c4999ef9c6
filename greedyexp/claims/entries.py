"""Claims in the entries of an experiment file: what an entry may contain, and its tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from greedyexp.claims.language import Always, Claim, Comparison
from greedyexp.claims.parser import parse
from greedyexp.claims.setting import Setting
from greedyexp.core.errors import ConfigError


class BadClaim(ConfigError):
    """An error in one entry of ``claims``.

    Parameters
    ----------
    keys : tuple of str or int
        Place of the error within the entry.
    """

    def __init__(self, keys: tuple[str | int, ...], message: str, remedy: str | None = None):
        super().__init__(message, remedy=remedy)
        self.keys = keys


def compile_claim(entry: Mapping[str, Any], setting: Setting, family: str) -> Claim:
    """Return the claim of a YAML entry.

    Parameters
    ----------
    entry : mapping
        ``id``, ``quote``, ``test`` and optional keys, all with valid types.
    setting : Setting
        The names that tests may use.
    family : str
        The figure of a claim that does not name one.

    Raises
    ------
    BadClaim
        If the entry is invalid. Its ``keys`` locate the error.
    """
    texts = entry["test"]
    listed = isinstance(texts, list)
    tests = []
    for index, text in enumerate(texts if listed else [texts]):
        try:
            tests.append(parse(text, setting))
        except ConfigError as error:
            keys = ("test", index) if listed else ("test",)
            raise BadClaim(keys, error.message, error.remedy) from None
    margin = entry.get("margin")
    equality = any(isinstance(test, Comparison) and test.relation == "==" for test in tests)
    if equality and margin is None:
        raise BadClaim(("test",), "a test with == needs a margin.", "Add 'margin: 0.05'.")
    if margin is not None and not equality:
        raise BadClaim(("margin",), "a margin is allowed only with ==.", "Remove it, or write ==.")
    if entry.get("exhaustive") and not all(isinstance(test, Always) for test in tests):
        raise BadClaim(
            ("exhaustive",),
            "'exhaustive' is allowed only with always(...) and usually(...).",
            "Remove it, or write one of these tests.",
        )
    optional = ("place", "where", "margin", "note", "exhaustive")
    given = {key: entry[key] for key in optional if entry.get(key)}
    figure = entry.get("figure") or family
    return Claim(entry["id"], entry["quote"], figure, tuple(tests), **given)
