"""Rules for what parts need of data: the parts declare traits, and the data provide them."""

from __future__ import annotations

import itertools
import typing
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from greedyexp.config.data import Block, Data, Shape, Undeclared, describe, guarded
from greedyexp.config.document import Node
from greedyexp.core.parts import Algorithm, Generator, Part, Protocol
from greedyexp.core.registry import RESERVED_COLUMNS
from greedyexp.experiment.design import DATA_COLUMN
from greedyexp.experiment.model import AlgorithmSpec
from greedyexp.experiment.parameters import Parameters
from greedyexp.protocols.fitting import check_folds

# True for parameters that have a need.
Needed = Callable[[dict[str, Any]], object]


class Trait(typing.NamedTuple):
    """How messages describe a trait that problems may have.

    Parameters
    ----------
    needed : str
        Description for a part that needs it.
    lacking : str
        Description of a generator that does not provide it.
    unless : str
        Problems have the trait unless they provide this other one; empty for a provided trait.
    other_data : str
        Description of data that have it.
    in_folds : bool
        True if the rows of a fold of cross-validation have the trait when all rows have it.
    """

    needed: str
    lacking: str
    unless: str = ""
    other_data: str = ""
    in_folds: bool = True


TRAITS = {
    "truth": Trait("the true coefficients", "does not know them"),
    "multi_task": Trait("several tasks", "makes one"),
    "noise_std": Trait("the noise level", "does not give it"),
    "test_rows": Trait("rows held out for testing", "holds out none"),
    "labels": Trait("class labels as responses", "gives none"),
    "chains": Trait("sequences of labelled words", "makes none"),
    "one_response": Trait("one response", "makes several", unless="multi_task"),
    "moments": Trait(
        "the moments of the distribution",
        "does not know them",
        other_data="data with moments",
        in_folds=False,
    ),
    "rows": Trait("rows of data", "draws none", unless="population"),
    "spread_label": Trait("a label spread over all features", "makes none"),
}


@dataclass(frozen=True)
class Need:
    """A trait that someone needs of the data.

    Parameters
    ----------
    who : str
        Subject of the message.
    trait : str
    remedy : str
    """

    who: str
    trait: str
    remedy: str = ""

    def check(self, data: Data, node: Node) -> None:
        """Report the first block of data without the trait."""
        trait = TRAITS.get(self.trait, Trait(f"the trait '{self.trait}'", "does not have it"))
        for block in data.blocks:
            if trait.unless:
                where = _where([trait.unless in traits for traits in block.traits], block)
            else:
                where = _where([self.trait not in traits for traits in block.traits], block)
            if where is not None:
                node.add(
                    f"{self.who} needs {trait.needed} but {block.named} {trait.lacking}{where}.",
                    self.remedy,
                )
                return


def _where(concerned: list[bool], block: Block) -> str | None:
    """Return which points of a block: a phrase, empty for all of them, None for none."""
    points = [point for point, one in zip(block.points, concerned, strict=True) if one]
    if not points:
        return None
    return "" if len(points) == len(block.points) else f" at {describe(points[0], block.swept)}"


def _maker(trait: str, data: Data) -> tuple[str, str] | None:
    """Return the first block that provides a trait, and at which points (empty for all)."""
    for block in data.blocks:
        where = _where([trait in traits for traits in block.traits], block)
        if where is not None:
            return block.named, where
    return None


def value_instead(part: Part, params: dict[str, Any], needed: Needed) -> str:
    """Return the parameter without a value which, if given, drops a need; empty if there is none.

    Parameters
    ----------
    part : Part
    params : dict
        Its parameters.
    needed : callable
        ``needed(params)`` is true if parameters have the need.
    """
    parameters = Parameters(part)
    for name in parameters.names:
        if params.get(name, 0) is None and parameters.accepts(name, 1):
            with suppress(Exception):  # A remedy is a suggestion; the need itself is reported.
                if not needed({**params, name: parameters.read(name, 1)}):
                    return name
    return ""


