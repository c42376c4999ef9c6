"""The algorithms of an experiment."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from greedyexp.config.data import Data
from greedyexp.config.document import Node
from greedyexp.config.guards import check_size, guarded, refusal
from greedyexp.config.protocol import ProtocolEntry
from greedyexp.config.rules import (
    check_criterion,
    check_folds_of_traits,
    check_needs_for,
    check_parameters,
    check_part,
    check_tuning,
)
from greedyexp.config.sections import (
    Entry,
    check_label,
    find_part,
    label_of,
    read_assigned,
    read_entries,
)
from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.core.parts import YIELDS, Algorithm, Protocol
from greedyexp.core.registry import parts
from greedyexp.experiment.messages import show
from greedyexp.experiment.model import AlgorithmSpec
from greedyexp.experiment.variants import variant_of
from greedyexp.protocols.fitting import TUNINGS

_DEFAULT_FOLDS = 5


@dataclass(frozen=True)
class Algorithms:
    """The algorithms of an experiment.

    Parameters
    ----------
    specs : list of AlgorithmSpec
        The algorithms, sorted by label.
    resolved : list
        The section ``algorithms`` with defaults filled in.
    """

    specs: list[AlgorithmSpec]
    resolved: list[dict[str, Any]]

    @property
    def names(self) -> set[str]:
        """All names that a file may use: labels, labels of entries and registered names."""
        return {name for spec in self.specs for name in (spec.name, spec.label, spec.entry)}


def read_algorithms(
    node: Node, protocol: ProtocolEntry | None, data: Data | None, trials: int
) -> Algorithms:
    """Return the algorithms; report those with errors.

    Parameters
    ----------
    node : Node
        The top level of the document, after profile and overrides have been applied.
    protocol : ProtocolEntry or None
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
    points = 1 if data is None else len(data.points)
    check_size(node.at("algorithms"), points, trials, len(specs))
    return Algorithms([specs[label] for label in sorted(specs)], resolved)


def _read_entry(
    entry: Entry, protocol: ProtocolEntry | None, data: Data | None, trials: int
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
    untuned = "" if part.takes_grid else f"algorithm '{part.name}' has no path to tune."
    if part.takes_grid and protocol is not None and not protocol.part.tunes:
        untuned = f"protocol '{protocol.part.name}' tunes no algorithm."
    tuning = "none" if untuned else _read_tuning(part, entry, data)
    folds = _DEFAULT_FOLDS if untuned else _read_folds(entry)
    for name in ("tuning", "folds"):
        if untuned and written.get(name) is not None:
            node.at(name).add(untuned, f"Remove '{name}'.")
    if data is not None:
        check_part(part, data, node)
    if node.count == before:
        points = 1 if data is None else len(data.points)
        check_size(node, points, trials, assigned.size)
    combinations = None if node.count > before else assigned.combinations()
    if combinations is None:
        return [], {}
    label, specs = label_of(entry), []
    for params in combinations:
        swept = {name: params[name] for name in assigned.order}
        variant = variant_of(label, swept)
        specs.append(AlgorithmSpec(part.name, variant.label, label, params, swept, tuning, folds))
    _check_packages(part, specs, node)
    check_folds_of_traits(part, specs, node)
    check_criterion(specs, node)
    if data is not None:
        check_parameters(part, specs, data, node)
    if protocol is not None:
        _check_parameters_for(protocol, specs, node)
        if data is not None and node.count == before:
            check_needs_for(protocol.part, protocol.spec.params, specs, data, node)
    shown = assigned.resolved | ({} if untuned else {"tuning": tuning, "folds": folds})
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


def _check_parameters_for(protocol: ProtocolEntry, specs: list[AlgorithmSpec], node: Node) -> None:
    """Report the first algorithm that the protocol's ``check`` rejects."""
    part, params = protocol.part, protocol.spec.params
    if part.check is None:
        return
    for spec in specs:
        message = f"impossible parameters of algorithm '{spec.label}' for protocol '{part.name}'"
        with guarded("check", part, node.place):
            refused = refusal(message, partial(part.check, **params), [({}, 1, spec.params)])
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
    folds = entry.settings.get("folds", _DEFAULT_FOLDS)
    if isinstance(folds, int) and not isinstance(folds, bool) and folds >= 2:
        return folds
    entry.node.at("folds").add(f"folds must be a whole number of at least 2, but is {show(folds)}.")
    return _DEFAULT_FOLDS
