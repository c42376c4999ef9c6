"""Claims: what a paper says, and the tests that decide whether it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from greedyexp.claims.language import parse
from greedyexp.claims.quantities import Comparison, Test
from greedyexp.claims.setting import Setting
from greedyexp.core.errors import ConfigError


@dataclass(frozen=True)
class Claim:
    """One claim of an experiment.

    Parameters
    ----------
    id, quote, place, note : str
        Its name, the words of the paper, where they stand, and why they are read this way.
    figure : str
        The family of claims that are corrected together.
    tests : tuple of Test
        All must hold.
    where : dict
        Column -> value or list of values: the rows to look at.
    margin : float or None
        Half width of equality.
    """

    id: str
    quote: str
    place: str
    figure: str
    tests: tuple[Test, ...]
    where: dict = field(default_factory=dict)
    margin: float | None = None
    note: str = ""


class BadClaim(ConfigError):
    """A mistake in one entry of ``claims``.

    Parameters
    ----------
    keys : tuple
        Where it is in the entry.
    """

    def __init__(self, keys: tuple, message: str, remedy: str | None = None):
        super().__init__(message, remedy=remedy)
        self.keys = keys


def compile_claim(entry: Mapping, setting: Setting, family: str) -> Claim:
    """A claim from its YAML entry.

    Parameters
    ----------
    entry : mapping
        ``id``, ``quote``, ``test`` and what is optional, of the right types.
    setting : Setting
        The names that tests may use.
    family : str
        The figure of claims that name none.

    Raises
    ------
    BadClaim
        With the keys that lead to the mistake.
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
    equalities = [isinstance(t, Comparison) and t.relation == "==" for t in tests]
    if any(equalities) and margin is None:
        raise BadClaim(("test",), "a test with == needs a margin.", "Add 'margin: 0.05'.")
    if margin is not None and not any(equalities):
        raise BadClaim(("margin",), "a margin goes with == only.", "Remove it, or write ==.")
    return Claim(
        id=entry["id"],
        quote=entry["quote"],
        place=entry.get("place") or "",
        figure=entry.get("figure") or family,
        tests=tuple(tests),
        where=dict(entry.get("where") or {}),
        margin=margin,
        note=entry.get("note") or "",
    )
