"""The protocol, the algorithms, the metrics and the rule for trials of an experiment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic_core import to_jsonable_python

from greedyexp.config.data import Data, guarded, refusal
from greedyexp.config.document import Node
from greedyexp.config.rules import (
    check_folds_of_traits,
    check_needs_for,
    check_parameters,
    check_part,
    check_tuning,
)
from greedyexp.config.sections import (
    MAX_ROWS,
    Entry,
    check_label,
    entry_at,
    find_part,
    label_of,
    read_assigned,
    read_entries,
)
from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.core.parts import YIELDS, Algorithm, Display, Metric, Part
from greedyexp.core.parts import Protocol as ProtocolPart
from greedyexp.core.registry import parts
from greedyexp.experiment.design import DATA_COLUMN, DEFAULT_PROTOCOL, variant_of
from greedyexp.experiment.messages import show
from greedyexp.experiment.model import AdaptiveTrials, AlgorithmSpec, PartSpec
from greedyexp.experiment.parameters import is_number
from greedyexp.protocols.base import Measured
from greedyexp.protocols.contracts import check_records
from greedyexp.protocols.fitting import TUNINGS

DEFAULT_FOLDS = 5


@dataclass(frozen=True)
class Protocol:
    """The protocol of an experiment: its part, and its name with all parameters."""

    part: ProtocolPart
    spec: PartSpec

    @property
    def resolved(self) -> str | dict[str, Any]:
        """The protocol as written in a file, with defaults filled in."""
        params = {name: to_jsonable_python(value) for name, value in self.spec.params.items()}
        return {self.spec.name: params} if params else self.spec.name

    def measured(self, metrics: list[Metric], node: Node) -> list[Measured]:
        """Return the columns of the protocol; none after an error in its parameters."""
        place = node.doc.last_change(node.keys)
        with guarded("columns", self.part, place):
            try:
                columns = list(self.part.columns(metrics, **self.spec.params))
                check_records(self.part, columns)
                return columns
            except ConfigError as error:
                node.diagnostics.add(place, error.message, error.remedy or "")
            except ValueError as error:
                reason = str(error).rstrip(".")
                node.diagnostics.add(
                    place, f"impossible parameters of protocol '{self.part.name}': {reason}."
                )
        return []


@dataclass(frozen=True)
class DisplayEntry:
    """A figure or a table of an experiment: its part, its parameters and its node."""

    part: Display
    spec: PartSpec
    node: Node


@dataclass(frozen=True)
class Algorithms:
    """The algorithms of an experiment.

    Parameters
    ----------
    specs : list of AlgorithmSpec
        Sorted by label.
    resolved : list
        The section with defaults filled in.
    """

    specs: list[AlgorithmSpec]
    resolved: list[dict[str, Any]]

    @property
    def names(self) -> set[str]:
        """All names that a file may use: labels, labels of entries and registered names."""
        return {name for spec in self.specs for name in (spec.name, spec.label, spec.entry)}


def _read_spec(part: Part | None, entry: Entry) -> PartSpec | None:
    """Return a part with all its parameters; None after an error."""
    if part is None:
        return None
    before = entry.node.count
    assigned = read_assigned(part, entry.node, entry.settings)
    if entry.node.count > before:
        return None
    params = assigned.constant
    return PartSpec(part.name, {name: params[name] for name in assigned.parameters.names})


def read_protocol(node: Node) -> Protocol | None:
    """Return the protocol; None after an error."""
    entry = entry_at(node, "protocol", DEFAULT_PROTOCOL)
    if entry is None:
        return None
    part = find_part(ProtocolPart, entry.name, entry.node)
    spec = _read_spec(part, entry)
    return None if part is None or spec is None else Protocol(part, spec)


def read_displays(node: Node, kind: type[Display]) -> list[DisplayEntry]:
    """Return the figures or tables; report those with errors."""
    found = []
    for entry in read_entries(node, f"{kind.kind}s"):
        part = find_part(kind, entry.name, entry.node)
        spec = _read_spec(part, entry)
        if part is not None and spec is not None:
            found.append(DisplayEntry(part, spec, entry.node))
    return found


def read_metrics(
    node: Node, names: list[str], protocol: Protocol | None, data: Data | None
) -> list[Metric]:
    """Return the metrics; report those that are unknown, repeated or impossible with the data."""
    if protocol is not None:
        name, computes = protocol.part.name, protocol.part.metrics
        if computes and not names:
            node.add(f"protocol '{name}' needs at least one metric.", "Add 'metrics: [NAME]'.")
        elif names and not computes:
            node.add(f"protocol '{name}' computes no metrics.", "Remove 'metrics'.")
    metrics: list[Metric] = []
    for index, name in enumerate(names):
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
    node: Node, protocol: Protocol | None, data: Data | None, trials: int
) -> Algorithms:
    """Return the algorithms; report those with errors.

    Parameters
    ----------
    node : Node
        The top level after profile and overrides.
    protocol : Protocol or None
        If None, the algorithms are not checked against it.
    data : Data or None
        If None, the algorithms are not checked against them.
    trials : int
        Replicates of each point; bounds the number of rows.
    """
    specs: dict[str, AlgorithmSpec] = {}
    resolved = []
    for entry in read_entries(node, "algorithms"):
        found, settings = _read_entry(entry, protocol, data, trials)
        resolved.append(settings)
        for spec in found:
            if spec.label in specs:
                entry.node.add(
                    f"two algorithms have the label '{spec.label}'.",
                    "Give one of them a 'label:'.",
                )
            specs[spec.label] = spec
    _check_size(node.at("algorithms"), len(specs), data, trials)
    return Algorithms([specs[label] for label in sorted(specs)], resolved)


def _check_size(node: Node, count: int, data: Data | None, trials: int) -> None:
    points = 1 if data is None else len(data.points)
    if points * trials * count > MAX_ROWS:
        node.add(
            f"{points} points, {trials} trials and {count} algorithms make more than"
            f" {MAX_ROWS} rows.",
            "Sweep fewer values or lower trials.",
        )


def _read_entry(
    entry: Entry, protocol: Protocol | None, data: Data | None, trials: int
) -> tuple[list[AlgorithmSpec], dict[str, Any]]:
    node, written = entry.node, entry.settings
    before = node.count
    part = find_part(Algorithm, entry.name, node)
    if part is None:
        return [], {}
    assigned = read_assigned(part, node, written)
    check_label(node.at("label"), written.get("label", entry.name))
    if protocol is not None:
        _check_yields(part, protocol.part, node)
    tunes = protocol is None or protocol.part.tunes
    tuned = part.takes_grid and tunes
    tuning = _read_tuning(part, entry, data) if tuned else "none"
    folds = _read_folds(entry) if tuned else DEFAULT_FOLDS
    for name in ("tuning", "folds") if not tuned else ():
        if written.get(name) is not None:
            why = f"algorithm '{part.name}' has no path to tune."
            if part.takes_grid and protocol is not None:
                why = f"protocol '{protocol.part.name}' tunes no algorithm."
            node.at(name).add(why, f"Remove '{name}'.")
    if data is not None:
        check_part(part, data, node)
    if node.count == before:
        _check_size(Node(node.doc, ("algorithms",), node.diagnostics), assigned.size, data, trials)
    combinations = None if node.count > before else assigned.combinations()
    if combinations is None:
        return [], {}
    label, specs = label_of(entry), []
    for params in combinations:
        swept = {name: params[name] for name in assigned.order}
        variant = variant_of(label, swept)
        specs.append(AlgorithmSpec(part.name, variant.label, label, params, swept, tuning, folds))
    check_folds_of_traits(part, specs, node)
    if data is not None:
        check_parameters(part, specs, data, node)
    if protocol is not None:
        _check_parameters_for(protocol, specs, node)
        if data is not None and node.count == before:
            check_needs_for(protocol.part, protocol.spec.params, specs, data, node)
    shown = assigned.resolved | ({"tuning": tuning, "folds": folds} if tuned else {})
    shown |= {key: written[key] for key in ("label", "sweep") if written.get(key) is not None}
    return specs, {part.name: shown}


def _check_yields(part: Algorithm, protocol: ProtocolPart, node: Node) -> None:
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
        f"algorithm '{part.name}' makes {YIELDS[part.yields]}, which protocol '{protocol.name}'"
        " does not take.",
        " ".join(remedies),
    )


def _check_parameters_for(protocol: Protocol, specs: list[AlgorithmSpec], node: Node) -> None:
    """Report the first algorithm that the protocol's ``check`` rejects."""
    part, params = protocol.part, protocol.spec.params
    if part.check is None:
        return
    check = partial(part.check, **params)
    for spec in specs:
        message = f"impossible parameters of algorithm '{spec.label}' for protocol '{part.name}'"
        with guarded("check", part, node.place):
            refused = refusal(message, check, [({}, 1, spec.params)], (), 1)
        if refused is not None:
            node.add(refused)
            return