def choice_instead(part: Part, params: dict[str, Any], needed: Needed) -> str:
    """Return ``name: value`` of another choice that drops a need; empty if there is none."""
    for name, field in part.parameters.model_fields.items():
        choices = typing.get_args(field.annotation)
        for value in choices if all(isinstance(one, str) for one in choices) else ():
            with suppress(Exception):  # A remedy is a suggestion; the need itself is reported.
                if value != params[name] and not needed({**params, name: value}):
                    return f"{name}: {value}"
    return ""


def _needed(part: Part, trait: str, params: dict[str, Any]) -> bool:
    return trait in part.requirements_of(params)


def _needed_for(
    protocol: Protocol, spec: AlgorithmSpec, trait: str, params: dict[str, Any]
) -> bool:
    return protocol.needs_for is not None and trait in protocol.needs_for(spec.params, **params)


def parameter_instead(part: Part, params: dict[str, Any], trait: str) -> str:
    """Return a sentence with the parameter to give so that a part does not need a trait.

    Returns
    -------
    str
        Empty where no parameter helps.
    """
    name = value_instead(part, params, partial(_needed, part, trait))
    return f"Give {name} of {part.kind} '{part.name}'." if name else ""


def check_protocol_needs(
    protocol: Protocol, params: dict[str, Any], data: Data, node: Node
) -> None:
    """Report traits that a protocol needs and the data lack, and which parameter needs them."""
    defaults = Parameters(protocol).defaults
    for trait in protocol.requirements_of(params):
        who, here = f"protocol '{protocol.name}'", node.at(protocol.name)
        for name, default in defaults.items():
            if params[name] != default and trait not in protocol.requirements_of(
                {**params, name: default}
            ):
                who, here = f"{name} of {who}", here.at(name)
                break
        Need(who, trait).check(data, here)


def check_part(part: Part, data: Data, node: Node) -> None:
    """Report every trait that an algorithm or a metric needs and the data lack, or cannot take."""
    who = f"{part.kind} '{part.name}'"
    is_algorithm = isinstance(part, Algorithm)
    of_rows = isinstance(part, Algorithm) and not part.takes_population
    for trait in (*part.fixed_requirements, *(("rows",) if of_rows else ())):
        Need(who, trait).check(data, node)
    makes = _maker("sparse", data) if is_algorithm else None
    if makes is not None and isinstance(part, Algorithm) and not part.takes_sparse:
        maker, where = makes
        node.add(f"{who} takes no sparse design but {maker} makes one{where}.")


def check_tuning(part: Algorithm, tuning: str, data: Data, node: Node) -> None:
    """Report a tuning that is impossible with the data or the algorithm."""
    if tuning == "oracle":
        Need("tuning 'oracle'", "truth").check(data, node)
    makes = _maker("chains", data)
    if tuning == "cv" and makes is not None:
        maker, where = makes
        others = ", or tuning: oracle" if data.all_have("truth") else ""
        node.add(
            f"tuning 'cv' splits rows but {maker} makes chains of them{where}.",
            f"Use protocol selection{others}.",
        )
    if tuning == "theory" and part.theory is None:
        node.add(
            f"no theory prescribes the tuning of algorithm '{part.name}'.", "Use oracle or cv."
        )
    for trait in part.theory_requires if tuning == "theory" and part.theory else ():
        Need("tuning 'theory'", trait).check(data, node)


def check_folds_of_traits(part: Algorithm, specs: list[AlgorithmSpec], node: Node) -> None:
    """Report cross-validation of an algorithm that needs a trait which folds of rows lack."""
    for spec in specs if specs and specs[0].tuning == "cv" else ():
        for name in part.requirements_of(spec.params):
            trait = TRAITS.get(name)
            if trait is None or trait.in_folds:
                continue
            instead = choice_instead(part, spec.params, partial(_needed, part, name))
            need = f"needs {instead}, since" if instead else "is impossible, since"
            node.add(
                f"cross-validation of algorithm '{spec.label}' {need} folds of rows do not have"
                f" {trait.needed}.",
                f"Use {instead}, or tuning: oracle." if instead else "Use tuning: oracle.",
            )
            return


