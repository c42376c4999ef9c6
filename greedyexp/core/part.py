"""What all kinds of parts have in common: one registered function with its declaration.

The parameters of a part are the keyword-only arguments of the function. Their annotations give
types, ranges and help (``Annotated[float, Field(ge=0, description="...")]``); their defaults are
those of an experiment.
"""

from __future__ import annotations

import inspect
import keyword
import typing
import warnings
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, wraps
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

from greedyexp.core.errors import PluginError, UserError, place_of

if TYPE_CHECKING:
    from pydantic import BaseModel


def _type_hints(function: Callable[..., Any], names: Container[str]) -> dict[str, Any]:
    """Return the types of some arguments.

    The other annotations are not evaluated. They may name types that are imported for type checkers
    only, such as those of matplotlib, because libraries are imported when a function runs.
    """
    declared = getattr(function, "__annotations__", {})
    chosen = SimpleNamespace(
        __annotations__={name: kind for name, kind in declared.items() if name in names}
    )
    known = getattr(inspect.unwrap(function), "__globals__", {})
    return typing.get_type_hints(chosen, known, include_extras=True)


def _parameter_of(argument: str) -> str:
    """Return the parameter of an argument: ``class`` of ``class_``, which Python reserves."""
    name = argument.removesuffix("_")
    return name if keyword.iskeyword(name) else argument


