"""``--set key=value``: settings from the command line, which beat those of the file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from greedyexp.config.document import Document
from greedyexp.config.entries import Entry, label_of, read_entries, read_entry
from greedyexp.config.mistakes import Keys, Mistakes
from greedyexp.config.model import PaperReference, Settings
from greedyexp.config.placement import displace, mentioned
from greedyexp.config.protocol import DEFAULT
from greedyexp.config.trials import AdaptiveTrials, Locate, Until
from greedyexp.config.yaml_source import read_text
from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.core.parts import Algorithm
from greedyexp.core.registry import find
from greedyexp.experiment.parameters import Parameters
from greedyexp.experiment.sweep import is_range

SETTABLE = tuple(key for key in Settings.model_fields if key != "profiles")

RULE = (
    *AdaptiveTrials.model_fields,
    *(f"until.{key}" for key in Until.model_fields),
    *(f"locate.{key}" for key in Locate.model_fields),
)


class Override(NamedTuple):
    """One ``--set``: the dotted key and the value, read as YAML."""

    key: str
    value: Document

    @property
    def source(self) -> str:
        return self.value.place().source


def parse_override(text: str) -> Override:
    """Split ``key=value`` and read the value as YAML.

    Raises
    ------
    ConfigError
        When there is no ``=``, no key, or the value is not YAML.
    """
    source = f"--set {text}"
    key, equals, value = text.partition("=")
    key = key.strip()
    if not equals or not key:
        raise ConfigError(
            "an override is written key=value.", place=source, remedy="Such as --set trials=5."
        )
    return Override(key, read_text(value.strip(), source, lines=False))


def apply_override(doc: Document, override: Override) -> None:
    """Put the value where its key points.

    A list or a range for a parameter that takes one value sweeps it; one value for a parameter
    that was swept fixes it. A key that is no setting but a parameter of the generator means
    ``data.<key>``; of a list of data ``data.<number>.<key>`` is a parameter of one block.

    Raises
    ------
    ConfigError
        When there is no such setting; the message names the nearest.
    """
    head, _, rest = override.key.partition(".")
    if override.key in SETTABLE:
        doc.graft((head,), override.value)
        return
    done = False
    if head == "data" and rest:
        done = _set_data(doc, rest, override)
    elif head == "protocol" and rest:
        done = _set_protocol(doc, rest, override.value)
    elif head == "algorithms" and rest:
        done = _set_entries(doc, "algorithms", rest, override.value)
    elif head == "figures" and rest:
        done = _set_entries(doc, "figures", rest, override.value)
    elif head == "trials" and (rest in RULE or rest.startswith("success.")):
        _set_rule(doc, rest, override)
        done = True
    elif head == "paper" and rest in PaperReference.model_fields:
        doc.graft(("paper", rest), override.value)
        done = True
    elif not rest and head in _generator_names(doc):
        done = _set_data(doc, head, override)
    if not done:
        raise ConfigError(
            f"there is no setting '{override.key}'.",
            place=override.source,
            remedy=did_you_mean(override.key, _known_keys(doc)),
        )


def _set_rule(doc: Document, rest: str, override: Override) -> None:
    if not isinstance(doc.get(("trials",)), dict):
        raise ConfigError(
            f"trials is no rule here, so that it has no '{rest}'.",
            place=override.source,
            remedy="A rule is set whole, such as --set 'trials={until: {half_width: 0.1}}'.",
        )
    doc.graft(("trials", *rest.split(".", 1)), override.value)


def _set_data(doc: Document, rest: str, override: Override) -> bool:
    data, keys, value = doc.get(("data",)), ("data",), override.value
    if isinstance(data, list):
        index, _, rest = rest.partition(".")
        if not index.isdecimal() or int(index) >= len(data):
            raise ConfigError(
                f"data is a list of {len(data)} here, so that its blocks are named by number,"
                f" from 0 to {len(data) - 1}.",
                place=override.source,
                remedy=f"Such as --set data.{len(data) - 1}.{override.key.rpartition('.')[2]}=...",
            )
        keys = ("data", int(index))
    if not isinstance(doc.get(keys), dict):
        raise ConfigError("data must be a mapping.", place=str(doc.place(keys)))
    if rest == "generator" or (rest == "label" and isinstance(data, list)):
        doc.graft((*keys, rest), value)
        return True
    return _set_parameter(doc, keys, rest, value, _generator_parameters(doc, keys))


def _set_protocol(doc: Document, name: str, value: Document) -> bool:
    """Set one parameter of the protocol, whose own name may stand before it as in the file."""
    written = doc.get(("protocol",))
    entry = read_entry(written or DEFAULT, ("protocol",), "protocol", doc, Mistakes())
    parameters = entry and _part_parameters("protocols", entry)
    if not parameters:
        return False
    if name not in parameters.names:
        name = name.removeprefix(f"{entry.name}.")
    if name not in parameters.names:
        return False
    if not isinstance(written, dict) or written[entry.name] is None:
        doc.data["protocol"] = {entry.name: {}}
    doc.graft(("protocol", entry.name, name), value)
    return True


def _set_parameter(
    doc: Document, keys: Keys, rest: str, value: Document, parameters: Parameters | None
) -> bool:
    """Fix or sweep one parameter of the mapping at ``keys``; False when there is none."""
    names = parameters.names if parameters else ()
    head, _, swept = rest.partition(".")
    if rest in ("sweep", "sweep.zip"):
        whole = {"sweep": {"zip": value.data} if swept else value.data}
        displace(doc, keys, mentioned(whole))
        doc.graft((*keys, *rest.split(".")), value)
    elif head == "sweep" and swept in names:
        displace(doc, keys, {swept})
        doc.graft((*keys, "sweep", swept), value)
    elif rest in names:
        displace(doc, keys, {rest})
        many = isinstance(value.data, list) or is_range(value.data)
        sweeps = many and not parameters.accepts(rest, value.data)
        doc.graft((*keys, "sweep", rest) if sweeps else (*keys, rest), value)
    else:
        return False
    return True


def _set_entries(doc: Document, section: str, rest: str, value: Document) -> bool:
    """Set one key of the entries whose label, or else whose name, begins ``rest``."""
    entries = read_entries(doc, section, Mistakes())
    labelled = [(entry, label_of(entry)) for entry in entries]
    named = [(entry, entry.name) for entry in entries]
    for candidates in (labelled, named):
        chosen = [(entry, word) for entry, word in candidates if rest.startswith(f"{word}.")]
        if chosen:
            longest = max(len(word) for _, word in chosen)
            matched = [entry for entry, word in chosen if len(word) == longest]
            done = [_set_entry(doc, section, each, rest[longest + 1 :], value) for each in matched]
            return all(done)
    return False


def _set_entry(doc: Document, section: str, entry: Entry, key: str, value: Document) -> bool:
    keys = _open_entry(doc, entry)
    parameters = _part_parameters(section, entry)
    if section == "algorithms" and key in Algorithm.reserved_keys and key != "sweep":
        doc.graft((*keys, key), value)
        return True
    if section == "figures":
        if parameters is None or key not in parameters.names:
            return False
        doc.graft((*keys, key), value)
        return True
    return _set_parameter(doc, keys, key, value, parameters)


def _open_entry(doc: Document, entry: Entry) -> Keys:
    """Give an entry written as a bare name a mapping of settings."""
    section, index = entry.keys[:2]
    item = doc.data[section][index]
    if isinstance(item, str):
        doc.data[section][index] = {item: {}}
    elif item[entry.name] is None:
        item[entry.name] = {}
    return (section, index, entry.name)


def _part_parameters(section: str, entry: Entry) -> Parameters | None:
    try:
        return Parameters(find(section.removesuffix("s"), entry.name))
    except ConfigError:
        return None


def _generator_parameters(doc: Document, keys: Keys) -> Parameters | None:
    name = doc.get((*keys, "generator"))
    try:
        return Parameters(find("generator", name)) if isinstance(name, str) else None
    except ConfigError:
        return None


def _blocks(doc: Document) -> list[Keys]:
    """Where the blocks of the data stand."""
    data = doc.get(("data",))
    return (
        [("data", index) for index in range(len(data))] if isinstance(data, list) else [("data",)]
    )


def _generator_names(doc: Document) -> list[str]:
    found = [_generator_parameters(doc, keys) for keys in _blocks(doc)]
    return [name for parameters in found if parameters for name in parameters.names]


def _known_keys(doc: Document) -> Iterator[str]:
    yield from SETTABLE
    yield from (f"paper.{key}" for key in PaperReference.model_fields)
    yield from (f"trials.{key}" for key in RULE)
    for keys in _blocks(doc):
        block = ".".join(map(str, keys))
        yield f"{block}.generator"
        parameters = _generator_parameters(doc, keys)
        for name in parameters.names if parameters else ():
            yield from (name, f"{block}.{name}", f"{block}.sweep.{name}")
    protocol = read_entry(
        doc.get(("protocol",)) or DEFAULT, ("protocol",), "protocol", doc, Mistakes()
    )
    parameters = protocol and _part_parameters("protocols", protocol)
    for name in parameters.names if parameters else ():
        yield from (f"protocol.{name}", f"protocol.{protocol.name}.{name}")
    for section in ("algorithms", "figures"):
        for entry in read_entries(doc, section, Mistakes()):
            parameters = _part_parameters(section, entry)
            keys = [*(parameters.names if parameters else ())]
            keys += Algorithm.reserved_keys if section == "algorithms" else ()
            yield from (f"{section}.{label_of(entry)}.{key}" for key in keys)
