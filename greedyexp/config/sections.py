"""What sections share: entries, parameters with their sweeps, and checks that hold for any part."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from greedyexp.config.document import Node, Place
from greedyexp.core.errors import (
    ConfigError,
    PluginError,
    UserError,
    did_you_mean,
    message_of,
)
from greedyexp.core.part import Part
from greedyexp.core.registry import find
from greedyexp.experiment.messages import Keys, Mistake, below, show
from greedyexp.experiment.own_keys import OWN_KEYS
from greedyexp.experiment.parameters import (
    BadValue,
    Parameters,
    is_number,
    model_adapter,
    read_value,
    same_value,
)
from greedyexp.experiment.settings import Entry, read_entry
from greedyexp.experiment.sweep import Axis, is_range, read_sweep, rows_of
from greedyexp.results.words import number_text

Model = TypeVar("Model", bound=BaseModel)
Registered = TypeVar("Registered", bound=Part)

# Maximum number of rows of an experiment.
_MAX_ROWS = 10_000_000


def read_entries(node: Node, section: str) -> list[tuple[Entry, Node]]:
    """Return the well-formed entries of a section, each as by ``entry_at``; report the others."""
    found = [entry_at(item, f"an entry of {section}") for item in node.at(section).items]
    return [entry for entry in found if entry is not None]


def entry_at(node: Node, what: str, default: str | None = None) -> tuple[Entry, Node] | None:
    """Return the entry at a node, and the node of its settings; None after an error.

    Parameters
    ----------
    what : str
        Subject of messages.
    default : str, optional
        Name of the entry if there is none at the node.
    """
    item = default if node.value is None else node.value
    try:
        entry = read_entry(item, what)
    except BadValue as error:
        node.add_all(error.found)
        return None
    return entry, node if isinstance(item, str) else node.at(entry.name)


def read_models(node: Node, section: str, model: type[Model]) -> list[tuple[Node, Model]]:
    """Return the entries of a section that fit a pydantic model; report the others."""
    found = []
    for item in node.at(section).items:
        if not isinstance(item.value, dict):
            item.add(
                f"an entry of {section} must be a mapping, but is {show(item.value)}.",
                f"Write {', '.join(f'{name}: ...' for name in list(model.model_fields)[:3])}.",
            )
            continue
        try:
            found.append((item, read_value(model_adapter(model), item.value, "", model)))
        except BadValue as error:
            item.add_all(error.found)
    return found


def find_part(kind: type[Registered], name: str, node: Node) -> Registered | None:
    """Return the registered part, or None after an error."""
    try:
        part = find(kind.kind, name)
        assert isinstance(part, kind)
        return part
    except ConfigError as error:
        node.add(error.message, error.remedy)
        return None


@dataclass(frozen=True)
class PartSettings:
    """The parameters of a part that an entry fixes or sweeps.

    Parameters
    ----------
    parameters : Parameters
    fixed : dict
        Validated values.
    axes : list of Axis
    mistakes : list of Mistake
        Each with the keys from the settings of the entry.
    keys : Section or None
        The other keys of the entry, such as its label; None after a mistake in them.
    """

    parameters: Parameters
    fixed: dict[str, Any]
    axes: list[Axis]
    mistakes: list[Mistake]
    keys: Any

    @property
    def order(self) -> list[str]:
        """The swept parameters in the order of the signature."""
        swept = {name for axis in self.axes for name in axis.columns}
        return [name for name in self.parameters.names if name in swept]

    @property
    def size(self) -> int:
        """Number of combinations, found without computing them."""
        return math.prod(axis.size for axis in self.axes)

    @property
    def constant(self) -> dict[str, Any]:
        """The fixed values, and the defaults of the others, in the order of the signature."""
        values = {**self.parameters.defaults, **self.fixed}
        return {name: values[name] for name in self.parameters.names if name in values}

    @property
    def resolved(self) -> dict[str, Any]:
        """The parameters that are not swept, as plain data."""
        values, swept = {**self.parameters.defaults, **self.fixed}, self.order
        return {name: to_jsonable_python(v) for name, v in values.items() if name not in swept}

    def combinations(self) -> list[dict[str, Any]]:
        """Return all parameters at every combination; mistakes in the values are added."""
        names, constant = self.parameters.names, self.constant
        rows = rows_of([self._read(axis) for axis in self.axes])
        return [{n: row[n] if n in row else constant.get(n) for n in names} for row in rows]

    def _read(self, axis: Axis) -> dict[str, list[Any]]:
        """Return the validated columns of an axis; empty ones after a mistake."""
        columns: dict[str, list[Any]] = {}
        before = len(self.mistakes)
        for name, column in axis.columns.items():
            columns[name] = []
            for index, value in enumerate(column):
                try:
                    columns[name].append(self.parameters.read(name, value))
                except BadValue as error:
                    here = (name, index) if isinstance(column, list) else (name,)
                    self.mistakes.extend(below((*axis.keys, *here), error.found))
        if len(self.mistakes) > before:
            return {name: [] for name in columns}
        for name, column in columns.items():
            self.mistakes.extend(alike((*axis.keys, name), f"the sweep of {name}", column))
        seen = set()
        for index, row in enumerate(zip(*columns.values(), strict=True)):
            if (key := sort_key(row)) in seen:
                value, first = " and ".join(map(show, row)), next(iter(columns))
                message = f"the sweep of {' and '.join(columns)} has {value} twice."
                self.mistakes.append(((*axis.keys, first, index), message, ""))
            seen.add(key)
        return columns


def read_part(part: Part, written: Mapping[str, Any], *, labelled: bool = True) -> PartSettings:
    """Return the parameters that the settings of an entry fix or sweep.

    Unknown names, wrong values and parameters without a value are its mistakes; unless
    ``labelled``, no remedy suggests a label.
    """
    parameters, own, keys = Parameters(part), part.reserved_keys, None
    fixed: dict[str, Any] = {}
    mistakes: list[Mistake] = []
    if model := OWN_KEYS.get(part.kind):
        given = {key: written[key] for key in model.model_fields if key in written}
        if given.get("tuning", "") is None:
            del given["tuning"]
        try:
            keys = read_value(model_adapter(model), given, "")
        except BadValue as error:
            mistakes += error.found
    for name, value in written.items():
        if name in own:
            continue
        if name not in parameters.names:
            known = [*parameters.names, *(key for key in own if labelled or key != "label")]
            message = f"{part.kind} '{part.name}' has no parameter '{name}'."
            mistakes.append(((name,), message, did_you_mean(name, known)))
            continue
        try:
            fixed[name] = parameters.read(name, value)
        except BadValue as error:
            if "sweep" in own and _meant_to_sweep(parameters, name, value):
                message = f"{name} takes one value here, but is {show(value)}."
                mistakes.append(((name,), message, "To vary it, write it below 'sweep:'."))
            else:
                mistakes += below((name,), error.found)
    axes, wrong = read_sweep(written.get("sweep"), part=part) if "sweep" in own else ([], [])
    swept = {name for axis in axes for name in axis.columns}
    mistakes += wrong
    for name in sorted(written.keys() & swept):
        message = f"{name} has one value here, but is also swept."
        mistakes.append(((name,), message, "Keep one of the two."))
    # Do not report missing parameters after a misspelt name or a wrong value.
    for name in () if mistakes else parameters.required():
        if name not in written and name not in swept:
            mistakes.append(((), f"{part.kind} '{part.name}' needs a value for '{name}'.", ""))
    return PartSettings(parameters, fixed, axes, mistakes, keys)


def read_params(part: Part, entry: Entry, node: Node) -> dict[str, Any] | None:
    """Return all parameters of a part without a sweep; None after an error."""
    settings = read_part(part, entry.settings)
    node.add_all(settings.mistakes)
    return None if settings.mistakes else settings.constant


def _meant_to_sweep(parameters: Parameters, name: str, value: Any) -> bool:
    if isinstance(value, list):
        return any(parameters.accepts(name, item) for item in value)
    return is_range(value)


def alike(keys: Keys, what: str, values: Iterable[Any]) -> Iterator[Mistake]:
    """Yield a mistake for different values that are equal up to rounding or in print.

    They would be several points that choices of rows and printed tables do not tell apart.
    """
    for low, high in itertools.pairwise(sorted(values, key=sort_key)):
        numbers = is_number(low) and is_number(high)
        printed_alike = numbers and number_text(low) == number_text(high)
        if low != high and (printed_alike or same_value(low, high)):
            message = f"{what} has {low!r} and {high!r}, which look the same in print."
            remedy = "Keep one of them, or give values that differ in their first four digits."
            yield keys, message, remedy
            return


def sort_key(value: Any) -> tuple[Any, ...]:
    """Return a sort key that orders empty values, numbers, texts, lists and mappings."""
    if value is None:
        return (0,)
    if isinstance(value, (bool, int, float)):
        return (1, value)
    if isinstance(value, str):
        return (2, value)
    if isinstance(value, (list, tuple)):
        return (3, tuple(sort_key(item) for item in value))
    return (4, json.dumps(value, sort_keys=True, default=str))


def check_size(node: Node, points: int, trials: int, algorithms: int | None = None) -> bool:
    """Report too many replicates, or rows if ``algorithms`` is given; return False if so."""
    if points * trials * (1 if algorithms is None else algorithms) > _MAX_ROWS:
        also, made = "", "replicates"
        if algorithms is not None:
            also, made = f", {algorithms} algorithm(s)", "rows"
        node.add(
            f"{points} point(s), {trials} trial(s){also} make more than {_MAX_ROWS} {made}.",
            "Sweep fewer values or lower trials.",
        )
        return False
    return True


def describe(point: Mapping[str, Any], names: Iterable[str]) -> str:
    """Return ``p = 64, s = 6``: a point by the parameters that distinguish it."""
    return ", ".join(f"{name} = {show(point[name])}" for name in names)


@contextmanager
def guarded(function: str, part: Part, place: Place) -> Iterator[None]:
    """Turn exceptions of a function that a part declares into errors of its plugin.

    Raises
    ------
    PluginError
        If the function raises anything but a ``UserError``. A ``UserError`` is raised again with
        the place.
    """
    try:
        yield
    except UserError as error:
        error.place = error.place or str(place)
        raise
    except Exception as error:
        raise PluginError(
            f"the {function} of {part.kind} '{part.name}' raised {type(error).__name__}: {error}.",
            place=str(place),
        ) from error


def refusal(
    message: str,
    check: Callable[[Any], None],
    cases: Iterable[tuple[dict[str, Any], int, Any]],
    names: Iterable[str] = (),
    total: int = 1,
) -> str | None:
    """Return a message about the first impossible point and the number of others, or None.

    Parameters
    ----------
    message : str
        Start of the sentence, such as ``impossible data``.
    check : callable
        Raises ``ValueError`` with a sentence for an impossible argument.
    cases : iterable of (point, count, argument)
        The first of ``count`` points with the same argument.
    names : iterable of str
        Parameters that distinguish points.
    total : int
        Number of points of the sweep.
    """
    first, text, affected = None, "", 0
    for point, count, argument in cases:
        try:
            check(argument)
        except ValueError as error:
            if first is None:
                first, text = point, message_of(error).rstrip(".")
            affected += count
    if first is None:
        return None
    at = describe(first, names)
    where = f" at {at}" if at else ""
    more = affected - 1
    others = f" ({more} more of the {total} points are impossible.)" if more else ""
    return f"{message}{where}: {text}.{others}"
