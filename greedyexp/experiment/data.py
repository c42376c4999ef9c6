"""The ``data:`` section: a generator and every point of its sweep."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic_core import to_jsonable_python

from greedyexp.errors import PluginError
from greedyexp.experiment.asking import guarded, refusal
from greedyexp.experiment.document import Document
from greedyexp.experiment.mistakes import Mistakes, Place
from greedyexp.experiment.parameters import Parameters
from greedyexp.experiment.sentences import show
from greedyexp.experiment.settings import find_part, read_fixed, refuse_both, refuse_incomplete
from greedyexp.experiment.shapes import Group, check_memory, read_shapes
from greedyexp.experiment.sweep import combinations, read_axes, size, sort_key
from greedyexp.registry import RESERVED, Part

MAX_ROWS = 10_000_000
_KEYS = ("data",)


@dataclass(frozen=True)
class Data:
    """The points of the sweep and what is known of the problems at each.

    Parameters
    ----------
    generator : Part
        What makes the problems.
    points : list of dict
        All parameters of each point, in canonical order.
    swept : list of str
        Parameters with more than one value, in signature order.
    traits : list of frozenset of str
        What the problems of each point provide.
    shapes : list of Group
        The points by the shape of their problems; empty when the generator tells none.
    resolved : dict
        The section with defaults filled in.
    """

    generator: Part
    points: list[dict]
    swept: list[str]
    traits: list[frozenset[str]]
    shapes: list[Group]
    resolved: dict


def read_data(doc: Document, trials: int, mistakes: Mistakes) -> Data | None:
    """The data of the experiment, or None after noting mistakes.

    Parameters
    ----------
    doc : Document
        Settings after profile and overrides.
    trials : int
        Replicates of each point; bounds the size of the sweep.
    """
    written = doc.get(_KEYS)
    before = len(mistakes.found)
    generator = _generator(written, doc, mistakes)
    if generator is None:
        return None
    parameters = Parameters(generator)
    fixed = read_fixed(written, _KEYS, parameters, doc, mistakes, reserved=RESERVED["generator"])
    axes = read_axes(written.get("sweep"), (*_KEYS, "sweep"), parameters, doc, mistakes)
    names = {name for axis in axes for name in axis.names}
    refuse_both(written, names, _KEYS, doc, mistakes)
    if len(mistakes.found) == before:
        refuse_incomplete(parameters, names | fixed.keys(), _KEYS, doc, mistakes)
    if size(axes) * trials > MAX_ROWS:
        mistakes.add(
            doc.place((*_KEYS, "sweep")),
            f"the sweep has {size(axes)} points, with {trials} trial(s) more than"
            f" {MAX_ROWS} replicates.",
            "Sweep fewer values or lower trials.",
        )
        return None
    rows = [axis.rows(parameters, doc, mistakes) for axis in axes]
    if len(mistakes.found) > before:
        return None
    constant = {**parameters.defaults, **fixed}
    points = [
        {name: (combo if name in combo else constant)[name] for name in parameters.names}
        for combo in combinations(axes, rows)
    ]
    order = [name for name in parameters.names if name in names]
    points.sort(key=lambda point: tuple(sort_key(point[name]) for name in order))
    swept = [name for name in order if len({sort_key(point[name]) for point in points}) > 1]
    place = doc.place((*_KEYS, "sweep") if order else _KEYS)
    impossible = _check(generator, points, order, place)
    if impossible is not None:
        mistakes.add(place, impossible)
        return None
    shapes = read_shapes(generator, points, place)
    impossible = _check_memory(shapes, order, len(points))
    if impossible is not None:
        mistakes.add(place, impossible)
    resolved = {"generator": generator.name}
    resolved |= {k: to_jsonable_python(v) for k, v in constant.items() if k not in names}
    if axes:
        resolved["sweep"] = written["sweep"]
    return Data(generator, points, swept, _traits(generator, points, doc), shapes, resolved)


def _generator(written: dict, doc: Document, mistakes: Mistakes) -> Part | None:
    name = written.get("generator")
    if "generator" not in written:
        mistakes.add(doc.place(_KEYS), "data names no generator.", "Add 'generator: NAME'.")
        return None
    if not isinstance(name, str):
        mistakes.add(
            doc.place((*_KEYS, "generator")), f"generator must be a name, but is {show(name)}."
        )
        return None
    return find_part("generator", name, (*_KEYS, "generator"), doc, mistakes)


def _check(generator: Part, points: list[dict], order: list[str], place: Place) -> str | None:
    check = generator.extra.get("check")
    if check is None:
        return None
    cases = ((point, 1, point) for point in points)
    with guarded("check", generator, place):
        return refusal("impossible data", lambda p: check(**p), cases, order, len(points))


def _check_memory(shapes: list[Group], order: list[str], total: int) -> str | None:
    cases = ((group.point, group.count, group.shape) for group in shapes)
    return refusal("impossible data", check_memory, cases, order, total)


def _traits(generator: Part, points: list[dict], doc: Document) -> list[frozenset[str]]:
    if not callable(generator.extra.get("provides")):
        return [generator.provides(points[0])] * len(points)
    try:
        return [generator.provides(point) for point in points]
    except Exception as error:
        raise PluginError(
            f"generator '{generator.name}' cannot say what it provides:"
            f" {type(error).__name__}: {error}.",
            place=str(doc.place(_KEYS)),
        ) from error
