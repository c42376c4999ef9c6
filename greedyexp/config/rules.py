"""Checks that data have the traits and shapes that parts need."""

from __future__ import annotations

import itertools
import typing
from collections import Counter
from collections.abc import Callable, Container, Iterable
from contextlib import suppress
from functools import partial
from typing import Any

from greedyexp.config.data import Block, Data, Shape, Undeclared
from greedyexp.config.document import Node
from greedyexp.config.sections import describe, guarded
from greedyexp.core.part import Part
from greedyexp.core.parts import Algorithm, Generator, Metric, Protocol
from greedyexp.core.registry import RESERVED_COLUMNS, find
from greedyexp.experiment.design import DATA_COLUMN
from greedyexp.experiment.model import AlgorithmSpec
from greedyexp.experiment.parameters import Parameters
from greedyexp.experiment.settings import AdaptiveTrials
from greedyexp.losses.binding import loss_of, minimises_squares
from greedyexp.protocols.fitting import check_folds

# Parameters of generators that draw rows.
_DRAWING = ("test_fraction", "resample", "n_samples")
# Returns the traits that a part needs with these parameters.
Needs = Callable[[dict[str, Any]], Container[str]]


class Trait(typing.NamedTuple):
    """How messages describe a trait that problems may have.

    Parameters
    ----------
    needed : str
        Noun phrase for the trait, as in "needs class labels as responses".
    lacking : str
        Verb phrase for a generator without the trait, as in "generator 'gaussian' gives none".
    unless : str
        Another trait that rules this one out: problems have this trait unless they provide the
        other. Empty if generators provide the trait themselves.
    other_data : str
        Noun phrase for data with the trait, for remedies.
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
    "two_values": Trait("responses of two values", "gives none", other_data="data with two values"),
    "counts": Trait("counts as responses", "gives none", other_data="data with counts"),
    "classes": Trait(
        "one of several classes for each row", "gives none", other_data="data with classes"
    ),
    "chains": Trait("sequences of labelled words", "makes none"),
    "one_response": Trait("one response", "makes several", unless="multi_task"),
    "moments": Trait(
        "the moments of the distribution",
        "does not know them",
        other_data="data with moments",
        in_folds=False,
    ),
    "covariance": Trait(
        "variables without a response",
        "gives a response",
        other_data="data of graphs",
    ),
    "rows": Trait("rows of data", "draws none", unless="population"),
    "spread_label": Trait("a label spread over all features", "makes none"),
}


def _check_trait(who: str, name: str, data: Data, node: Node, remedy: str = "") -> None:
    """Report the first block of data without a trait; ``who`` is the subject of the message."""
    trait = TRAITS.get(name, Trait(f"the trait '{name}'", "does not have it"))
    lacks = _maker(trait.unless, data) if trait.unless else _maker(name, data, without=True)
    if lacks:
        node.add(f"{who} needs {trait.needed} but {lacks[0]} {trait.lacking}{lacks[1]}.", remedy)


def _where(concerned: list[bool], block: Block) -> str | None:
    """Return a phrase for the concerned points of a block; empty for all points, None for none."""
    points = [point for point, one in zip(block.points, concerned, strict=True) if one]
    if not points:
        return None
    return "" if len(points) == len(block.points) else f" at {describe(points[0], block.swept)}"


def _maker(trait: str, data: Data, *, without: bool = False) -> tuple[str, str] | None:
    """Return the first block with or without a trait, and at which points (empty for all)."""
    for block in data.blocks:
        where = _where([(trait in traits) != without for traits in block.traits], block)
        if where is not None:
            return block.named, where
    return None


def parameter_instead(
    part: Part, params: dict[str, Any], trait: str, needs: Needs | None = None
) -> str:
    """Return a sentence that suggests an unset parameter that removes the need for a trait.

    Parameters
    ----------
    part : Part
    params : dict
        The parameters of the part.
    trait : str
    needs : callable, optional
        The needs that depend on the parameters; by default ``part.requirements_of``.

    Returns
    -------
    str
        Empty if no parameter helps.
    """
    needs, parameters = needs or part.requirements_of, Parameters(part)
    for name in parameters.names:
        if params.get(name, 0) is None and parameters.accepts(name, 1):
            with suppress(Exception):  # A remedy is a suggestion; the need itself is reported.
                if trait not in needs({**params, name: parameters.read(name, 1)}):
                    return f"Give {name} of {part.kind} '{part.name}'."
    return ""


def _choice_instead(part: Part, params: dict[str, Any], trait: str, needs: Needs) -> str:
    """Return another choice without this need as ``name: value``; empty if there is none."""
    for name, field in part.parameters.model_fields.items():
        given = typing.get_args(field.annotation)
        choices = (True, False) if field.annotation is bool else given
        for value in choices if all(isinstance(one, str | bool) for one in choices) else ():
            with suppress(Exception):  # A remedy is a suggestion; the need itself is reported.
                if value != params[name] and trait not in needs({**params, name: value}):
                    return f"{name}: {value if isinstance(value, str) else str(value).lower()}"
    return ""


def check_protocol_needs(
    protocol: Protocol, params: dict[str, Any], data: Data, node: Node
) -> None:
    """Report traits that a protocol needs and the data lack, with the parameter that needs them."""
    defaults = Parameters(protocol).defaults
    for trait in protocol.requirements_of(params):
        who, here = f"protocol '{protocol.name}'", node.at(protocol.name)
        for name, default in defaults.items():
            if params[name] != default and trait not in protocol.requirements_of(
                {**params, name: default}
            ):
                who, here = f"{name} of {who}", here.at(name)
                break
        _check_trait(who, trait, data, here)


def check_part(part: Part, data: Data, node: Node) -> None:
    """Report data that lack a trait that the part needs, or have one that it does not accept."""
    who = f"{part.kind} '{part.name}'"
    for trait in part.fixed_requirements:
        _check_trait(who, trait, data, node)
    if isinstance(part, Algorithm) and not part.takes_population:
        _check_trait(who, "rows", data, node)
    makes = _maker("sparse", data)
    if isinstance(part, Algorithm) and not part.takes_sparse and makes:
        node.add(f"{who} does not accept a sparse design but {makes[0]} makes one{makes[1]}.")


def check_tuning(part: Algorithm, tuning: str, data: Data, node: Node) -> None:
    """Report a tuning that is impossible with the data or the algorithm."""
    if tuning == "oracle":
        _check_trait("tuning 'oracle'", "truth", data, node)
    makes = _maker("chains", data)
    if tuning in ("cv", "ebic_robust") and makes:
        others = ", or tuning: oracle" if data.all_have("truth") else ""
        what = "splits rows" if tuning == "cv" else "needs rows"
        node.add(
            f"tuning '{tuning}' {what} but {makes[0]} makes chains of them{makes[1]}.",
            f"Use protocol selection{others}.",
        )
    if tuning in ("cv", "ebic_robust"):
        oracle = "Use tuning: oracle." if data.all_have("truth") else ""
        _check_trait(f"tuning '{tuning}'", "rows", data, node, oracle)
    copies = _maker("repeated_rows", data) if tuning == "cv" else None
    if copies:
        node.add(
            f"cross-validation needs distinct rows, but {copies[0]} draws rows several times"
            f"{copies[1]}, so that folds would share rows.",
            "Use resample: halves, or another tuning.",
        )
    if tuning == "theory" and part.theory is None:
        node.add(
            f"no theory prescribes the tuning of algorithm '{part.name}'.",
            "Use oracle, cv or ebic_robust.",
        )
    for trait in part.theory_requires if tuning == "theory" and part.theory else ():
        _check_trait("tuning 'theory'", trait, data, node)


def check_replicates(
    data: Data, specs: list[AlgorithmSpec], trials: int, rule: AdaptiveTrials | None, node: Node
) -> None:
    """Report trials that would repeat one data set, or a rule that takes splits for data sets."""
    # Replicates with the same rows differ if an algorithm draws at random.
    random = any(find("algorithm", spec.name).takes_rng for spec in specs)
    for block in data.blocks:
        shares = [block.generator.left_out_at(point) for point in block.points]
        where = _where([share == 0 for share in shares], block)
        if where is not None and trials > 1 and not random:
            drawing = [name for name in _DRAWING if name in block.points[0]]
            remedy = f", or draw rows with {' or '.join(drawing)}" if drawing else ""
            node.add(
                f"{block.named} gives the same rows in every replicate{where}, so {trials} trials"
                " would repeat one result.",
                f"Give trials: 1{remedy}.",
            )
        elif rule and not rule.until_decided and any(share is not None for share in shares):
            node.add(
                f"a rule for trials needs independent data sets, but {block.named} resamples the"
                " rows of one.",
                "Give a number of trials.",
            )


def check_criterion(specs: list[AlgorithmSpec], node: Node) -> None:
    """Report tuning by an information criterion of least squares for another loss."""
    for spec in specs if specs and specs[0].tuning == "ebic_robust" else ():
        if not minimises_squares(spec.params):
            node.add(
                f"tuning 'ebic_robust' compares least-squares fits, but algorithm '{spec.label}'"
                f" minimises loss {spec.params['loss']!r}.",
                "Use tuning: cv.",
            )
            return


def check_predictions(metrics: list[Metric], specs: list[AlgorithmSpec], node: Node) -> None:
    """Report metrics that compare responses with predictions on another scale."""
    for metric, spec in itertools.product(metrics, specs):
        loss = loss_of(spec.params)
        # Losses with requirements predict scores of classes or logarithms of means.
        if metric.predicts and loss and loss.fixed_requirements:
            node.add(
                f"metric '{metric.name}' compares predictions with responses, but algorithm"
                f" '{spec.label}' with loss '{loss.name}' predicts scores, not responses.",
                "Use test_loss, or a metric of classes, such as test_sign_error.",
            )
            return


def check_folds_of_traits(part: Algorithm, specs: list[AlgorithmSpec], node: Node) -> None:
    """Report cross-validation of an algorithm that needs a trait that folds of rows lack."""
    for spec in specs if specs and specs[0].tuning == "cv" else ():
        for name in part.requirements_of(spec.params):
            trait = TRAITS.get(name)
            if trait is None or trait.in_folds:
                continue
            instead = _choice_instead(part, spec.params, name, part.requirements_of)
            need = f"needs {instead}, since" if instead else "is impossible, since"
            node.add(
                f"cross-validation of algorithm '{spec.label}' {need} folds of rows do not have"
                f" {trait.needed}.",
                f"Use {instead}, or tuning: oracle." if instead else "Use tuning: oracle.",
            )
            return


def check_parameters(part: Algorithm, specs: list[AlgorithmSpec], data: Data, node: Node) -> None:
    """Report the first algorithm of an entry that some data make impossible.

    The data may lack a trait that these parameters need, or may not have the right shape.
    """
    node = node.scope()
    for spec in specs:
        with guarded("requires", part, node.place):
            needs = part.requirements_of(spec.params)
        for trait in needs:
            remedy = _remedy(part, spec, trait, data)
            _check_trait(f"algorithm '{spec.label}'", trait, data, node, remedy)
        if node.wrong:
            return
    for spec, block in itertools.product(specs, data.blocks):
        message = f"impossible parameters of algorithm '{spec.label}'"
        message += f" for data '{block.label}'" if data.listed else ""
        with guarded("check", part, node.place):
            refused = block.refusal(message, partial(_check_shape, part, spec))
        if refused is not None:
            node.add(refused)
            return


def _remedy(part: Algorithm, spec: AlgorithmSpec, trait: str, data: Data) -> str:
    given = parameter_instead(part, spec.params, trait)
    if given:
        return given
    instead = _choice_instead(part, spec.params, trait, part.requirements_of)
    other = TRAITS[trait].other_data if trait in TRAITS else ""
    example = _data_with(trait, data) if other else ""
    other += f", such as {example}" if example else ""
    choices = ", or ".join(text for text in (instead, other) if text)
    return f"Use {choices}." if choices else ""


def _data_with(trait: str, data: Data) -> str:
    """Return a parameter value with which the first generator without a trait would provide it."""
    for block in data.blocks:
        for point, traits in zip(block.points, block.traits, strict=True):
            if trait not in traits:
                lacks = partial(_lacking, block.generator, trait)
                return _choice_instead(block.generator, point, trait, lacks)
    return ""


def _lacking(generator: Generator, trait: str, params: dict[str, Any]) -> set[str]:
    return {trait} - generator.traits(params)


def _check_shape(part: Algorithm, spec: AlgorithmSpec, shape: Shape) -> None:
    """Raise ``ValueError`` if an algorithm or its tuning is impossible with a declared shape."""
    with suppress(Undeclared):
        if part.check is not None:
            part.check(shape, **spec.params)
    with suppress(Undeclared):
        if spec.tuning == "cv":
            check_folds(shape["n_samples"], spec.folds)


def check_needs_for(
    protocol: Protocol, params: dict[str, Any], specs: list[AlgorithmSpec], data: Data, node: Node
) -> None:
    """Report the first algorithm for which a protocol needs a trait that some data lack."""
    needs_for, node = protocol.needs_for, node.scope()
    if needs_for is None:
        return
    for spec in specs:
        with_spec = partial(_needs_with, needs_for, spec)
        with guarded("needs_for", protocol, node.place):
            needs = with_spec(params)
        who = f"protocol '{protocol.name}' with algorithm '{spec.label}'"
        for trait in needs:
            remedy = parameter_instead(protocol, params, trait, with_spec)
            _check_trait(who, trait, data, node, remedy)
        if node.wrong:
            return


def _needs_with(
    needs_for: Callable[..., Iterable[str]], spec: AlgorithmSpec, params: dict[str, Any]
) -> tuple[str, ...]:
    return tuple(needs_for(spec.params, **params))


def check_columns(
    data: Data, algorithms: list[AlgorithmSpec], measured: list[str], node: Node
) -> set[str]:
    """Report two columns of the CSV with the same name.

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
