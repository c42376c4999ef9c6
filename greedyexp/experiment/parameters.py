"""Validation of the parameters of a part, one value at a time or all together."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from greedyexp.core.errors import ConfigError, PluginError, did_you_mean
from greedyexp.core.part import Part
from greedyexp.experiment.messages import Keys, Mistake, dotted, messages, show, subject_of

# Digits that every finite number has at most.
_FINITE = 300


class BadValue(Exception):
    """A value that a parameter cannot take.

    Parameters
    ----------
    found : list of (keys, message, remedy)
        The errors, with the keys that lead to them inside the value.
    """

    def __init__(self, found: list[Mistake]):
        super().__init__(found[0][1])
        self.found = found


class Parameters:
    """The keyword parameters of one part, in the order of its signature.

    Parameters
    ----------
    part : Part
        Generator, algorithm or figure.
    """

    def __init__(self, part: Part):
        self.part = part
        self.fields: dict[str, FieldInfo] = part.parameters.model_fields
        self.names = list(self.fields)

    def read(self, name: str, value: Any) -> Any:
        """Return the value in the type of the parameter: ``1`` of a float parameter is ``1.0``.

        Raises
        ------
        BadValue
            If the type or the range does not allow it.
        """
        adapter = adapter_of(self.part.parameters, name)
        return read_value(adapter, value, name, self.fields[name].annotation)

    def accepts(self, name: str, value: Any) -> bool:
        """Return True if the parameter can take the value."""
        try:
            self.read(name, value)
        except BadValue:
            return False
        return True

    def read_all(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return all parameters: the given values, and the defaults of the others.

        Raises
        ------
        ConfigError
            If a name is unknown, a value is wrong, or a parameter without a default is not given.
        """
        who = f"{self.part.kind} '{self.part.name}'"
        for name in given:
            if name not in self.fields:
                raise ConfigError(
                    f"{who} has no parameter '{name}'.", remedy=did_you_mean(name, self.names)
                )
        for name in self.required():
            if name not in given:
                raise ConfigError(f"{who} needs a value for '{name}'.")
        try:
            read = {name: self.read(name, value) for name, value in given.items()}
        except BadValue as error:
            _, message, remedy = error.found[0]
            raise ConfigError(message, place=who, remedy=remedy) from None
        values = {**self.defaults, **read}
        return {name: values[name] for name in self.names}

    def required(self) -> list[str]:
        """Return the names of the parameters without a default."""
        return [name for name, field in self.fields.items() if field.is_required()]

    @property
    def defaults(self) -> dict[str, Any]:
        """The defaults, read like values of a file, so that equal values have equal types.

        Raises
        ------
        PluginError
            If the annotation of a parameter does not allow its default.
        """
        return dict(_defaults_of(self.part))


# A default is read once in a process, since reading it takes as long as reading a value of a file.
@lru_cache(maxsize=1024)
def _defaults_of(part: Part) -> dict[str, Any]:
    parameters, defaults = Parameters(part), {}
    for name, field in parameters.fields.items():
        if field.is_required():
            continue
        default = field.get_default(call_default_factory=True)
        try:
            defaults[name] = parameters.read(name, to_jsonable_python(default))
        except BadValue as error:
            raise PluginError(
                f"{part.kind} '{part.name}': the default of {name} contradicts its type: {error}",
                place=part.place,
                remedy="Fix the function's signature.",
            ) from None
    return defaults


@lru_cache(maxsize=1024)
def adapter_of(model: type[BaseModel], name: str) -> TypeAdapter[Any]:
    """Return the cached adapter of one field of a pydantic model."""
    field = model.model_fields[name]
    kind: Any = field.annotation
    if isinstance(kind, type(BaseModel)):
        return TypeAdapter(kind)
    if field.metadata:
        annotations = (kind, *field.metadata)
        kind = Annotated[annotations]
    return TypeAdapter(kind, config=ConfigDict(arbitrary_types_allowed=True))


@cache
def model_adapter(model: type[BaseModel]) -> TypeAdapter[Any]:
    """Return the cached adapter of a pydantic model."""
    return TypeAdapter(model)


def read_value(adapter: TypeAdapter[Any], value: Any, name: str, model: Any = None) -> Any:
    """Validate plain data strictly: a text is not a number, and ``true`` is not 1.

    Parameters
    ----------
    adapter : TypeAdapter
    value : object
    name : str
        Subject of messages; empty if the keys of a mistake identify it.
    model : type, optional
        The type that is read, whose keys are suggested for unknown ones.

    Raises
    ------
    BadValue
        If the value is not valid; there is a message for each wrong place in it.
    """
    try:
        text = json.dumps(value, allow_nan=False)
        if ".0" in text:
            # A whole float, such as ``1e3``, is valid for an int parameter.
            text = json.dumps(json.loads(text, parse_float=_number))
        result = adapter.validate_json(text, strict=True)
    except ValidationError as error:
        raise BadValue(messages(error.errors(), json.loads(text), name, model)) from None
    except (TypeError, ValueError):
        raise _not_plain(adapter, value, name) from None
    # Shorter numbers are finite.
    if len(text) > _FINITE and not all(math.isfinite(number) for _, number in _numbers(result)):
        raise BadValue([((), f"{name} is too large a number.", "")])
    return result


def _not_plain(adapter: TypeAdapter[Any], value: Any, name: str) -> BadValue:
    """Return the error for a value with infinite numbers, or with objects of Python."""
    bad = [(keys, number) for keys, number in _numbers(value) if not math.isfinite(number)]
    if bad:
        return BadValue(
            [(k, f"{subject_of(name, k)} must be finite, but is {x!r}.", "") for k, x in bad]
        )
    # The rules for objects of Python say what is wanted instead.
    try:
        adapter.validate_python(value, strict=True)
    except ValidationError as error:
        return BadValue(messages(error.errors(), value, name))
    wanted = "must be numbers and texts, or lists and mappings of them"
    return BadValue([((), f"{name} {wanted}, but is {show(value)}.", "")])


def refuse_other(model: type[BaseModel], content: Any) -> None:
    """Raise ``ValueError`` with the place if the data of a stored file do not fit a model."""
    try:
        read_value(model_adapter(model), content, "it")
    except BadValue as error:
        keys, message, _ = error.found[0]
        where = f"{dotted(keys)}: " if keys else ""
        raise ValueError(f"{where}{message}") from None


def _number(text: str) -> int | float:
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _numbers(value: Any, keys: Keys = ()) -> Iterator[tuple[Keys, float]]:
    """Yield the floats in plain data, each with the keys that lead to it."""
    if isinstance(value, float):
        yield keys, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _numbers(item, (*keys, key))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _numbers(item, (*keys, index))


def same_value(one: Any, other: Any) -> bool:
    """Return True if two values of a parameter are equal, numbers up to rounding."""
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same_value, one, other))
    if is_number(one) and is_number(other):
        return math.isclose(one, other, rel_tol=1e-9)
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)


def is_number(value: Any) -> bool:
    """Return True for an int or a float; a bool is not a number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)
