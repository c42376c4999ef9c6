"""What a generator tells of its problems before drawing them, and sizes that no memory holds."""

from __future__ import annotations

import operator
from dataclasses import dataclass

from greedyexp.config.asking import guarded
from greedyexp.config.mistakes import Place
from greedyexp.core.errors import PluginError
from greedyexp.core.parts import Generator
from greedyexp.problems.checks import memory_shortage, physical_memory

COUNTS = ("n_tasks", "n_samples", "n_features")
_KNOWN = {*COUNTS, "shared_design"}
_BYTES = 8


class Untold(Exception):
    """The generator does not tell this of its problems."""


class Shape(dict):
    """Any of the entries of ``Problem.shape``.

    Raises
    ------
    Untold
        When one is read that the generator does not tell.
    KeyError
        When what is read is no such entry.
    """

    def __missing__(self, key: str):
        raise Untold(key) if key in _KNOWN else KeyError(key)


@dataclass
class Group:
    """The points at which problems have one shape.

    Parameters
    ----------
    point : dict
        The first of them.
    shape : Shape
        What the generator tells of the problems there.
    count : int
        How many points there are.
    """

    point: dict
    shape: Shape
    count: int = 0


def read_shapes(generator: Generator, points: list[dict], place: Place) -> list[Group]:
    """The points grouped by shape, in order; none for a generator that tells no shape.

    Raises
    ------
    PluginError
        When the generator's ``shape`` raises or is not one.
    """
    tell = generator.shape
    groups: dict[tuple, Group] = {}
    if tell is None:
        return []
    with guarded("shape", generator, place):
        for point in points:
            shape = _checked(generator, tell(**point), point, place)
            key = tuple(map(shape.get, (*COUNTS, "shared_design")))
            groups.setdefault(key, Group(point, shape)).count += 1
    return list(groups.values())


def _checked(generator: Generator, told: object, point: dict, place: Place) -> Shape:
    if not isinstance(told, dict) or not told.keys() <= _KNOWN:
        raise PluginError(
            f"the shape of generator '{generator.name}' must be a dict with any of"
            f" {', '.join(COUNTS)} and shared_design, but is {told!r}.",
            place=str(place),
        )
    shape = Shape(shared_design=bool(told.get("shared_design", False)))
    for name in COUNTS:
        if name in told:
            shape[name] = operator.index(told[name])
            if shape[name] < 1 and not _without_rows(generator, point, name, shape[name]):
                raise PluginError(
                    f"the shape of generator '{generator.name}' has {name} = {told[name]};"
                    " at least 1 is needed.",
                    place=str(place),
                )
    return shape


def _without_rows(generator: Generator, point: dict, name: str, count: int) -> bool:
    """Whether a count of zero is that of the rows of a distribution alone."""
    return name == "n_samples" and count == 0 and "population" in generator.traits(point)


def check_memory(shape: Shape) -> None:
    """Refuse designs that the memory of this machine cannot hold.

    What the generator does not tell is not judged.

    Raises
    ------
    ValueError
        With a sentence.
    """
    if not shape.keys() >= set(COUNTS):
        return
    designs = 1 if shape["shared_design"] else shape["n_tasks"]
    # In floats, which overflow to infinity where whole numbers could not be printed.
    needed = float(designs) * float(shape["n_samples"]) * float(shape["n_features"]) * _BYTES
    shortage = memory_shortage(needed, "the designs", physical_memory())
    if shortage:
        raise ValueError(shortage)
