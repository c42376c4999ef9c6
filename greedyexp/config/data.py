"""The ``data:`` of an experiment: blocks, each a generator with every point of its sweep."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from greedyexp.config.document import Node, Place
from greedyexp.config.sections import (
    alike,
    check_size,
    find_part,
    guarded,
    read_part,
    refusal,
    sort_key,
)
from greedyexp.core.errors import DataError, PluginError
from greedyexp.core.parts import Generator
from greedyexp.experiment.design import DATA_COLUMN
from greedyexp.experiment.messages import show
from greedyexp.experiment.model import Point
from greedyexp.experiment.sweep import axes_of
from greedyexp.problems.checks import memory_shortage, physical_memory

COUNTS = ("n_tasks", "n_samples", "n_features")
_KNOWN = {*COUNTS, "shared_design"}
_BYTES = 8


class Undeclared(Exception):
    """The generator does not declare this entry of the shape."""


class Shape(dict[str, Any]):
    """The entries of ``Problem.shape`` that a generator declares; not all need be present.

    Raises
    ------
    Undeclared
        If the generator does not declare the requested entry.
    KeyError
        If the key is not an entry of ``Problem.shape``.
    """

    def __missing__(self, key: str) -> Any:
        raise Undeclared(key) if key in _KNOWN else KeyError(key)


@dataclass(frozen=True)
class Block:
    """A block of data: the points of its sweep, and the declarations of its generator.

    Parameters
    ----------
    label : str or None
        Value of the block in the column ``data``; None if the data are one mapping.
    generator : Generator
    points : list of dict
        All parameters of each point, in canonical order.
    swept : list of str
        Parameters with more than one value, in signature order.
    traits : list of frozenset of str
        Traits of the problems of each point.
    shapes : list of (point, count, shape)
        The first of the points at which problems have the same shape, their number, and the shape
        that the generator declares; empty if it declares none.
    resolved : dict
        The block with defaults filled in.
    """

    label: str | None
    generator: Generator
    points: list[dict[str, Any]]
    swept: list[str]
    traits: list[frozenset[str]]
    shapes: list[tuple[dict[str, Any], int, Shape]]
    resolved: dict[str, Any]

    @property
    def named(self) -> str:
        """Name for messages: ``generator 'gaussian'``, followed by the label if there is one."""
        name = f"generator '{self.generator.name}'"
        return name if self.label is None else f"{name} of data '{self.label}'"

    def refusal(self, message: str, check: Callable[[Shape], None]) -> str | None:
        """Return a message about the first shape that ``check`` refuses; see ``refusal``."""
        return refusal(message, check, self.shapes, self.swept, len(self.points))


@dataclass(frozen=True)
class Data:
    """The blocks of an experiment's data.

    Parameters
    ----------
    blocks : list of Block
        The blocks in the order of the file.
    listed : bool
        True if the data are a list in the file. Otherwise there is one block without a label.
    """

    blocks: list[Block]
    listed: bool

    @property
    def points(self) -> list[Point]:
        """The points of all blocks, one block after the other."""
        return [
            Point(block.generator.name, params, block.label)
            for block in self.blocks
            for params in block.points
        ]

    @property
    def columns(self) -> list[str]:
        """The columns that distinguish points: the label, then all parameters."""
        names = dict.fromkeys(itertools.chain(*(block.points[0] for block in self.blocks)))
        return [*([DATA_COLUMN] if self.listed else []), *names]

    @property
    def swept(self) -> list[str]:
        """The columns with several values in a block, and ``data`` if there are several blocks."""
        several = {DATA_COLUMN} if len(self.blocks) > 1 else set()
        swept = several.union(*(block.swept for block in self.blocks))
        return [name for name in self.columns if name in swept]

    @property
    def swept_by_all(self) -> list[str]:
        """The parameters that take more than one value in every block."""
        return [name for name in self.swept if all(name in block.swept for block in self.blocks)]

    @property
    def facts(self) -> set[str]:
        """The names of the facts that generators record about a problem. Each fact is a column."""
        return {name for block in self.blocks for name in block.generator.facts}

    @property
    def resolved(self) -> dict[str, Any] | list[dict[str, Any]]:
        """The section with defaults filled in."""
        return [block.resolved for block in self.blocks] if self.listed else self.blocks[0].resolved

    @property
    def zipped(self) -> set[str]:
        """Parameters that are zipped with others."""
        axes = [axis for block in self.blocks for axis in axes_of(block.resolved.get("sweep"))]
        return {name for axis in axes if len(axis) > 1 for name in axis}

    @property
    def texts(self) -> set[str]:
        """The columns with text values, which the tests of claims cannot use as numbers."""
        return {name for name in self.columns if str in map(type, self.values(name))}

    def all_have(self, trait: str) -> bool:
        """Return True if the problems of every point provide the trait."""
        return all(trait in traits for block in self.blocks for traits in block.traits)

    def values(self, name: str) -> list[Any]:
        """Return each value of a column once, in the order of the points."""
        if self.listed and name == DATA_COLUMN:
            return [block.label for block in self.blocks]
        points = [params for block in self.blocks for params in block.points if name in params]
        return list({sort_key(params[name]): params[name] for params in points}.values())


def read_data(node: Node, trials: int) -> Data | None:
    """Return the data of an experiment; None after an error.

    Parameters
    ----------
    node : Node
        The section ``data``, after profile and overrides have been applied.
    trials : int
        Replicates of each point; bounds the size of the sweep.
    """
    node, listed = node.scope(), isinstance(node.value, list)
    if not node.value and node.value != {}:
        return None
    blocks: dict[str | None, Block] = {}
    for item in node.items if listed else [node]:
        if not isinstance(item.value, dict):
            item.add(
                f"a block of data must be a mapping, but is {show(item.value)}.",
                "Write generator: NAME and its parameters.",
            )
            continue
        block = _read_block(item, trials, listed)
        if block is not None and block.label in blocks:
            item.add(
                f"two blocks of data have the label '{block.label}'.",
                "Give one of them a 'label:'.",
            )
        elif block is not None:
            blocks[block.label] = block
    if node.wrong:
        return None
    check_size(node, sum(len(block.points) for block in blocks.values()), trials)
    data = Data(list(blocks.values()), listed)
    # The sweep of each block has been checked.
    for name in data.columns if len(blocks) > 1 else ():
        node.add_all(alike((), f"the column {name}", data.values(name)))
    return None if node.wrong else data


def _read_block(node: Node, trials: int, listed: bool) -> Block | None:
    written, node = node.value, node.scope()
    generator = _read_generator(node)
    if generator is None:
        return None
    label = written.get("label", generator.name) if listed else None
    if not listed and "label" in written:
        node.at("label").add(
            "a label distinguishes the blocks of a list of data, but the data are one mapping.",
            "Remove it.",
        )
    settings = read_part(generator, written, labelled=listed)
    few = check_size(node.at("sweep"), settings.size, trials)
    points = settings.combinations() if few else []
    node.add_all(settings.mistakes)
    if node.wrong:
        return None
    order = settings.order
    points.sort(key=lambda point: tuple(sort_key(point[name]) for name in order))
    resolved = {"generator": generator.name} | ({"label": label} if listed else {})
    resolved |= settings.resolved | ({"sweep": written["sweep"]} if settings.axes else {})
    changed = node.doc.last_change(node.keys)
    place = changed if changed != node.place else (node.at("sweep") if order else node).place
    try:
        shapes = _shapes(generator, points, label, order, place)
    except _Impossible as error:
        node.diagnostics.add(place, str(error))
        return None
    except DataError as error:
        _add_unreadable(error, node, place)
        return None
    swept = [name for name in order if len({sort_key(point[name]) for point in points}) > 1]
    with guarded("provides", generator, place):
        if callable(generator.provides):
            traits = [generator.traits(point) for point in points]
        else:
            traits = [generator.traits({})] * len(points)
    return Block(label, generator, points, swept, traits, shapes, resolved)


def _add_unreadable(error: DataError, node: Node, place: Place) -> None:
    """Report data that cannot be read, at the parameter that names their file if there is one."""
    naming = [name for name, value in node.value.items() if value == error.place]
    own = error.place and error.place != str(place)
    message = f"{error.place}: {error.message}" if own else error.message
    node.diagnostics.add(node.at(naming[0]).place if naming else place, message, error.remedy or "")


def _read_generator(node: Node) -> Generator | None:
    here, name = node.at("generator"), node.value.get("generator")
    if "generator" not in node.value:
        node.add("'generator' is missing in data.", "Add 'generator: NAME'.")
        return None
    if not isinstance(name, str):
        here.add(f"generator must be a name, but is {show(name)}.")
        return None
    return find_part(Generator, name, here)


class _Impossible(Exception):
    """The first point that is impossible, and the number of others, as a message."""


def _shapes(
    generator: Generator,
    points: list[dict[str, Any]],
    label: str | None,
    names: list[str],
    place: Place,
) -> list[tuple[dict[str, Any], int, Shape]]:
    """Return the shapes of possible points in order; none if the generator declares no shape.

    Raises
    ------
    _Impossible
        If the generator refuses a point, or its designs do not fit into memory.
    PluginError
        If a function of the generator fails, or its ``shape`` does not return a valid shape.
    """
    named = "impossible data" if label is None else f"impossible data '{label}'"
    if generator.check is not None:
        check, cases = generator.check, ((point, 1, point) for point in points)
        with guarded("check", generator, place):
            impossible = refusal(named, lambda one: check(**one), cases, names, len(points))
        if impossible is not None:
            raise _Impossible(impossible)
    if generator.shape is None:
        return []
    groups: dict[tuple[Any, ...], tuple[dict[str, Any], int, Shape]] = {}
    with guarded("shape", generator, place):
        for point in points:
            shape = _checked(generator, generator.shape(**point), point, place)
            key = tuple(map(shape.get, (*COUNTS, "shared_design")))
            first, count, _ = groups.get(key, (point, 0, shape))
            groups[key] = first, count + 1, shape
    impossible = refusal(named, _check_memory, groups.values(), names, len(points))
    if impossible is not None:
        raise _Impossible(impossible)
    return list(groups.values())


def _checked(generator: Generator, given: Any, point: Mapping[str, Any], place: Place) -> Shape:
    if not isinstance(given, dict) or not given.keys() <= _KNOWN:
        raise PluginError(
            f"the shape of generator '{generator.name}' must be a dict with any of"
            f" {', '.join(COUNTS)} and shared_design, but is {given!r}.",
            place=str(place),
        )
    shape = Shape(shared_design=bool(given.get("shared_design", False)))
    for name in [name for name in COUNTS if name in given]:
        shape[name] = count = operator.index(given[name])
        # A distribution alone has no rows.
        rowless = name == "n_samples" and count == 0 and "population" in generator.traits(point)
        if count < 1 and not rowless:
            raise PluginError(
                f"the shape of generator '{generator.name}' has {name} = {count};"
                " at least 1 is needed.",
                place=str(place),
            )
    return shape


def _check_memory(shape: Shape) -> None:
    """Raise ``ValueError`` if designs do not fit into the memory of this machine."""
    if not shape.keys() >= set(COUNTS):
        return
    designs = 1 if shape["shared_design"] else shape["n_tasks"]
    # Floats overflow to infinity, but whole numbers can be too long to print.
    needed = float(designs) * float(shape["n_samples"]) * float(shape["n_features"]) * _BYTES
    shortage = memory_shortage(needed, "the designs", physical_memory())
    if shortage:
        raise ValueError(shortage)
