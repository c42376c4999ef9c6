"""Claims in the entries of an experiment file: what an entry may contain, and its tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from greedyexp.claims.language import Always, Comparison, Test
from greedyexp.claims.parser import parse
from greedyexp.claims.setting import Setting
from greedyexp.core.errors import ConfigError
from greedyexp.experiment.settings import ClaimEntry


class Claim(ClaimEntry):
    """An entry of ``claims`` with its tests. The claim holds if all tests do.

    All claims of a figure are corrected together for multiple testing.
    """

    tests: tuple[Any, ...] = ()


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


def compile_claim(entry: ClaimEntry | Mapping[str, Any], setting: Setting, family: str) -> Claim:
    """Return the claim of an entry.

    Parameters
    ----------
    entry : ClaimEntry, or mapping with its fields
    setting : Setting
        The names that tests may use.
    family : str
        The figure of a claim that does not name one.

    Raises
    ------
    BadClaim
        If the entry is invalid. Its ``keys`` locate the error.
    """
    entry = ClaimEntry.model_validate(entry)
    tests: list[Test] = []
    listed = isinstance(entry.test, list)
    for index, text in enumerate([entry.test] if isinstance(entry.test, str) else entry.test):
        try:
            tests.append(parse(text, setting))
        except ConfigError as error:
            keys = ("test", index) if listed else ("test",)
            raise BadClaim(keys, error.message, error.remedy) from None
    equality = any(isinstance(test, Comparison) and test.relation == "==" for test in tests)
    if equality and entry.margin is None:
        raise BadClaim(("test",), "a test with == needs a margin.", "Add 'margin: 0.05'.")
    if entry.margin is not None and not equality:
        raise BadClaim(("margin",), "a margin is allowed only with ==.", "Remove it, or write ==.")
    if entry.exhaustive and not all(isinstance(test, Always) for test in tests):
        raise BadClaim(
            ("exhaustive",),
            "'exhaustive' is allowed only with always(...) and usually(...).",
            "Remove it, or write one of these tests.",
        )
    given = dict(entry) | {"figure": entry.figure or family}
    return Claim.model_construct(**given, tests=tuple(tests))