def check_parameters(part: Algorithm, specs: list[AlgorithmSpec], data: Data, node: Node) -> None:
    """Report the first algorithm of an entry that some data make impossible.

    The data may lack a trait that these parameters need, or have another shape.
    """
    for spec in specs:
        with guarded("requires", part, node.place):
            needs = part.requirements_of(spec.params)
        before = node.count
        for trait in needs:
            Need(f"algorithm '{spec.label}'", trait, _remedy(part, spec, trait, data)).check(
                data, node
            )
        if node.count > before:
            return
    for spec, block in itertools.product(specs, data.blocks):
        message = f"impossible parameters of algorithm '{spec.label}'"
        message += f" for data '{block.label}'" if data.listed else ""
        for check in _shape_checks(part, spec):
            with guarded("check", part, node.place):
                refused = block.refusal(message, check)
            if refused is not None:
                node.add(refused)
                return


def _remedy(part: Algorithm, spec: AlgorithmSpec, trait: str, data: Data) -> str:
    given = parameter_instead(part, spec.params, trait)
    if given:
        return given
    instead = choice_instead(part, spec.params, partial(_needed, part, trait))
    other = TRAITS[trait].other_data if trait in TRAITS else ""
    example = _data_with(trait, data) if other else ""
    other += f", such as {example}" if example else ""
    choices = ", or ".join(text for text in (instead, other) if text)
    return f"Use {choices}." if choices else ""


def _lacks(generator: Generator, trait: str, params: dict[str, Any]) -> bool:
    return trait not in generator.traits(params)


def _data_with(trait: str, data: Data) -> str:
    """Return a choice of the generator with which the first data that lack a trait provide it."""
    for block in data.blocks:
        generator = block.generator
        for point, traits in zip(block.points, block.traits, strict=True):
            if trait not in traits:
                return choice_instead(generator, point, partial(_lacks, generator, trait))
    return ""


def _shape_checks(part: Algorithm, spec: AlgorithmSpec) -> Iterator[Callable[[Shape], None]]:
    """Yield the checks of a shape; each passes where it reads an undeclared entry."""
    check = part.check

    def of_algorithm(shape: Shape) -> None:
        with suppress(Undeclared):
            if check is not None:
                check(shape, **spec.params)

    def of_folds(shape: Shape) -> None:
        with suppress(Undeclared):
            check_folds(shape["n_samples"], spec.folds)

    if check is not None:
        yield of_algorithm
    if spec.tuning == "cv":
        yield of_folds


def check_needs_for(
    protocol: Protocol, params: dict[str, Any], specs: list[AlgorithmSpec], data: Data, node: Node
) -> None:
    """Report the first algorithm for which a protocol needs a trait that some data lack."""
    needs_for, before = protocol.needs_for, node.count
    if needs_for is None:
        return
    for spec in specs:
        with guarded("needs_for", protocol, node.place):
            needs = tuple(needs_for(spec.params, **params))
        who = f"protocol '{protocol.name}' with algorithm '{spec.label}'"
        for trait in needs:
            name = value_instead(protocol, params, partial(_needed_for, protocol, spec, trait))
            remedy = f"Give {name} of protocol '{protocol.name}'." if name else ""
            Need(who, trait, remedy).check(data, node)
        if node.count > before:
            return


def check_columns(
    data: Data, algorithms: list[AlgorithmSpec], measured: list[str], node: Node
) -> set[str]:
    """Report names that two columns of the CSV would have.

    Parameters
    ----------
    measured : list of str
        The columns of the protocol: its own and one for each metric.
    node : Node
        The top level of the file.

    Returns
    -------
    set of str
        All columns, with those for the facts of the data.
    """
    swept = {name for spec in algorithms for name in spec.swept}
    columns = Counter([*data.columns, *RESERVED_COLUMNS, *sorted(swept), *measured])
    # A fact may share the column of a parameter, but not that of the labels.
    columns.update({DATA_COLUMN} & data.facts if data.listed else ())
    for name in [name for name, count in columns.items() if count > 1]:
        message = f"two columns of the CSV would be named '{name}'."
        if name in swept:
            remedy = "Write one entry for each value, each with a label."
            node.at("algorithms").add(message, remedy)
            continue
        metric = name in (node.at("metrics").value or ())
        section = "data" if name in data.columns else "metrics" if metric else "protocol"
        node.at(section).add(message, "Rename one.")
    return {*columns, *data.facts}
