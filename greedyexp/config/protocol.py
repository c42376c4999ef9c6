"""``protocol:`` how algorithms are evaluated: a name, or a name with parameters."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic_core import to_jsonable_python

from greedyexp.config.asking import guarded
from greedyexp.config.document import Document
from greedyexp.config.entries import read_entry
from greedyexp.config.mistakes import Mistakes
from greedyexp.config.model import ProtocolSpec
from greedyexp.config.settings import find_part, read_fixed, refuse_incomplete
from greedyexp.core import parts as core_parts
from greedyexp.core.errors import ConfigError
from greedyexp.experiment.parameters import Parameters
from greedyexp.protocols.base import Measured

DEFAULT = "recovery"
_KEYS = ("protocol",)


@dataclass(frozen=True)
class Protocol:
    """The protocol of an experiment.

    Parameters
    ----------
    part : Protocol of greedyexp.core.parts
    spec : ProtocolSpec
        Its name and all its parameters.
    """

    part: core_parts.Protocol
    spec: ProtocolSpec

    @property
    def resolved(self) -> str | dict:
        """As a file has it, defaults filled in."""
        params = {name: to_jsonable_python(value) for name, value in self.spec.params.items()}
        return {self.spec.name: params} if params else self.spec.name


def read_protocol(doc: Document, mistakes: Mistakes) -> Protocol | None:
    """The protocol, or None after noting mistakes."""
    before = len(mistakes.found)
    written = doc.get(_KEYS)
    entry = read_entry(DEFAULT if written is None else written, _KEYS, "protocol", doc, mistakes)
    part = entry and find_part(core_parts.Protocol, entry.name, entry.keys, doc, mistakes)
    if part is None:
        return None
    parameters = Parameters(part)
    given = read_fixed(entry.settings, entry.keys, parameters, doc, mistakes)
    refuse_incomplete(parameters, set(entry.settings), entry.keys, doc, mistakes)
    if len(mistakes.found) > before:
        return None
    params = {**parameters.defaults, **given}
    ordered = {name: params[name] for name in parameters.names}
    return Protocol(part, ProtocolSpec(part.name, ordered))


def refuse_metrics(
    protocol: Protocol, metrics: list[str], doc: Document, mistakes: Mistakes
) -> None:
    """Note metrics that the protocol does not compute, or that it lacks any to compute."""
    name, place = protocol.part.name, doc.place(("metrics",))
    if protocol.part.metrics and not metrics:
        mistakes.add(
            place, f"protocol '{name}' needs at least one metric.", "Add 'metrics: [NAME]'."
        )
    elif metrics and not protocol.part.metrics:
        mistakes.add(place, f"protocol '{name}' computes no metrics.", "Remove 'metrics'.")


def read_measured(
    protocol: Protocol, metrics: list[core_parts.Metric], doc: Document, mistakes: Mistakes
) -> list[Measured]:
    """The columns that the protocol gives; none after noting that its parameters exclude these."""
    part, place = protocol.part, doc.decided(_KEYS)
    with guarded("columns", part, place):
        try:
            return list(part.columns(metrics, **protocol.spec.params))
        except ConfigError as error:
            mistakes.add(place, error.message, error.remedy or "")
        except ValueError as error:
            said = str(error).rstrip(".")
            mistakes.add(place, f"impossible parameters of protocol '{part.name}': {said}.")
        return []
