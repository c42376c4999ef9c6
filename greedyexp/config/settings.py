"""Reading the top level of an experiment file, and the fixed parameters of its parts."""

from __future__ import annotations

from typing import TypeVar

from greedyexp.config.document import Document
from greedyexp.config.mistakes import Keys, Mistakes
from greedyexp.config.model import PaperReference, Settings
from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.core.parts import Part
from greedyexp.core.registry import find
from greedyexp.experiment.messages import show
from greedyexp.experiment.parameters import BadValue, Parameters, model_adapter, read_value
from greedyexp.experiment.sweep import is_range

AnyPart = TypeVar("AnyPart", bound=Part)


def read_settings(doc: Document, mistakes: Mistakes) -> Settings:
    """The validated top level.

    Raises
    ------
    ConfigError
        When it is no mapping, has unknown keys, or values of a wrong type or range.
    """
    written = dict(doc.data)
    for key in [key for key in written if key not in Settings.model_fields]:
        del written[key]
        mistakes.add(
            doc.place((key,)), f"unknown key '{key}'.", did_you_mean(key, Settings.model_fields)
        )
    if isinstance(written.get("paper"), dict):
        known = PaperReference.model_fields
        for key in [key for key in written["paper"] if key not in known]:
            mistakes.add(
                doc.place(("paper", key)), f"unknown key '{key}'.", did_you_mean(key, known)
            )
        written["paper"] = {k: v for k, v in written["paper"].items() if k in known}
    listed = {"algorithms", "figures", "tables", "metrics", "claims", "readings"}
    shallow = {*listed - {"metrics"}, "data", "profiles"}
    settings = None
    try:
        settings = read_value(
            model_adapter(Settings),
            {key: _outline(value) if key in shallow else value for key, value in written.items()},
            "",
        )
    except BadValue as error:
        for keys, message, remedy in error.found:
            if len(keys) == 1 and keys[0] in listed:
                remedy = "Begin each entry with a dash." if doc.get(keys) else "Name at least one."
            mistakes.add(doc.place(keys), message, remedy)
    mistakes.stop_if_any()
    return settings


def _outline(value):
    """A container without its contents, which are read elsewhere with better sentences."""
    if isinstance(value, dict):
        return {}
    if isinstance(value, list):
        return [0] * min(len(value), 1)
    return value


def find_part(
    kind: type[AnyPart], name: str, keys: Keys, doc: Document, mistakes: Mistakes
) -> AnyPart | None:
    """The registered part, or None after noting that there is none."""
    try:
        part = find(kind.kind, name)
        assert isinstance(part, kind)
        return part
    except ConfigError as error:
        mistakes.add(doc.place(keys), error.message, error.remedy or "")
        return None


def read_fixed(
    written: dict,
    keys: Keys,
    parameters: Parameters,
    doc: Document,
    mistakes: Mistakes,
    *,
    reserved: tuple[str, ...] = (),
) -> dict:
    """The validated fixed parameters in a mapping.

    Parameters
    ----------
    written : dict
        The mapping; its reserved keys are skipped.
    keys : key path
        Where the mapping stands.
    reserved : tuple of str
        Keys that are no parameters, such as ``sweep``.
    """
    part = parameters.part
    fixed = {}
    for name, value in written.items():
        here = (*keys, name)
        if name in reserved:
            continue
        if name not in parameters.names:
            mistakes.add(
                doc.place(here),
                f"{part.kind} '{part.name}' has no parameter '{name}'.",
                did_you_mean(name, [*parameters.names, *reserved]),
            )
            continue
        try:
            fixed[name] = parameters.read(name, value)
        except BadValue as error:
            if "sweep" in reserved and _meant_to_sweep(parameters, name, value):
                mistakes.add(
                    doc.place(here),
                    f"{name} takes one value here, but is {show(value)}.",
                    "To vary it, write it below 'sweep:'.",
                )
                continue
            for inner, message, remedy in error.found:
                mistakes.add(doc.place((*here, *inner)), message, remedy)
    return fixed


def _meant_to_sweep(parameters: Parameters, name: str, value) -> bool:
    if isinstance(value, list):
        return any(parameters.accepts(name, item) for item in value)
    return is_range(value)


def refuse_incomplete(
    parameters: Parameters, given: set[str], keys: Keys, doc: Document, mistakes: Mistakes
) -> None:
    """Note every parameter that has no default and no value."""
    part = parameters.part
    for name in parameters.required():
        if name not in given:
            mistakes.add(doc.place(keys), f"{part.kind} '{part.name}' needs a value for '{name}'.")


def refuse_both(
    fixed: dict, swept: set[str], keys: Keys, doc: Document, mistakes: Mistakes
) -> None:
    """Note every parameter that is fixed and swept."""
    for name in sorted(fixed.keys() & swept):
        mistakes.add(
            doc.place((*keys, name)),
            f"{name} is given one value here and is swept too.",
            "Keep one of the two.",
        )
