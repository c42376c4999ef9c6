"""Reading the parameters of a part: one value at a time, or a mapping of fixed ones."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Annotated

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined, to_jsonable_python

from greedyexp.core.errors import ConfigError, PluginError, did_you_mean
from greedyexp.core.parts import Part
from greedyexp.experiment.messages import Keys, messages, show, subject_of


class BadValue(Exception):
    """A value a parameter cannot take.

    Parameters
    ----------
    found : list of (keys, message, remedy)
        What is wrong, with the keys that lead into the value.
    """

    def __init__(self, found: list[tuple[Keys, str, str]]):
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

    def read(self, name: str, value):
        """The value as the parameter's type has it: ``1`` for a float parameter is ``1.0``.

        Raises
        ------
        BadValue
            When the type or the range does not allow it.
        """
        return read_value(_adapter(self.part, name), value, name)

    def accepts(self, name: str, value) -> bool:
        """Whether the parameter can take the value."""
        try:
            self.read(name, value)
        except BadValue:
            return False
        return True

    def read_all(self, given: Mapping) -> dict:
        """Every parameter: the values given, and the defaults of those that are not.

        Raises
        ------
        ConfigError
            When a name is unknown, a value is refused, or one without a default is not given.
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
        """Names without a default."""
        return [name for name, field in self.fields.items() if field.is_required()]

    @property
    def defaults(self) -> dict:
        """The defaults, read like values a user gives, so that both are equal when written alike.

        Raises
        ------
        PluginError
            When a default is not what the annotation of its parameter allows.
        """
        return dict(_defaults(self.part.kind, self.part.name, self))


def _defaults(kind: str, name: str, parameters: Parameters):
    for argument, field in parameters.fields.items():
        default = field.get_default(call_default_factory=True)
        if default is PydanticUndefined:
            continue
        try:
            yield argument, parameters.read(argument, to_jsonable_python(default))
        except BadValue as error:
            raise PluginError(
                f"{kind} '{name}': the default of {argument} contradicts its type: {error}",
                place=parameters.part.place,
                remedy="Fix the function's signature.",
            ) from None


@lru_cache(maxsize=1024)
def _adapter_of(model: type[BaseModel], name: str) -> TypeAdapter:
    field = model.model_fields[name]
    kind = field.annotation
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return TypeAdapter(kind)
    kind = Annotated[(kind, *field.metadata)] if field.metadata else kind
    return TypeAdapter(kind, config=ConfigDict(arbitrary_types_allowed=True))


def _adapter(part: Part, name: str) -> TypeAdapter:
    return _adapter_of(part.parameters, name)


@cache
def model_adapter(model: type[BaseModel]) -> TypeAdapter:
    """The adapter of a pydantic model, made once."""
    return TypeAdapter(model)


def read_value(adapter: TypeAdapter, value, name: str):
    """Validate plain data as JSON would be: no text for a number, no ``true`` for a 1.

    Raises
    ------
    BadValue
        With one sentence for each wrong place in the value.
    """
    value = _plain(value)
    bad = [(keys, number) for keys, number in numbers(value) if not math.isfinite(number)]
    if bad:
        raise BadValue(
            [(k, f"{subject_of(name, k)} must be finite, but is {x!r}.", "") for k, x in bad]
        )
    try:
        text = json.dumps(value)
    except (TypeError, ValueError):
        raise BadValue([((), f"{name} holds {show(value)}, which YAML cannot say.", "")]) from None
    try:
        result = adapter.validate_json(text, strict=True)
    except ValidationError as error:
        raise BadValue(messages(error.errors(), value, name)) from None
    if any(not math.isfinite(number) for _, number in numbers(result)):
        raise BadValue([((), f"{name} is too large a number.", "")])
    return result


def _plain(value):
    """Whole numbers as int: ``1e3`` suits a whole-number parameter, and 1 and 1.0 are one value."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def numbers(value, keys: Keys = ()):
    """The floats in plain data, each with the keys that lead to it."""
    if isinstance(value, float):
        yield keys, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from numbers(item, (*keys, key))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from numbers(item, (*keys, index))
