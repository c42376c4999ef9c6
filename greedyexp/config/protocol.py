"""The protocol of an experiment and its metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic_core import to_jsonable_python

from greedyexp.config.data import Data
from greedyexp.config.document import Node
from greedyexp.config.guards import guarded
from greedyexp.config.rules import check_part
from greedyexp.config.sections import entry_at, find_part, read_spec
from greedyexp.core.errors import ConfigError
from greedyexp.core.parts import Metric, Protocol
from greedyexp.experiment.design import DEFAULT_PROTOCOL
from greedyexp.experiment.model import PartSpec
from greedyexp.protocols.base import Measured
from greedyexp.protocols.contracts import check_records


@dataclass(frozen=True)
class ProtocolEntry:
    """The protocol of an experiment: its part, and its name with all parameters."""

    part: Protocol
    spec: PartSpec

    @property
    def resolved(self) -> str | dict[str, Any]:
        """The protocol in the form of the YAML file, with defaults filled in."""
        params = to_jsonable_python(self.spec.params)
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


def read_protocol(node: Node) -> ProtocolEntry | None:
    """Return the protocol; None after an error."""
    entry = entry_at(node, "protocol", DEFAULT_PROTOCOL)
    if entry is None:
        return None
    part = find_part(Protocol, entry.name, entry.node)
    spec = read_spec(part, entry)
    return None if part is None or spec is None else ProtocolEntry(part, spec)


def read_metrics(
    node: Node, names: list[str], protocol: ProtocolEntry | None, data: Data | None
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
