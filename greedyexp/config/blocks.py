"""One block of ``data:``: a generator and every point of its sweep."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic_core import to_jsonable_python

from greedyexp.config.asking import guarded, refusal
from greedyexp.config.document import Document
from greedyexp.config.entries import refuse_label
from greedyexp.config.mistakes import Keys, Mistakes, Place
from greedyexp.config.settings import find_part, read_fixed, refuse_both, refuse_incomplete
from greedyexp.config.shapes import Group, check_memory, read_shapes
from greedyexp.config.sweep import Axis, combinations, read_axes, size, sort_key
from greedyexp.core.errors import PluginError
from greedyexp.core.parts import Generator
from greedyexp.experiment.messages import show
from greedyexp.experiment.parameters import Parameters

MAX_ROWS = 10_000_000


@dataclass(frozen=True)
class Block:
    """The points of one sweep and what is known of the problems at each.

    Parameters
    ----------
    label : str or None
        What the column ``data`` calls it; None when the block is all the data there are.
    generator : Generator
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
        The mapping with defaults filled in.
    """

    label: str | None
    generator: Generator
    points: list[dict]
    swept: list[str]
    traits: list[frozenset[str]]
    shapes: list[Group]
    resolved: dict

    @property
    def named(self) -> str:
        """``generator 'gaussian'``, with the label when it has one."""
        name = f"generator '{self.generator.name}'"
        return name if self.label is None else f"{name} of data '{self.label}'"


def read_block(
    keys: Keys, doc: Document, trials: int, mistakes: Mistakes, *, listed: bool
) -> Block | None:
    """The block at ``keys``, or None after noting mistakes.

    Parameters
    ----------
    trials : int
        Replicates of each point; bounds the size of the sweep.
    listed : bool
        Whether it stands in a list, and so has a label.
    """
    written = doc.get(keys)
    before = len(mistakes.found)
    generator = _generator(written, keys, doc, mistakes)
    if generator is None:
        return None
    label = _label(written, generator, keys, doc, mistakes, listed=listed)
    parameters = Parameters(generator)
    reserved = tuple(key for key in Generator.reserved_keys if listed or key != "label")
    own = {key: value for key, value in written.items() if key != "label"}
    fixed = read_fixed(own, keys, parameters, doc, mistakes, reserved=reserved)
    axes = read_axes(written.get("sweep"), (*keys, "sweep"), parameters, doc, mistakes)
    names = {name for axis in axes for name in axis.names}
    refuse_both(written, names, keys, doc, mistakes)
    if len(mistakes.found) == before:
        refuse_incomplete(parameters, names | fixed.keys(), keys, doc, mistakes)
    if size(axes) * trials > MAX_ROWS:
        mistakes.add(
            doc.place((*keys, "sweep")),
            f"the sweep has {size(axes)} points, with {trials} trial(s) more than"
            f" {MAX_ROWS} replicates.",
            "Sweep fewer values or lower trials.",
        )
        return None
    rows = [axis.rows(parameters, doc, mistakes) for axis in axes]
    if len(mistakes.found) > before:
        return None
    constant = {**parameters.defaults, **fixed}
    resolved = {"generator": generator.name} | ({"label": label} if listed else {})
    resolved |= {k: to_jsonable_python(v) for k, v in constant.items() if k not in names}
    if axes:
        resolved["sweep"] = written["sweep"]
    order = [name for name in parameters.names if name in names]
    points = _points(parameters, axes, rows, constant, order)
    changed = doc.decided(keys)
    written = doc.place((*keys, "sweep") if order else keys)
    place = changed if changed != doc.place(keys) else written
    return _known(label, generator, points, order, resolved, place, mistakes)


def _points(
    parameters: Parameters, axes: list[Axis], rows: list, constant: dict, order: list[str]
) -> list[dict]:
    """Every point of the sweep, sorted by the values of the parameters in ``order``."""
    points = [
        {name: (combo if name in combo else constant)[name] for name in parameters.names}
        for combo in combinations(axes, rows)
    ]
    return sorted(points, key=lambda point: tuple(sort_key(point[name]) for name in order))


def _known(
    label: str | None,
    generator: Generator,
    points: list[dict],
    order: list[str],
    resolved: dict,
    place: Place,
    mistakes: Mistakes,
) -> Block | None:
    """The block with what its generator tells; None after noting that a point is impossible."""
    what = "impossible data" if label is None else f"impossible data '{label}'"
    impossible = _check(what, generator, points, order, place)
    if impossible is not None:
        mistakes.add(place, impossible)
        return None
    shapes = read_shapes(generator, points, place)
    cases = ((group.point, group.count, group.shape) for group in shapes)
    impossible = refusal(what, check_memory, cases, order, len(points))
    if impossible is not None:
        mistakes.add(place, impossible)
    swept = [name for name in order if len({sort_key(point[name]) for point in points}) > 1]
    traits = _traits(generator, points, place)
    return Block(label, generator, points, swept, traits, shapes, resolved)


def _generator(written: dict, keys: Keys, doc: Document, mistakes: Mistakes) -> Generator | None:
    name = written.get("generator")
    if "generator" not in written:
        mistakes.add(doc.place(keys), "data names no generator.", "Add 'generator: NAME'.")
        return None
    if not isinstance(name, str):
        mistakes.add(
            doc.place((*keys, "generator")), f"generator must be a name, but is {show(name)}."
        )
        return None
    return find_part(Generator, name, (*keys, "generator"), doc, mistakes)


def _label(
    written: dict,
    generator: Generator,
    keys: Keys,
    doc: Document,
    mistakes: Mistakes,
    *,
    listed: bool,
) -> str | None:
    if not listed:
        if "label" in written:
            mistakes.add(
                doc.place((*keys, "label")),
                "a label tells the blocks of a list of data apart, but these data are one mapping.",
                "Remove it.",
            )
        return None
    label = written.get("label", generator.name)
    refuse_label(label, (*keys, "label"), doc, mistakes)
    return label


def _check(
    what: str, generator: Generator, points: list[dict], order: list[str], place: Place
) -> str | None:
    check = generator.check
    if check is None:
        return None
    cases = ((point, 1, point) for point in points)
    with guarded("check", generator, place):
        return refusal(what, lambda p: check(**p), cases, order, len(points))


def _traits(generator: Generator, points: list[dict], place: Place) -> list[frozenset[str]]:
    if not callable(generator.provides):
        return [generator.traits(points[0])] * len(points)
    try:
        return [generator.traits(point) for point in points]
    except Exception as error:
        raise PluginError(
            f"generator '{generator.name}' cannot say what it provides:"
            f" {type(error).__name__}: {error}.",
            place=str(place),
        ) from error
