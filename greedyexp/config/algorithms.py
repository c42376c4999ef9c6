"""The protocol of an experiment, its algorithms and its metrics."""

from __future__ import annotations

from functools import partial
from typing import Any

from greedyexp.config.data import Data
from greedyexp.config.document import Node
from greedyexp.config.rules import (
    check_criterion,
    check_folds_of_traits,
    check_needs_for,
    check_parameters,
    check_part,
    check_tuning,
)
from greedyexp.config.sections import (
    alike,
    check_size,
    entry_at,
    find_part,
    guarded,
    read_entries,
    read_params,
    read_part,
    refusal,
)
from greedyexp.core.errors import ConfigError, message_of
from greedyexp.core.parts import YIELDS, Algorithm, Metric, Protocol
from greedyexp.core.registry import find, parts
from greedyexp.experiment.model import AlgorithmSpec, PartSpec
from greedyexp.experiment.own_keys import AlgorithmKeys
from greedyexp.experiment.settings import DEFAULT_PROTOCOL, Entry
from greedyexp.experiment.variants import variant_of
from greedyexp.protocols.base import Measured
from greedyexp.protocols.contracts import check_records


def read_protocol(node: Node) -> PartSpec | None:
    """Return the protocol; None after an error."""
    found = entry_at(node, "protocol", DEFAULT_PROTOCOL)
    part = found and find_part(Protocol, found[0].name, found[1])
    params = read_params(part, *found) if found and part else None
    return PartSpec(part.name, params) if part and params is not None else None


def measured_by(protocol: PartSpec, metrics: list[Metric], node: Node) -> list[Measured]:
    """Return the columns of the protocol; none after an error in its parameters."""
    part, place = find("protocol", protocol.name), node.doc.last_change(node.keys)
    with guarded("columns", part, place):
        try:
            columns = list(part.columns(metrics, **protocol.params))
            check_records(part, columns)
            return columns
        except ConfigError as error:
            node.diagnostics.add(place, error.message, error.remedy or "")
        except ValueError as error:
            reason = message_of(error).rstrip(".")
            node.diagnostics.add(
                place, f"impossible parameters of protocol '{part.name}': {reason}."
            )
    return []


def read_metrics(
    node: Node, names: list[str] | None, protocol: PartSpec | None, data: Data | None
) -> list[Metric]:
    """Return the metrics; report those that are unknown, repeated or impossible with the data."""
    if protocol is not None and names is not None:
        name, computes = protocol.name, find("protocol", protocol.name).metrics
        if computes and not names:
            node.add(f"protocol '{name}' needs at least one metric.", "Add 'metrics: [NAME]'.")
        elif names and not computes:
            node.add(f"protocol '{name}' computes no metrics.", "Remove 'metrics'.")
    metrics: list[Metric] = []
    for index, name in enumerate(names or ()):
        part = find_part(Metric, name, node.at(index))
        if part is None:
            continue
        if part in metrics:
            node.at(index).add(f"metric '{name}' is listed twice.", "Keep one.")
        metrics.append(part)
        if data is not None:
            check_part(part, data, node.at(index))
    return metrics


def read_algorithms(
    node: Node, protocol: PartSpec | None, data: Data | None, trials: int
) -> tuple[list[AlgorithmSpec], list[dict[str, Any]]]:
    """Return the algorithms, and the section with defaults filled in; report those with errors.

    Parameters
    ----------
    node : Node
        The top level of the document, after profile and overrides have been applied.
    protocol : PartSpec or None
        If None, the algorithms are not checked against it.
    data : Data or None
        If None, the algorithms are not checked against them.
    trials : int
        Replicates of each point; bounds the number of rows.
    """
    specs: dict[str, AlgorithmSpec] = {}
    resolved = []
    for entry, here in read_entries(node, "algorithms"):
        found, settings = _read_entry(entry, here, protocol, data, trials)
        resolved.append(settings)
        for spec in found:
            if spec.label in specs:
                here.add(
                    f"two algorithms have the label '{spec.label}'.",
                    "Give one of them a 'label:'.",
                )
            specs[spec.label] = spec
    node = node.at("algorithms")
    columns: dict[str, list[Any]] = {}
    for spec in specs.values():
        for name, value in spec.swept.items():
            columns.setdefault(name, []).append(value)
    for name, values in columns.items():
        node.add_all(alike((), f"the column {name}", values))
    check_size(node, 1 if data is None else len(data.points), trials, len(specs))
    return [specs[label] for label in sorted(specs)], resolved


