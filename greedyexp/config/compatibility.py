"""Refusing impossible pairs: parts that need what the data do not have, names that collide."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress

from greedyexp.config.asking import describe, guarded, refusal
from greedyexp.config.blocks import Block
from greedyexp.config.data import COLUMN, Data
from greedyexp.config.document import Document
from greedyexp.config.mistakes import Keys, Mistakes
from greedyexp.config.model import AlgorithmSpec
from greedyexp.config.radius import radius_instead
from greedyexp.config.shapes import Shape, Untold
from greedyexp.core.parts import Algorithm, Part, Protocol
from greedyexp.core.registry import RESERVED_COLUMNS
from greedyexp.protocols.fitting import check_folds

_NEEDS = {
    "truth": ("the true coefficients", "does not know them"),
    "multi_task": ("several tasks", "makes one"),
    "noise_std": ("the noise level", "does not give it"),
    "test_rows": ("rows held out for testing", "holds out none"),
    "labels": ("class labels as responses", "gives none"),
    "chains": ("sequences of labelled words", "makes none"),
    "one_response": ("one response", "makes several"),
    "moments": ("the moments of the distribution", "does not know them"),
    "rows": ("rows of data", "draws none"),
    "spread_label": ("a label spread over all features", "makes none"),
}
# What data have unless they provide another trait.
_UNLESS = {"one_response": "multi_task", "rows": "population"}
# What a column of a protocol needs, and the parameter that asks for it.
_ASKED_NEEDS = {"class_error": ("classes_at", "test_rows")}


def _missing_at(trait: str, block: Block) -> str | None:
    """Where the trait is missing: a phrase, empty for everywhere, None for nowhere."""
    if trait in _UNLESS:
        return _where([_UNLESS[trait] in traits for traits in block.traits], block)
    return _where([trait not in traits for traits in block.traits], block)


def _where(concerned: list[bool], block: Block) -> str | None:
    """Which points of a block: a phrase, empty for all of them, None for none."""
    points = [point for point, one in zip(block.points, concerned, strict=True) if one]
    if not points:
        return None
    return "" if len(points) == len(block.points) else f" at {describe(points[0], block.swept)}"


def _refuse(
    who: str,
    trait: str,
    data: Data,
    keys: Keys,
    doc: Document,
    mistakes: Mistakes,
    remedy: str = "",
) -> None:
    need, lack = _NEEDS.get(trait, (f"the trait '{trait}'", "does not have it"))
    for block in data.blocks:
        where = _missing_at(trait, block)
        if where is not None:
            said = f"{who} needs {need} but {block.named} {lack}{where}."
            mistakes.add(doc.place(keys), said, remedy)
            return


def refuse_measured(
    part: Protocol,
    params: dict,
    measured: Collection[str],
    data: Data,
    doc: Document,
    mistakes: Mistakes,
) -> None:
    """Note what a protocol needs or is asked for and the data cannot give.

    Parameters
    ----------
    params : dict
        Its parameters.
    measured : collection of str
        Its columns.
    """
    for trait in part.requirements_of(params):
        _refuse(f"protocol '{part.name}'", trait, data, ("protocol", part.name), doc, mistakes)
    for column in _ASKED_NEEDS.keys() & measured:
        asked, trait = _ASKED_NEEDS[column]
        keys = ("protocol", part.name, asked)
        _refuse(f"{asked} of protocol '{part.name}'", trait, data, keys, doc, mistakes)


def refuse_part(part: Part, data: Data, keys: Keys, doc: Document, mistakes: Mistakes) -> None:
    """Note every trait that an algorithm or a metric needs and the data lack, or cannot take."""
    of_rows = isinstance(part, Algorithm) and not part.takes_population
    for trait in (*part.fixed_requirements, *(("rows",) if of_rows else ())):
        _refuse(f"{part.kind} '{part.name}'", trait, data, keys, doc, mistakes)
    makes = _maker("sparse", data)
    if makes is not None and isinstance(part, Algorithm) and not part.takes_sparse:
        who, where = makes
        mistakes.add(
            doc.place(keys),
            f"algorithm '{part.name}' takes no sparse design but {who} makes one{where}.",
        )


def _maker(trait: str, data: Data) -> tuple[str, str] | None:
    """The first block whose problems have the trait, and at which point (empty for all)."""
    for block in data.blocks:
        where = _where([trait in traits for traits in block.traits], block)
        if where is not None:
            return block.named, where
    return None


def refuse_tuning(
    part: Algorithm, tuning: str, data: Data, keys: Keys, doc: Document, mistakes: Mistakes
) -> None:
    """Note a tuning that the data or the algorithm cannot have."""
    if tuning == "oracle":
        _refuse("tuning 'oracle'", "truth", data, keys, doc, mistakes)
    makes = _maker("chains", data)
    if tuning == "cv" and makes is not None:
        who, where = makes
        others = ", or tuning: oracle" if data.all_have("truth") else ""
        mistakes.add(
            doc.place(keys),
            f"tuning 'cv' takes rows apart but {who} makes chains of them{where}.",
            f"Use protocol selection{others}.",
        )
    if tuning == "theory":
        if part.theory is None:
            mistakes.add(
                doc.place(keys),
                f"no theory prescribes the tuning of algorithm '{part.name}'.",
                "Use oracle or cv.",
            )
        else:
            for trait in part.theory_requires:
                _refuse("tuning 'theory'", trait, data, keys, doc, mistakes)


def refuse_parameters(
    part: Algorithm,
    specs: list[AlgorithmSpec],
    data: Data,
    keys: Keys,
    doc: Document,
    mistakes: Mistakes,
) -> None:
    """Note the first algorithm of an entry that some data make impossible.

    That they lack a trait which these parameters need, or by their shape.
    """
    place = doc.place(keys)
    for spec in specs:
        with guarded("requires", part, place):
            needs = part.requirements_of(spec.params)
        before = len(mistakes.found)
        for trait in needs:
            remedy = radius_instead(part, spec.params, trait)
            if trait == "moments":
                remedy = "Use risk: sample, or data with moments, such as response: linear."
            _refuse(f"algorithm '{spec.label}'", trait, data, keys, doc, mistakes, remedy)
        if len(mistakes.found) > before:
            return
    for spec, block in itertools.product(specs, data.blocks):
        what = f"impossible parameters of algorithm '{spec.label}'"
        what += f" for data '{block.label}'" if data.listed else ""
        for rule in _rules(part, spec):
            cases = ((group.point, group.count, group.shape) for group in block.shapes)
            with guarded("check", part, place):
                refused = refusal(what, rule, cases, block.swept, len(block.points))
            if refused is not None:
                mistakes.add(place, refused)
                return


def refuse_needs_for(
    protocol: Protocol,
    params: dict,
    specs: list[AlgorithmSpec],
    data: Data,
    keys: Keys,
    doc: Document,
    mistakes: Mistakes,
) -> None:
    """Note the first algorithm for which a protocol with ``params`` needs what some data lack."""
    needs_for, before = protocol.needs_for, len(mistakes.found)
    for spec in specs if needs_for is not None else ():
        with guarded("needs_for", protocol, doc.place(keys)):
            needs = needs_for(spec.params, **params)
        who = f"protocol '{protocol.name}' with algorithm '{spec.label}'"
        remedy = f"Give radius of protocol '{protocol.name}'." if "radius" in params else ""
        for trait in needs:
            _refuse(who, trait, data, keys, doc, mistakes, remedy)
        if len(mistakes.found) > before:
            return


def _rules(part: Algorithm, spec: AlgorithmSpec) -> Iterator[Callable[[Shape], None]]:
    """What refuses a shape, each silent on shapes that do not tell what it reads."""
    check = part.check

    def of_algorithm(shape: Shape) -> None:
        with suppress(Untold):
            check(shape, **spec.params)

    def of_folds(shape: Shape) -> None:
        with suppress(Untold):
            check_folds(shape["n_samples"], spec.folds)

    if check is not None:
        yield of_algorithm
    if spec.tuning == "cv":
        yield of_folds


def refuse_columns(
    data: Data,
    algorithms: list[AlgorithmSpec],
    measured: list[str],
    doc: Document,
    mistakes: Mistakes,
) -> set[str]:
    """Note names that would be two columns of the CSV.

    Parameters
    ----------
    measured : list of str
        The columns of the protocol: its own and one for each metric.

    Returns
    -------
    set of str
        All columns, those for the facts of the data included.
    """
    swept = {name for spec in algorithms for name in spec.swept}
    columns = Counter([*data.columns, *RESERVED_COLUMNS, *sorted(swept), *measured])
    # A fact may fill a parameter's column, but not that of the labels.
    columns.update({COLUMN} & data.facts if data.listed else ())
    for name in [name for name, count in columns.items() if count > 1]:
        if name in swept:
            keys: Keys = ("algorithms",)
        else:
            listed = name in (doc.get(("metrics",)) or ())
            keys = ("data",) if name in data.columns else ("metrics" if listed else "protocol",)
        remedy = "Write one entry for each value, each with a label." if name in swept else ""
        said = f"two columns of the CSV would be named '{name}'."
        mistakes.add(doc.place(keys), said, remedy or "Rename one.")
    return {*columns, *data.facts}
