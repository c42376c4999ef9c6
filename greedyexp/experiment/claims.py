"""The ``claims:`` and ``readings:`` of an experiment file."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from greedyexp.claims.model import BadClaim, Claim, compile_claim
from greedyexp.claims.setting import Setting
from greedyexp.errors import did_you_mean
from greedyexp.experiment.data import COLUMN, Data
from greedyexp.experiment.document import Document
from greedyexp.experiment.mistakes import Keys, Mistakes
from greedyexp.experiment.parameters import BadValue, Parameters, model_adapter, read_value
from greedyexp.experiment.sentences import SLUG, show

# A value this near to a swept one, relative to it, is a slip of the pen.
SLIP = 0.02

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
    data: Data,
    setting: Setting,
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
    data : Data
        Whose values ``where`` chooses from.
    setting : Setting
        The names that tests may use.
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
    dropped = _drop_strangers(doc, data, setting, unchanged) if unchanged else {}
    claims: list[Claim] = []
    for keys, entry in _read(doc, "claims", ClaimEntry, mistakes):
        if entry["id"] in [claim.id for claim in claims]:
            mistakes.add(
                doc.place((*keys, "id")), f"two claims have the id '{entry['id']}'.", "Rename one."
            )
        claims += _compiled(entry, keys, data, setting, family, doc, mistakes)
    return claims, dropped


def _drop_strangers(
    doc: Document, data: Data, setting: Setting, unchanged: Callable[[], object]
) -> dict[str, str]:
    """Take claims out of a changed experiment that speak of what it no longer has.

    Whoever runs other algorithms or fixes what the file sweeps wants their numbers, not claims
    about the rest.
    """
    dropped: dict[str, str] = {}
    gone = set()
    for keys, entry in _read(doc, "claims", ClaimEntry, Mistakes()):
        found = Mistakes()
        _compiled(entry, keys, data, setting, "", doc, found)
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
    entry: dict,
    keys: Keys,
    data: Data,
    setting: Setting,
    family: str,
    doc: Document,
    mistakes: Mistakes,
) -> list[Claim]:
    """The claim of an entry; none after noting a mistake in its tests."""
    _check_where(entry["where"], (*keys, "where"), data, setting, doc, mistakes)
    try:
        return [compile_claim(entry, setting, family)]
    except BadClaim as error:
        mistakes.add(doc.place((*keys, *error.keys)), error.message, error.remedy or "")
        return []


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


def _check_where(
    where: dict, keys: Keys, data: Data, setting: Setting, doc: Document, mistakes: Mistakes
) -> None:
    """Note columns that do not exist and values that the column cannot have.

    A value that is merely absent may belong to another profile; its claim is inconclusive here.
    """
    known = ("algorithm", *data.columns, *setting.columns, *setting.keys)
    for name, wanted in where.items():
        here = (*keys, name)
        for value in wanted if isinstance(wanted, list) else [wanted]:
            if name == "algorithm":
                if value not in setting.algorithms:
                    mistakes.add(
                        doc.place(here),
                        f"there is no algorithm '{value}' in the experiment.",
                        did_you_mean(str(value), setting.algorithms),
                    )
            elif name in data.columns:
                message = _impossible(name, value, data)
                if message:
                    mistakes.add(doc.place(here), *message)
            elif name not in known:
                mistakes.add(
                    doc.place(here), f"there is no column '{name}'.", did_you_mean(name, known)
                )


def _impossible(name: str, value, data: Data) -> tuple[str, str] | None:
    """Why a data column cannot have the value: a sentence and a remedy."""
    values = data.values(name)
    if data.listed and name == COLUMN:
        missing = f"there are no data '{value}' in the experiment."
        return None if value in values else (missing, did_you_mean(str(value), values))
    refused = None
    for parameters in (Parameters(block.generator) for block in data.blocks):
        if name not in parameters.names:
            continue
        try:
            value, refused = parameters.read(name, value), None
            break
        except BadValue as error:
            _, *refused = error.found[0]
    if refused is not None:
        return tuple(refused)
    if value in values or isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    numbers = [v for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)]
    near = min(numbers, key=lambda other: abs(other - value), default=None)
    if near is None or abs(near - value) > SLIP * abs(near):
        return None
    return f"no point has {name} = {show(value)}.", f"Did you mean {show(near)}?"