def names_of(specs: list[AlgorithmSpec]) -> set[str]:
    """Return all names that a file may use: labels, labels of entries and registered names."""
    return {name for spec in specs for name in (spec.name, spec.label, spec.entry)}


def _read_entry(
    entry: Entry, node: Node, protocol: PartSpec | None, data: Data | None, trials: int
) -> tuple[list[AlgorithmSpec], dict[str, Any]]:
    node, written = node.scope(), entry.settings
    part = find_part(Algorithm, entry.name, node)
    if part is None:
        return [], {}
    settings = read_part(part, written)
    node.add_all(settings.mistakes)
    rules = protocol and find("protocol", protocol.name)
    if rules:
        _check_yields(part, rules, node)
    untuned = "" if part.takes_grid else f"algorithm '{part.name}' has no path to tune."
    if part.takes_grid and rules and not rules.tunes:
        untuned = f"protocol '{rules.name}' tunes no algorithm."
    keys = settings.keys or AlgorithmKeys()
    tuning = "none" if untuned else _tuning(part, keys.tuning, data, node)
    folds = AlgorithmKeys().folds if untuned else keys.folds
    for name in ("tuning", "folds"):
        if untuned and written.get(name) is not None:
            node.at(name).add(untuned, f"Remove '{name}'.")
    if data is not None:
        check_part(part, data, node)
    few = node.wrong or check_size(
        node, 1 if data is None else len(data.points), trials, settings.size
    )
    combinations = [] if node.wrong or not few else settings.combinations()
    node.add_all(settings.mistakes)
    if node.wrong:
        return [], {}
    specs = []
    for params in combinations:
        swept = {name: params[name] for name in settings.order}
        label = variant_of(entry.label, swept).label
        specs.append(AlgorithmSpec(part.name, label, entry.label, params, swept, tuning, folds))
    _check_packages(part, specs, node)
    check_folds_of_traits(part, specs, node)
    check_criterion(specs, node)
    if data is not None:
        check_parameters(part, specs, data, node)
    if rules and protocol:
        _check_parameters_for(rules, protocol.params, specs, node)
        if data is not None and not node.wrong:
            check_needs_for(rules, protocol.params, specs, data, node)
    shown = settings.resolved | ({} if untuned else {"tuning": tuning, "folds": folds})
    shown |= {key: written[key] for key in ("label", "sweep") if written.get(key) is not None}
    return specs, {part.name: shown}


def _check_yields(part: Algorithm, protocol: Protocol, node: Node) -> None:
    """Report a protocol that does not take the values that the algorithm yields."""
    if part.yields == protocol.takes:
        return
    able = [name for name, one in parts("protocol").items() if one.takes == part.yields]
    remedies = [f"Use protocol {' or '.join(able)}."] if able else []
    if not part.shipped:
        remedies.append(
            "A plugin declares the result of its algorithm with @algorithm(..., yields=...)."
        )
    node.add(
        f"algorithm '{part.name}' returns {YIELDS[part.yields]}, which protocol '{protocol.name}'"
        " does not accept.",
        " ".join(remedies),
    )


def _check_packages(part: Algorithm, specs: list[AlgorithmSpec], node: Node) -> None:
    """Report the first algorithm of an entry that needs a package that is not installed."""
    for spec in specs:
        try:
            part.packages_of(spec.params)
        except ConfigError as error:
            node.add(error.message, error.remedy or "")
            return


def _check_parameters_for(
    part: Protocol, params: dict[str, Any], specs: list[AlgorithmSpec], node: Node
) -> None:
    """Report the first algorithm that the protocol's ``check`` rejects."""
    if part.check is None:
        return
    for spec in specs:
        message = f"impossible parameters of algorithm '{spec.label}' for protocol '{part.name}'"
        with guarded("check", part, node.place):
            refused = refusal(message, partial(part.check, **params), [({}, 1, spec.params)])
        if refused is not None:
            node.add(refused)
            return


def _tuning(part: Algorithm, tuning: str | None, data: Data | None, node: Node) -> str:
    if tuning is None:
        tuning = "oracle" if data is None or data.all_have("truth") else "cv"
    if data is not None and not node.wrong:
        check_tuning(part, tuning, data, node.at("tuning"))
    return tuning
