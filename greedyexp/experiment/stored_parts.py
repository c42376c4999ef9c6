"""Parts of plugins as data, so that results can be read without running the code of a run folder.

The manifest of a run describes each part of its experiment that greedyexp does not have: its title,
its traits, the names of its parameters and the columns that it measures. Stand-ins with the same
declarations take the places of these parts. Their functions raise an error.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from greedyexp.core import registry
from greedyexp.core.errors import PluginError, StorageError
from greedyexp.core.part import NotRun, Part
from greedyexp.core.parts import KINDS, Generator, RecordKind
from greedyexp.core.stored import RESTORE
from greedyexp.core.trust import CodeNotRun
from greedyexp.experiment.design import Design
from greedyexp.experiment.model import Point
from greedyexp.experiment.parameters import BadValue, model_adapter, read_value
from greedyexp.protocols.base import Measured

_Text = Annotated[str, Field(max_length=2000, pattern=r"^[^\x00-\x1f\x7f]*$")]
_Texts = Annotated[tuple[_Text, ...], Field(max_length=10_000)]
# Names of parameters; others cannot be fields of a model.
_NAME = re.compile(r"(?!model_)[A-Za-z][A-Za-z0-9_]{0,98}[A-Za-z0-9]|[A-Za-z]")

# The declarations of a part that are data, by their annotations.
_DATA: dict[str, Any] = {
    "str": _Text,
    "str | None": _Text | None,
    "bool": bool,
    "Iterable[str]": _Texts,
    "Traits": _Texts,
    "Iterable[RecordKind]": Annotated[tuple[RecordKind, ...], Field(max_length=100)],
}


class StoredPart(BaseModel):
    """What the manifest says of a part; the declarations of its kind are further fields."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    kind: Literal["generator", "algorithm", "protocol", "metric", "figure", "table", "loss"]
    parameters: _Texts = ()
    # Of a protocol: all columns of the experiment.
    measured: Annotated[tuple[Measured, ...], Field(max_length=10_000)] = ()
    # Of a generator: all shares of rows that replicates leave out.
    shares: Annotated[tuple[float | None, ...], Field(max_length=10_000)] = ()


@cache
def _model(kind: str) -> type[StoredPart]:
    """Return the model of the parts of a kind."""
    declared: dict[str, Any] = {
        one.name: (_DATA[str(one.type)], ... if one.name == "name" else one.default)
        for one in fields(KINDS[kind])
        if one.type in _DATA
    }
    return create_model(kind, __base__=StoredPart, **declared)


def described(design: Design, points: Sequence[Point]) -> list[dict[str, Any]]:
    """Return what a manifest says of the parts of an experiment that come from plugins.

    Parameters
    ----------
    design : Design
    points : sequence of Point
        All points of the experiment.
    """
    parts = (registry.lookup(kind, name) for kind, name, _ in design.parts)
    own = [part for part in parts if part is not None and not part.shipped]
    return [data for part in own if (data := _described(part, design, points)) is not None]


def _described(part: Part, design: Design, points: Sequence[Point]) -> dict[str, Any] | None:
    model = _model(part.kind)
    declared = {name: getattr(part, name, None) for name in model.model_fields}
    # Declarations that are functions of the parameters are not data.
    known = {name: value for name, value in declared.items() if not callable(value)}
    supplied = [
        name for name in inspect.signature(part.function).parameters if name in part.supplied
    ]
    known |= {"kind": part.kind, "parameters": (*part.parameters.model_fields, *supplied)}
    known["measured"] = tuple(design.measured) if part.kind == "protocol" else ()
    own = [point for point in points if point.generator == part.name]
    shares = [part.left_out_at(one.params) for one in own] if isinstance(part, Generator) else []
    known["shares"] = tuple(dict.fromkeys(shares))
    try:
        read = model.model_validate(known)
    except ValidationError:
        # Its names are unusual. Reading the results elsewhere then needs its code.
        return None
    return read.model_dump(mode="json", exclude_defaults=True)


def stand_ins(design: Design, stored: Any, reason: CodeNotRun, manifest: str) -> list[Part]:
    """Return stand-ins for the parts of an experiment whose code was not run.

    Parameters
    ----------
    design : Design
    stored : list
        What the manifest says of the parts; None if it is of an earlier version. Stand-ins for
        metrics and protocols that are not described raise an error where their declarations are
        needed. Replicates of a generator that is not described count as independent.
    reason : CodeNotRun
        Why the code was not run.
    manifest : str
        The file, for messages.

    Raises
    ------
    StorageError
        If the manifest has values of other types, or parts that cannot exist.
    """
    found = {(part.kind, part.name): part for part in _read(stored or [], reason, manifest)}
    for kind, name, given in design.parts:
        # The labels of an algorithm or loss that is not known are read in all spellings.
        if (
            kind not in ("algorithm", "loss")
            and (kind, name) not in found
            and not _present(kind, name)
        ):
            found[kind, name] = _undescribed(kind, name, given, reason)
    return list(found.values())


def _read(stored: Any, reason: CodeNotRun, manifest: str) -> Iterator[Part]:
    try:
        listed = read_value(model_adapter(_Listed), {"parts": stored}, "parts").parts
        for data in listed:
            kind = read_value(model_adapter(StoredPart), data, "a part").kind
            part = _stand_in(read_value(model_adapter(_model(kind)), data, "a part"), reason)
            if _present(kind, part.name):
                raise PluginError(f"greedyexp has {kind} '{part.name}' itself")
            yield part
    except (BadValue, PluginError) as error:
        raise StorageError(
            f"the parts in this manifest cannot be read ({str(error).rstrip('.')}).",
            place=manifest,
            remedy=RESTORE,
        ) from None


class _Listed(BaseModel):
    parts: Annotated[list[dict[str, Any]], Field(max_length=1000)]


def _stand_in(data: StoredPart, reason: CodeNotRun) -> Part:
    own = ("kind", "parameters", "measured", "shares")
    declared: dict[str, Any] = {name: value for name, value in data if name not in own}
    # Mathematics in the title of a stranger may be impossible to typeset.
    declared["title"] = declared["title"].replace("$", r"\$")
    function = _not_run(data.kind, declared["name"], data.parameters, reason)
    if data.kind == "protocol":
        declared["columns"] = lambda metrics, **_: data.measured
    if set(data.shares) - {None}:
        share = data.shares[0]
        declared["left_out"] = function if len(data.shares) > 1 else lambda **_: share
    part = KINDS[data.kind](function=function, **declared)
    part.check_declaration()
    return part


def _undescribed(kind: str, name: str, given: Iterable[str], reason: CodeNotRun) -> Part:
    function: Any = _not_run(kind, name, given, reason)
    unknown = {
        "protocol": {"takes": "estimates", "columns": function},
        "metric": {"better": None, "requires": function},
    }
    return KINDS[kind](name, function, **unknown.get(kind, {}))


def _not_run(kind: str, name: str, parameters: Iterable[str], reason: CodeNotRun) -> NotRun:
    message = f"{kind} '{name}' is code that was not run: {reason.message}"
    error = CodeNotRun(message, remedy=reason.remedy)
    positional = KINDS[kind].positional
    # A file that was edited by hand may give anything, which its plugin would refuse.
    named = filter(_NAME.fullmatch, dict.fromkeys(parameters))
    usable = [name for name in named if name not in positional]
    return NotRun(error, positional, usable)


def _present(kind: str, name: str) -> bool:
    known = registry.lookup(kind, name)
    return known is not None and known.shipped