def _called_by_parameters(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that takes parameters such as ``class`` as keyword arguments."""
    names = {_parameter_of(name): name for name in inspect.signature(function).parameters}
    if all(parameter == name for parameter, name in names.items()):
        return function

    @wraps(function)
    def call(*args: Any, **params: Any) -> Any:
        return function(*args, **{names.get(name, name): value for name, value in params.items()})

    return call


def _named(annotation: object) -> str:
    if isinstance(annotation, type):
        return f"{annotation.__module__}.{annotation.__qualname__}".removeprefix("builtins.")
    return str(annotation)


class NotRun:
    """Stands in for a function of a plugin that was not run, and for a sequence of its texts.

    Parameters
    ----------
    error : UserError
        Raised by each use.
    positional, parameters : iterable of str
        The arguments of the function.
    """

    # Of no module, so that its part does not count as one of greedyexp.
    __module__ = ""
    __doc__ = ""

    def __init__(
        self, error: UserError, positional: Iterable[str] = (), parameters: Iterable[str] = ()
    ):
        kind = inspect.Parameter
        arguments = [kind(name, kind.POSITIONAL_OR_KEYWORD) for name in positional]
        for name in parameters:
            argument = f"{name}_" if keyword.iskeyword(name) else name
            arguments.append(kind(argument, kind.KEYWORD_ONLY, default=None))
        self.error = error
        self.__signature__ = inspect.Signature(arguments)

    def __call__(self, *_: Any, **__: Any) -> typing.NoReturn:
        raise self.error

    __iter__ = __call__


@dataclass(frozen=True, eq=False)
class Part:
    """One registered function.

    An argument such as ``class_`` is the parameter ``class``, a word that Python reserves.

    Parameters
    ----------
    name : str
        Name in YAML files.
    function : callable
        The decorated function.
    title : str
        Name in figures and tables; ``name`` if it is empty.
    paper : str
        Source: paper and number of the equation, section or algorithm.
    """

    name: str
    function: Callable[..., Any]
    _: KW_ONLY
    title: str = ""
    paper: str = ""

    kind: ClassVar[str]
    # Package with the parts that come with greedyexp.
    package: ClassVar[str]
    # Positional arguments of the function.
    positional: ClassVar[tuple[str, ...]]
    # Keyword arguments that are supplied by the caller and are not parameters.
    supplied: ClassVar[tuple[str, ...]] = ()
    # Keys of an entry in a YAML file other than the parameters.
    reserved_keys: ClassVar[tuple[str, ...]] = ()
    # Attributes that accept any iterable and are stored as tuples.
    sequences: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", self.title or self.name)
        object.__setattr__(self, "function", _called_by_parameters(self.function))
        for name in self.sequences:
            object.__setattr__(self, name, tuple(getattr(self, name)))

    @cached_property
    def parameters(self) -> type[BaseModel]:
        """A pydantic model of the parameters, which rejects unknown keys."""
        from pydantic import ConfigDict, create_model

        arguments = {
            one.name: one
            for one in inspect.signature(self.function).parameters.values()
            if one.kind is one.KEYWORD_ONLY and one.name not in self.supplied
        }
        hints = _type_hints(self.function, arguments)
        fields: dict[str, Any] = {}
        for argument in arguments.values():
            default = ... if argument.default is argument.empty else argument.default
            fields[_parameter_of(argument.name)] = (hints.get(argument.name, Any), default)
        return create_model(
            self.name,
            __config__=ConfigDict(extra="forbid", arbitrary_types_allowed=True),
            **fields,
        )

    @property
    def shipped(self) -> bool:
        """True if the part comes with greedyexp, False if a plugin or a session defined it."""
        return (getattr(self.function, "__module__", None) or "").startswith("greedyexp.")

    @property
    def stands_in(self) -> bool:
        """True if the part stands in for one of a plugin that was not run."""
        return isinstance(inspect.unwrap(self.function), NotRun)

    @property
    def place(self) -> str | None:
        """``file:line`` of the function."""
        return place_of(self.function)

    @property
    def summary(self) -> str:
        """First line of the docstring."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @property
    def fixed_requirements(self) -> tuple[str, ...]:
        """Traits that a problem must have for all parameters."""
        return ()

    def requirements_of(self, params: Mapping[str, Any]) -> tuple[str, ...]:
        """Traits that a problem must have because of these parameters."""
        return ()

    def properties(self) -> list[tuple[str, str]]:
        """Names and values for ``greedyexp show``; empty values are not shown."""
        return [("paper", self.paper), ("requires", ", ".join(self.fixed_requirements))]

    def check_declaration(self) -> None:
        """Raise ``PluginError`` if the part cannot work as declared."""
        arguments = inspect.signature(self.function).parameters
        # ``zip`` is a key of ``sweep``, where the other keys are parameters.
        taken = {*self.reserved_keys, "zip"} & set(arguments)
        if self.reserved_keys and taken:
            self._refuse(
                f"has a parameter '{min(taken)}', but experiment files use this key for something"
                " else",
                "Choose another name.",
            )
        by_position = [
            name
            for name, one in arguments.items()
            if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
            and name not in self.supplied
        ]
        expected = len(self.positional)
        example = f"def {self.name}({', '.join(self.positional)}, *, ...)"
        if len(by_position) > expected:
            raise PluginError(
                f"parameter '{by_position[expected]}' of {self.kind} '{self.name}' must be"
                " keyword-only.",
                place=self.place,
                remedy=f"Put parameters after a `*`: {example}.",
            )
        variable = any(one.kind is one.VAR_POSITIONAL for one in arguments.values())
        if len(by_position) < expected and not variable:
            names = ", ".join(self.positional)
            self._refuse(f"must take the positional arguments {names}", f"Write {example}.")

    def check_parameters(self) -> None:
        """Raise ``PluginError`` if the annotations of parameters cannot be represented in YAML."""
        from pydantic import create_model
        from pydantic.errors import PydanticUserError

        try:
            fields = self.parameters.model_fields
        except (NameError, TypeError, PydanticUserError) as error:
            raise PluginError(
                f"the annotations of {self.kind} '{self.name}' cannot be read: {error}.",
                place=self.place,
            ) from None
        for name, field in fields.items():
            own: dict[str, Any] = {name: (field.annotation, field)}
            try:
                # Defaults that JSON cannot represent warn here and are an error when they are read.
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model = create_model(name, __config__=self.parameters.model_config, **own)
                    model.model_json_schema()
            except PydanticUserError:
                raise PluginError(
                    f"the type of parameter '{name}' of {self.kind} '{self.name}' cannot be"
                    f" represented in YAML: {_named(field.annotation)}.",
                    place=self.place,
                    remedy="Use a number, string, list or mapping, such as list[float].",
                ) from None

    def _refuse(self, message: str, remedy: str | None = None) -> typing.NoReturn:
        raise PluginError(f"{self.kind} '{self.name}' {message}.", place=self.place, remedy=remedy)
