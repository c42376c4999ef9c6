"""Entries of sections, and the parameters of parts with their sweeps."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from greedyexp.config.document import Node
from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.core.part import Part
from greedyexp.core.registry import find
from greedyexp.experiment.messages import dotted, show
from greedyexp.experiment.model import PartSpec
from greedyexp.experiment.parameters import BadValue, Parameters, model_adapter, read_value
from greedyexp.experiment.sweep import Range, is_range, read_range, zip_groups

Model = TypeVar("Model", bound=BaseModel)
Registered = TypeVar("Registered", bound=Part)


@dataclass(frozen=True)
class Entry:
    """An entry of ``algorithms``, ``figures`` and the like, or the protocol.

    Parameters
    ----------
    name : str
    settings : dict
        The settings as written in the file.
    node : Node
        The settings, or the name if there are none.
    """

    name: str
    settings: dict[str, Any]
    node: Node


def read_entries(node: Node, section: str) -> list[Entry]:
    """Return the well-formed entries of a section; report the others."""
    found = (entry_at(item, f"an entry of {section}") for item in node.at(section).items)
    return [entry for entry in found if entry is not None]


def entry_at(node: Node, what: str, default: str | None = None) -> Entry | None:
    """Return the entry at a node, ``name`` or ``{name: settings}``; None after an error.

    Parameters
    ----------
    what : str
        Subject of messages.
    default : str, optional
        Name of the entry if there is none at the node.
    """
    item = default if node.value is None else node.value
    if isinstance(item, str):
        return Entry(item, {}, node)
    if not isinstance(item, dict) or not item:
        node.add(f"{what} must be a name or 'name: {{...}}', but is {show(item)}.")
        return None
    name, settings = next(iter(item.items()))
    if len(item) > 1:
        node.at(list(item)[1]).add(
            f"{what} must have one name, but has {', '.join(item)}.",
            f"Indent the settings below '{name}:'.",
        )
        return None
    if settings is not None and not isinstance(settings, dict):
        node.at(name).add(f"the settings of '{name}' must be a mapping, but are {show(settings)}.")
        return None
    return Entry(name, settings or {}, node.at(name))


def label_of(entry: Entry) -> str:
    """Return the label of an entry, or its name if it has no label."""
    label = entry.settings.get("label")
    return label if isinstance(label, str) else entry.name


def check_label(node: Node, label: Any) -> None:
    """Report a label that is not a single line of text, or cannot be typeset."""
    if not isinstance(label, str) or not label.isprintable() or label.strip() != label or not label:
        node.add(
            f"label must be a single line of text without spaces around it, but is {show(label)}."
        )
    check_math(node, label)


def check_math(node: Node, text: Any) -> None:
    """Report mathematics between dollar signs that cannot be typeset."""
    # Matplotlib takes long to import, and few texts have mathematics.
    if not isinstance(text, str) or text.count("$") < 2:
        return
    from matplotlib.cbook import is_math_text
    from matplotlib.mathtext import MathTextParser

    if not is_math_text(text):
        return
    try:
        MathTextParser("path").parse(text)
    except ValueError:
        node.add(
            f"the mathematics between dollar signs cannot be typeset: {show(text)}.",
            r"Correct it, or write \$ for a dollar sign.",
        )


def check_keys(node: Node, written: dict[str, Any], known: Iterable[str]) -> dict[str, Any]:
    """Report unknown keys of a mapping and return the others."""
    for key in written:
        if key not in known:
            remedy = did_you_mean(str(key), known)
            if str(key).count("(") != str(key).count(")"):
                # Inside {...} YAML ends an unquoted text at a comma.
                remedy = "Put a text with a comma in quotes."
            node.at(key).add(f"unknown key '{key}'.", remedy)
    return {key: value for key, value in written.items() if key in known}


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
        written = check_keys(item, item.value, model.model_fields)
        try:
            found.append((item, read_value(model_adapter(model), written, "")))
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
class Axis:
    """Parameters that vary together.

    Parameters
    ----------
    names : tuple of str
        One parameter, or all parameters of one zip.
    columns : tuple of list or Range
        The values of each parameter as written, all of the same length.
    nodes : tuple of Node
        The node of each column, which locates errors.
    """

    names: tuple[str, ...]
    columns: tuple[list[Any] | Range, ...]
    nodes: tuple[Node, ...]

    @property
    def count(self) -> int:
        """Number of steps, found without computing the values."""
        return _count(self.columns[0])

    def rows(self, parameters: Parameters) -> list[tuple[Any, ...]]:
        """Return the validated values, one tuple for each step; report invalid ones."""
        columns = []
        for name, column, node in zip(self.names, self.columns, self.nodes, strict=True):
            values = []
            for index, value in enumerate(column):
                try:
                    values.append(parameters.read(name, value))
                except BadValue as error:
                    (node if isinstance(column, Range) else node.at(index)).add_all(error.found)
            columns.append(values)
        if len({len(column) for column in columns}) > 1:
            return []
        rows = list(zip(*columns, strict=True))
        seen = set()
        for index, row in enumerate(rows):
            if sort_key(row) in seen:
                value = " and ".join(show(item) for item in row)
                self.nodes[0].at(index).add(
                    f"the sweep of {' and '.join(self.names)} has {value} twice."
                )
            seen.add(sort_key(row))
        return rows


@dataclass(frozen=True)
class Assigned:
    """The parameters of a part that a mapping fixes or sweeps.

    Parameters
    ----------
    parameters : Parameters
    fixed : dict
        Validated values.
    axes : list of Axis
    node : Node
        The node of the mapping.
    """

    parameters: Parameters
    fixed: dict[str, Any]
    axes: list[Axis]
    node: Node

    @cached_property
    def names(self) -> set[str]:
        """The swept parameters."""
        return {name for axis in self.axes for name in axis.names}

    @property
    def order(self) -> list[str]:
        """The swept parameters in the order of the signature."""
        return [name for name in self.parameters.names if name in self.names]

    @property
    def size(self) -> int:
        """Number of combinations, found without computing them."""
        return math.prod(axis.count for axis in self.axes)

    @property
    def constant(self) -> dict[str, Any]:
        """The fixed values, and the defaults of the others."""
        return {**self.parameters.defaults, **self.fixed}

    @property
    def resolved(self) -> dict[str, Any]:
        """The parameters that are not swept, as plain data."""
        return {k: to_jsonable_python(v) for k, v in self.constant.items() if k not in self.names}

    def combinations(self) -> list[dict[str, Any]] | None:
        """Return all parameters at every combination; None after an error."""
        before, constant = self.node.count, self.constant
        rows = [axis.rows(self.parameters) for axis in self.axes]
        if self.node.count > before:
            return None
        names = [name for axis in self.axes for name in axis.names]
        found = []
        for steps in itertools.product(*rows):
            values = dict(zip(names, itertools.chain.from_iterable(steps), strict=True))
            found.append(
                {name: values.get(name, constant.get(name)) for name in self.parameters.names}
            )
        return found


def read_assigned(
    part: Part, node: Node, written: dict[str, Any], *, labelled: bool = True
) -> Assigned:
    """Return the parameters that the mapping ``written`` at a node fixes or sweeps.

    Unknown names, wrong values and parameters without a value are reported; unless ``labelled``,
    no remedy suggests a label.
    """
    parameters, own, before = Parameters(part), part.reserved_keys, node.count
    known = [*parameters.names, *(key for key in own if labelled or key != "label")]
    fixed = {}
    for name, value in written.items():
        here = node.at(name)
        if name in own:
            continue
        if name not in parameters.names:
            here.add(
                f"{part.kind} '{part.name}' has no parameter '{name}'.",
                did_you_mean(name, known),
            )
            continue
        try:
            fixed[name] = parameters.read(name, value)
        except BadValue as error:
            if "sweep" in own and _meant_to_sweep(parameters, name, value):
                here.add(
                    f"{name} takes one value here, but is {show(value)}.",
                    "To vary it, write it below 'sweep:'.",
                )
            else:
                here.add_all(error.found)
    axes = _axes(node.at("sweep"), parameters) if "sweep" in own else []
    assigned = Assigned(parameters, fixed, axes, node)
    for name in sorted(written.keys() & assigned.names):
        node.at(name).add(f"{name} has one value here, but is also swept.", "Keep one of the two.")
    # Do not report missing parameters after a misspelt name or a wrong value.
    missing = parameters.required() if node.count == before else []
    for name in missing:
        if name not in written and name not in assigned.names:
            node.add(f"{part.kind} '{part.name}' needs a value for '{name}'.")
    return assigned


def read_spec(part: Part | None, entry: Entry) -> PartSpec | None:
    """Return a part with all its parameters; None after an error."""
    if part is None:
        return None
    before = entry.node.count
    assigned = read_assigned(part, entry.node, entry.settings)
    if entry.node.count > before:
        return None
    params = assigned.constant
    return PartSpec(part.name, {name: params[name] for name in assigned.parameters.names})


def _meant_to_sweep(parameters: Parameters, name: str, value: Any) -> bool:
    if isinstance(value, list):
        return any(parameters.accepts(name, item) for item in value)
    return is_range(value)


def _axes(node: Node, parameters: Parameters) -> list[Axis]:
    """Return the axes of a ``sweep:`` mapping: parameter -> list or range, and ``zip``."""
    sweep = node.value
    if sweep is None:
        return []
    if not isinstance(sweep, dict):
        node.add(f"sweep must be a mapping, but is {show(sweep)}.")
        return []
    axes: list[Axis] = []
    for name, value in sweep.items():
        if name != "zip":
            axes += _axis(node.at(name), {name: node.at(name)}, parameters)
            continue
        zipped = node.at("zip")
        for group in zipped.items if isinstance(value, list) else [zipped]:
            if isinstance(group.value, dict) and group.value:
                columns = {each: group.at(each) for each in group.value}
                axes += _axis(group, columns, parameters)
            else:
                group.add(f"zip must map parameters to lists, but is {show(group.value)}.")
        if not zip_groups(sweep):
            zipped.add("zip is empty.")
    seen: set[str] = set()
    for axis in axes:
        for name, here in zip(axis.names, axis.nodes, strict=True):
            if name in seen:
                here.add(f"{name} is swept twice (see {dotted(here.keys)}).", "Keep one.")
            seen.add(name)
    return axes


def _axis(node: Node, columns: dict[str, Node], parameters: Parameters) -> Iterator[Axis]:
    """Yield the axis of parameters that vary together; nothing after an error."""
    read = {}
    for name, here in columns.items():
        if name in parameters.names:
            read[name] = _column(name, here)
        else:
            part = parameters.part
            here.add(
                f"{part.kind} '{part.name}' has no parameter '{name}' to sweep.",
                did_you_mean(name, parameters.names),
            )
    values = tuple(column for column in read.values() if column is not None)
    if len(values) < len(columns):
        return
    if len({_count(column) for column in values}) > 1:
        counts = ", ".join(f"{name} has {_count(c)}" for name, c in zip(read, values, strict=True))
        node.add(f"the lists below zip must have equal lengths, but {counts}.")
        return
    yield Axis(tuple(columns), values, tuple(columns.values()))


def _count(column: list[Any] | Range) -> int:
    return column.count if isinstance(column, Range) else len(column)


def _column(name: str, node: Node) -> list[Any] | Range | None:
    """Return the values written for one swept parameter; None after an error."""
    value = node.value
    if isinstance(value, list):
        if not value:
            node.add(f"the sweep of {name} is empty.")
        return value or None
    if isinstance(value, dict):
        try:
            return read_range(value, name)
        except BadValue as error:
            node.add_all(error.found)
        return None
    node.add(
        f"the sweep of {name} must be a list or a range, but is {show(value)}.",
        f"For one value move {name} out of the sweep.",
    )
    return None


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
