"""Registration of parts by decorators, and their retrieval by kind and name.

Nothing here imports numpy, to keep ``greedyexp --help`` fast.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar, overload

from greedyexp.core.errors import ConfigError, PluginError, did_you_mean, place_of
from greedyexp.core.part import Part
from greedyexp.core.parts import (
    KINDS,
    Algorithm,
    Display,
    Figure,
    Generator,
    LossKind,
    Metric,
    Protocol,
    Table,
)

# Columns of every CSV, in addition to those of the data and the protocol.
RESERVED_COLUMNS = ("replicate", "algorithm", "status", "message")

_PARTS: dict[str, dict[str, Part]] = {kind: {} for kind in KINDS}

# A decorator whose first argument is a name.
_DECORATED = re.compile(r'^@\w+\(\s*"([^"\n]+)"', re.MULTILINE)

# Parts of the plugin that is being imported; None at other times.
_collected: list[Part] | None = None

Declared = ParamSpec("Declared")
Function = TypeVar("Function", bound=Callable[..., Any])


def _decorator(
    kind: str, make: Callable[Concatenate[str, Callable[..., Any], Declared], Part]
) -> Callable[Concatenate[str, Declared], Callable[[Function], Function]]:
    """Return the decorator that registers functions as parts of a kind."""
    signature = inspect.signature(make)
    arguments = {name: one for name, one in signature.parameters.items() if name != "function"}

    def declare(
        name: str, /, *args: Declared.args, **declared: Declared.kwargs
    ) -> Callable[[Function], Function]:
        if callable(name):
            raise PluginError(
                f"@{kind} needs the name of the part.",
                place=place_of(name),
                remedy=f'Write @{kind}("{getattr(name, "__name__", "name")}").',
            )
        if not isinstance(name, str) or not name:
            raise PluginError(
                f"the name of a part must be a string, but @{kind} got {name!r}.",
                remedy=f'Write @{kind}("name").',
            )
        unknown = sorted(set(declared) - set(arguments))
        if unknown:
            raise PluginError(
                f"@{kind} has no argument '{unknown[0]}'.",
                remedy=did_you_mean(unknown[0], set(arguments) - {"name"}),
            )

        def decorate(function: Function) -> Function:
            _register(make(name, function, *args, **declared))
            return function

        return decorate

    declare.__name__ = declare.__qualname__ = kind
    declare.__doc__ = make.__doc__
    declare.__signature__ = signature.replace(  # type: ignore[attr-defined]  # read by help()
        parameters=list(arguments.values()), return_annotation=inspect.Signature.empty
    )
    return declare


generator = _decorator("generator", Generator)
algorithm = _decorator("algorithm", Algorithm)
loss = _decorator("loss", LossKind)
protocol = _decorator("protocol", Protocol)
metric = _decorator("metric", Metric)
figure = _decorator("figure", Figure)
table = _decorator("table", Table)


def _register(part: Part) -> None:
    part.check_declaration()
    if part.shipped:
        make_current([part])
        return
    # A plugin cannot take the name of a part of greedyexp.
    known = lookup(part.kind, part.name)
    taken = [*([known] if known and known.shipped else []), *(_collected or ())]
    for known in taken:
        if (known.kind, known.name) == (part.kind, part.name):
            raise already_registered(part, known)
    if _collected is None:
        make_current([part])
    else:
        _collected.append(part)


@contextmanager
def collecting() -> Iterator[list[Part]]:
    """Collect the parts that plugins register inside; ``make_current`` publishes them."""
    global _collected
    before, _collected = _collected, []
    try:
        yield _collected
    finally:
        _collected = before


def make_current(
    new: Sequence[Part], replaces: Callable[[Part], bool] = lambda known: False
) -> None:
    """Publish parts under their names. If one part is refused, none is published.

    Parameters
    ----------
    new : sequence of Part
    replaces : callable
        Returns True if a part from another source may be replaced.

    Raises
    ------
    PluginError
        If another part has the same kind and name.
    """
    for part in new:
        known = _PARTS[part.kind].get(part.name)
        if not (
            known is None
            or known is part
            or same_source(known.function, part.function)
            or replaces(known)
        ):
            raise already_registered(part, known)
    for part in new:
        _PARTS[part.kind][part.name] = part


def already_registered(part: Part, known: Part) -> PluginError:
    """Return the error for a part whose kind and name are in use."""
    if known.shipped:
        message = f"{part.kind} '{part.name}' is already part of greedyexp."
    else:
        message = f"{part.kind} '{part.name}' is already registered ({known.place})."
    return PluginError(message, place=part.place, remedy="Choose another name.")


def same_source(one: Callable[..., Any], other: Callable[..., Any]) -> bool:
    """Return True if one function redefines the other.

    For example, a notebook cell runs again, or a notebook or a test has imported a file that an
    experiment or a run folder has as a plugin.
    """
    return one is other or not _homes(one).isdisjoint(_homes(other))


def _homes(function: Callable[..., Any]) -> set[tuple[str, str]]:
    """Return the name of a function with that of its module, and with that of its file."""
    function = inspect.unwrap(function)
    name = getattr(function, "__qualname__", "")
    code = getattr(function, "__code__", None)
    file = Path(code.co_filename) if code else Path()
    homes = {(getattr(function, "__module__", None) or "", name)}
    return homes | {(file.name, name)} if file.suffix == ".py" else homes


@overload
def find(kind: Literal["generator"], name: str) -> Generator: ...
@overload
def find(kind: Literal["algorithm"], name: str) -> Algorithm: ...
@overload
def find(kind: Literal["loss"], name: str) -> LossKind: ...
@overload
def find(kind: Literal["protocol"], name: str) -> Protocol: ...
@overload
def find(kind: Literal["metric"], name: str) -> Metric: ...
@overload
def find(kind: Literal["figure", "table"], name: str) -> Display: ...
@overload
def find(kind: str, name: str) -> Part: ...
def find(kind: str, name: str) -> Part:
    """Return the part of that kind and name.

    Raises
    ------
    ConfigError
        If there is no such part; the message suggests the closest name.
    """
    found = lookup(kind, name)
    if found is None:
        raise ConfigError(
            f"there is no {kind} named '{name}'.", remedy=did_you_mean(name, parts(kind))
        )
    return found


@overload
def lookup(kind: Literal["generator"], name: str) -> Generator | None: ...
@overload
def lookup(kind: Literal["algorithm"], name: str) -> Algorithm | None: ...
@overload
def lookup(kind: Literal["loss"], name: str) -> LossKind | None: ...
@overload
def lookup(kind: Literal["protocol"], name: str) -> Protocol | None: ...
@overload
def lookup(kind: Literal["metric"], name: str) -> Metric | None: ...
@overload
def lookup(kind: Literal["figure", "table"], name: str) -> Display | None: ...
@overload
def lookup(kind: str, name: str) -> Part | None: ...
def lookup(kind: str, name: str) -> Any:
    """Return the part of that kind and name, or None if there is none.

    Only the module that defines the part is imported, if its source shows which one it is.
    """
    known = _PARTS[kind]
    if name not in known:
        for module in _modules(kind).get(name, ()):
            importlib.import_module(module)
    return known[name] if name in known else parts(kind).get(name)


@cache
def _modules(kind: str) -> dict[str, list[str]]:
    """Return the modules that may define each part of greedyexp, without importing them.

    The names are the first arguments of decorators in the sources. Parts that are registered in
    another way are missing.
    """
    package = importlib.import_module(KINDS[kind].package)
    found: dict[str, list[str]] = {}
    for folder in map(Path, package.__path__):
        for path in folder.rglob("*.py"):
            inner = path.relative_to(folder).with_suffix("").parts
            module = ".".join((package.__name__, *inner))
            for name in _DECORATED.findall(path.read_text(encoding="utf-8")):
                found.setdefault(name, []).append(module)
    return found


@overload
def parts(kind: Literal["generator"]) -> dict[str, Generator]: ...
@overload
def parts(kind: Literal["algorithm"]) -> dict[str, Algorithm]: ...
@overload
def parts(kind: Literal["loss"]) -> dict[str, LossKind]: ...
@overload
def parts(kind: Literal["protocol"]) -> dict[str, Protocol]: ...
@overload
def parts(kind: Literal["metric"]) -> dict[str, Metric]: ...
@overload
def parts(kind: Literal["figure", "table"]) -> dict[str, Display]: ...
@overload
def parts(kind: str) -> dict[str, Part]: ...
def parts(kind: str) -> Any:
    """Return all parts of a kind by name, sorted; the modules of greedyexp are imported first."""
    _import_modules(KINDS[kind].package)
    return dict(sorted(_PARTS[kind].items()))


@cache
def _import_modules(name: str) -> None:
    """Import all modules of a package of greedyexp, once."""
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, f"{name}."):
        importlib.import_module(module.name)
