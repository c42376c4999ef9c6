"""The ``claims:`` and ``readings:`` of an experiment file."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from greedyexp.claims.language import Claim
from greedyexp.claims.parser import BadClaim, compile_claim
from greedyexp.config.data import Data
from greedyexp.config.document import Document
from greedyexp.config.mistakes import Keys, Mistakes
from greedyexp.config.where import Choice, empty_choice, wrong_choices
from greedyexp.core.errors import did_you_mean
from greedyexp.experiment.messages import SLUG, show
from greedyexp.experiment.parameters import BadValue, model_adapter, read_value

Text = Annotated[str, Field(min_length=1)]


class ClaimEntry(BaseModel):
    """What a paper says, and the test that decides whether it holds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[
        str, Field(pattern=SLUG, max_length=100, description="Its name, unique in the experiment.")
    ]
    quote: Annotated[Text, Field(description="The words of the paper.")]
    place: Annotated[str, Field(description="Where they stand, such as 'Figure 1, caption'.")] = ""
    test: Annotated[
        Text | Annotated[list[Text], Field(min_length=1)],
        Field(description="What must hold, such as 'threshold(a) < threshold(b)', or several."),
    ]
    where: Annotated[
        dict[str, Any], Field(description="Column: value or list of values; the rows to look at.")
    ] = {}
    margin: Annotated[
        float | None, Field(gt=0, description="Half width of equality; only and always with ==.")
    ] = None
    figure: Annotated[
        str, Field(description="Claims of one figure are corrected together for their number.")
    ] = ""
    note: Annotated[str, Field(description="Why the words are read this way.")] = ""


class Reading(BaseModel):
    """An ambiguity of the paper, and what was made of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    printed: Annotated[Text, Field(description="What the paper says.")]
    used: Annotated[Text, Field(description="What the experiment does.")]
    because: Annotated[Text, Field(description="Why.")]


def read_claims(
    doc: Document,
    choice: Choice,
    family: str,
    mistakes: Mistakes,
    *,
    unchanged: Callable[[], object] | None = None,
) -> tuple[list[Claim], dict[str, str]]:
    """The claims, those with mistakes left out and noted.

    Parameters
    ----------
    doc : Document
        Settings after profile and overrides; strangers are taken out of its claims.
    choice : Choice
        The names that tests may use, and what ``where`` chooses from.
    family : str
        The figure of claims that name none.
    unchanged : callable, optional
        Loads the experiment without the changes of the command line. Given when there are such:
        claims about what they took away are left out.

    Returns
    -------
    claims : list of Claim
    dropped : dict of str to str
        Id of each claim that was left out and why it does not apply.

    Raises
    ------
    ConfigError
        When claims do not apply and the experiment has mistakes without the changes too.
    """
    dropped = _drop_strangers(doc, choice, unchanged) if unchanged else {}
    claims: list[Claim] = []
    for keys, entry in _read(doc, "claims", ClaimEntry, mistakes):
        if entry["id"] in [claim.id for claim in claims]:
            mistakes.add(
                doc.place((*keys, "id")), f"two claims have the id '{entry['id']}'.", "Rename one."
            )
        claims += _compiled(entry, keys, choice, family, doc, mistakes)
    return claims, dropped


def _drop_strangers(
    doc: Document, choice: Choice, unchanged: Callable[[], object]
) -> dict[str, str]:
    """Take claims out of a changed experiment that speak of what it no longer has.

    Whoever runs other algorithms or fixes what the file sweeps wants their numbers, not claims
    about the rest.
    """
    dropped: dict[str, str] = {}
    gone = set()
    for keys, entry in _read(doc, "claims", ClaimEntry, Mistakes()):
        found = Mistakes()
        _compiled(entry, keys, choice, "", doc, found)
        if found:
            dropped[entry["id"]] = found.found[0][1]
            gone.add(keys[-1])
    if gone:
        # A claim that is wrong in itself is refused, not left out.
        unchanged()
        before = copy.deepcopy(doc)
        kept = [index for index in range(len(before.data["claims"])) if index not in gone]
        doc.data["claims"] = [None] * len(kept)
        for place, index in enumerate(kept):
            doc.graft(("claims", place), before, ("claims", index))
    return dropped


def _compiled(
    entry: dict, keys: Keys, choice: Choice, family: str, doc: Document, mistakes: Mistakes
) -> list[Claim]:
    """The claim of an entry; none after noting a mistake in its tests."""
    where = entry["where"]
    wrong = list(wrong_choices(where, choice))
    try:
        claim = compile_claim(entry, choice.setting, family)
    except BadClaim as error:
        mistakes.add(doc.place((*keys, *error.keys)), error.message, error.remedy or "")
        claim = None
    if claim is not None and not wrong:
        wrong = [one for test in claim.tests for one in empty_choice(where, test, choice)]
    for name, message, remedy in wrong:
        mistakes.add(doc.place((*keys, "where", name)), message, remedy)
    return [] if claim is None else [claim]


def read_readings(doc: Document, mistakes: Mistakes) -> list[dict]:
    """The readings, those with mistakes left out and noted."""
    return [entry for _, entry in _read(doc, "readings", Reading, mistakes)]


def texts_of(data: Data) -> set[str]:
    """The columns of the data that hold texts, with which a test cannot count."""
    return {
        name for name in data.columns if any(isinstance(value, str) for value in data.values(name))
    }


def _read(
    doc: Document, section: str, model: type[BaseModel], mistakes: Mistakes
) -> list[tuple[Keys, dict]]:
    """The entries of a section that fit their model."""
    found = []
    for index, item in enumerate(doc.get((section,)) or ()):
        keys: Keys = (section, index)
        if not isinstance(item, dict):
            mistakes.add(
                doc.place(keys),
                f"an entry of {section} is a mapping, but here is {show(item)}.",
                f"Write {', '.join(f'{name}: ...' for name in list(model.model_fields)[:3])}.",
            )
            continue
        known = model.model_fields
        for key in [key for key in item if key not in known]:
            mistakes.add(
                doc.place((*keys, key)), f"unknown key '{key}'.", did_you_mean(str(key), known)
            )
        try:
            entry = read_value(
                model_adapter(model), {k: v for k, v in item.items() if k in known}, ""
            )
        except BadValue as error:
            for inner, message, remedy in error.found:
                mistakes.add(doc.place((*keys, *inner)), message, remedy)
            continue
        found.append((keys, entry.model_dump()))
    return found