def _read_tuning(part: Algorithm, entry: Entry, data: Data | None) -> str:
    node, tuning = entry.node.at("tuning"), entry.settings.get("tuning")
    if tuning is None:
        tuning = "oracle" if data is None or data.all_have("truth") else "cv"
    if tuning not in TUNINGS:
        node.add(
            f"tuning must be one of {', '.join(TUNINGS)}, but is {show(tuning)}.",
            did_you_mean(tuning, TUNINGS) if isinstance(tuning, str) else "",
        )
    elif data is not None:
        check_tuning(part, tuning, data, node)
    return str(tuning)


def _read_folds(entry: Entry) -> int:
    folds = entry.settings.get("folds", DEFAULT_FOLDS)
    if isinstance(folds, int) and not isinstance(folds, bool) and folds >= 2:
        return folds
    entry.node.at("folds").add(f"folds must be a whole number of at least 2, but is {show(folds)}.")
    return DEFAULT_FOLDS


def complete_rule(
    rule: AdaptiveTrials,
    protocol: Protocol,
    data: Data,
    measured: Sequence[Measured],
    algorithms: Algorithms,
    node: Node,
) -> AdaptiveTrials:
    """Return a rule for trials with all success metrics; report settings that are impossible."""
    # A rule needs one row for each replicate.
    keyed = any(column.kind == "key" for column in measured)
    metrics = [] if keyed else [one.name for one in measured if one.kind == "success"]
    if not metrics and (keyed or not protocol.part.metrics):
        node.add(
            f"protocol '{protocol.part.name}' does not give one success (0 or 1) for each"
            " replicate, as a rule for trials requires.",
            "Give a number of trials.",
        )
        return rule
    if (rule.until is None) == (rule.locate is None):
        node.add("adaptive trials need either 'until' or 'locate'.", "Keep one of them.")
    if rule.min > rule.max:
        node.at("min").add(f"min = {rule.min} is more than max = {rule.max}.")
    if rule.locate is not None:
        _check_locate(rule.locate.of, data, node.at("locate", "of"))
    known = {*algorithms.names, "default"}
    for key, metric in rule.success.items():
        here = node.at("success", key)
        if key not in known:
            here.add(
                f"`success` names '{key}', but the experiment has no such algorithm.",
                did_you_mean(key, known),
            )
        if metric not in metrics:
            here.add(
                f"'{metric}' is not among the metrics of the experiment that are 0 or 1.",
                did_you_mean(metric, metrics),
            )
    if not rule.success and not metrics:
        node.add("no metric of the experiment is a success (0 or 1).", "List one.")
    default = {"default": metrics[0]} if metrics else {}
    return rule.model_copy(update={"success": default | rule.success})


def _check_locate(name: str, data: Data, node: Node) -> None:
    """Report a parameter along which no crossing can be located."""
    swept, somewhere = data.swept_by_all, [one for one in data.swept if one != DATA_COLUMN]
    if name in somewhere and name not in swept:
        node.add(
            f"'{name}' is not swept in every block of data, so no crossing can be located along it"
            " in the others."
        )
    elif name not in swept:
        node.add(
            f"'{name}' is not swept, so no crossing can be located along it.",
            did_you_mean(name, swept),
        )
    elif name in data.zipped:
        node.add(
            f"{name} is zipped with others, so no crossing can be located along it alone.",
            "Sweep it on its own.",
        )
    elif not all(_is_finite(point.params.get(name)) for point in data.points):
        node.add(f"{name} is not always a finite number, so no crossing can be located along it.")


def _is_finite(value: Any) -> bool:
    return is_number(value) and math.isfinite(value)
