"""Changes of the settings of a file: its profile, ``--set``, ``--trials`` and ``--seed``.

A change of a parameter replaces every earlier setting of this parameter: its value, its sweep and
its place in a zip.
"""

from __future__ import annotations

import typing
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

from pydantic import BaseModel

from greedyexp.config.document import Document, Node, Place, read_text
from greedyexp.config.sections import entry_at, read_entries
from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.core.parts import KINDS
from greedyexp.core.registry import lookup
from greedyexp.experiment.messages import Keys, show
from greedyexp.experiment.parameters import Parameters
from greedyexp.experiment.settings import DEFAULT_PROTOCOL, PROFILES, Settings
from greedyexp.experiment.sweep import is_range, names_in

Path = tuple[str, ...]

_FIXED = ("name", "plugins", "profiles")
CHANGEABLE = tuple(key for key in Settings.model_fields if key not in _FIXED)


class Override(NamedTuple):
    """One option ``--set``: its dotted key, and its value parsed as YAML.

    With ``appends``, as in ``algorithms+=[omp]``, the value is a list of further items.
    """

    key: str
    value: Document
    appends: bool = False

    @property
    def source(self) -> str:
        """The option as typed."""
        return self.value.place().source

    @property
    def section(self) -> str:
        """The first key, which is a key of the top level."""
        return self.key.partition(".")[0]


def parse_override(text: str) -> Override:
    """Split ``key=value`` or ``key+=value`` and read the value as YAML.

    Raises
    ------
    ConfigError
        If there is no ``=`` or no key, or the value is not YAML.
    """
    source = f"--set {text}"
    key, equals, value = text.partition("=")
    appends = key.endswith("+")
    key = key.removesuffix("+").strip()
    if not equals or not key:
        raise ConfigError(
            "an override is written key=value.", place=source, remedy="For example: --set trials=5."
        )
    return Override(key, read_text(value.strip(), source, lines=False), appends)


def options(**given: int | None) -> list[Override]:
    """Return the overrides for the options ``--trials`` and ``--seed``."""
    return [
        Override(name, Document(value, {(): Place(f"--{name} {value}")}))
        for name, value in given.items()
        if value is not None
    ]


def apply_overrides(doc: Document, overrides: Iterable[Override]) -> None:
    """Apply overrides in their order.

    A list or a range for a parameter that takes one value sweeps it; one value for a parameter
    that was swept fixes it. A parameter of the generator may be written without ``data.``. If the
    data are a list, ``data.<number>.<key>`` is a parameter of one block. ``key+=[...]`` appends to
    a list of the top level, such as ``algorithms``.

    Raises
    ------
    ConfigError
        If a setting does not exist. The message suggests the closest one.
    """
    for override in overrides:
        settings = _found(doc, override.key)
        _check_shape(doc, override, bool(settings))
        if not settings:
            of_parts = [
                prefix + key
                for _, prefix, _, part in _parts(doc)
                for key in _settings_of(*part, prefix)
            ]
            raise ConfigError(
                f"there is no setting '{override.key}'.",
                place=override.source,
                remedy=did_you_mean(override.key, [*_plain_keys(), *of_parts]),
            )
        for holder, path, parameters in settings:
            if override.appends:
                _append(doc, (*holder, *path), override)
            else:
                _put(doc, holder, path, override.value, parameters)


def _put(
    doc: Document, holder: Keys, path: Path, value: Document, parameters: Parameters | None
) -> None:
    """Set a value in a mapping, and remove earlier settings of the same parameters."""
    if parameters is not None:
        several = isinstance(value.data, list) or is_range(value.data)
        # A list or a range sweeps the parameter, unless it is one of its values.
        if path[0] != "sweep" and several and not parameters.accepts(path[0], value.data):
            path = ("sweep", *path)
        change = value.data
        for key in reversed(path):
            change = {key: change}
        _remove_parameters(doc, holder, names_in(change))
    doc.graft((*holder, *path), value)


def _append(doc: Document, keys: Keys, override: Override) -> None:
    """Append the items of an override to a list of the top level.

    Raises
    ------
    ConfigError
        If the setting is not such a list, or the value is not a list.
    """
    known, items = doc.get(keys), override.value.data
    if len(keys) > 1 or not isinstance([] if known is None else known, list):
        raise ConfigError(
            "+= adds to a list at the top level of the file, such as algorithms, but"
            f" '{override.key}' is not one.",
            place=override.source,
            remedy=f"Set the whole value: {override.key}=...",
        )
    if not isinstance(items, list):
        raise ConfigError(
            f"+= adds the items of a list, but the value is {show(items)}.",
            place=override.source,
            remedy=f"Write {override.key}+=[...].",
        )
    if known is None:
        doc.graft(keys, override.value)
        return
    for index in range(len(items)):
        known.append(None)
        doc.graft((*keys, len(known) - 1), override.value, (index,))


def apply_profile(doc: Document, profile: str) -> None:
    """Merge a profile into the document; a profile that the file does not define has no effect.

    Mappings merge; lists and scalars replace; ``trials`` and each parameter below ``data.sweep``
    are replaced as a whole. If the profile fixes a parameter, the sweep of this parameter is
    removed, and vice versa. A profile with another generator replaces all data, and one with
    another protocol replaces all parameters of the protocol.
    """
    changes = doc.get(("profiles", profile))
    for key in changes if isinstance(changes, dict) else ():
        if key in CHANGEABLE:
            _merge(doc, (key,), ("profiles", profile, key))


def check_profiles(node: Node, profile: str) -> None:
    """Report unknown profiles of the file and keys that a profile cannot change.

    Raises
    ------
    ConfigError
        If ``profile`` is unknown, or a profile changes a single key of a list of data.
    """
    if profile not in PROFILES:
        raise ConfigError(
            f"there is no profile '{profile}'.", remedy=did_you_mean(profile, PROFILES)
        )
    profiles = node.at("profiles")
    for name, changes in profiles.value.items() if isinstance(profiles.value, dict) else ():
        here = profiles.at(name)
        if name not in PROFILES:
            here.add(f"there is no profile '{name}'.", did_you_mean(name, PROFILES))
        elif changes is not None and not isinstance(changes, dict):
            here.add(f"profile '{name}' must be a mapping, but is {show(changes)}.")
        elif changes:
            _check_profile(here, name, node.at("data").value)


def _check_profile(node: Node, profile: str, base: Any) -> None:
    for key in node.value:
        if key in _FIXED:
            node.at(key).add(f"a profile cannot change {key}.", "Set it at the top level.")
        elif key not in CHANGEABLE:
            node.at(key).add(
                f"profile '{profile}': unknown key '{key}'.", did_you_mean(key, CHANGEABLE)
            )
    data = node.value.get("data")
    if isinstance(base, list) and isinstance(data, dict) and "generator" not in data:
        # Raise at once, since otherwise every missing parameter would be another error.
        raise ConfigError(
            "a profile replaces a list of data as a whole, but this one does not name a generator.",
            place=str(node.at("data").place),
            remedy="Write the whole list.",
        )


def _merge(doc: Document, keys: Keys, origin: Keys) -> None:
    """Merge the value at ``origin`` into the one at ``keys``."""
    base, change = doc.get(keys), doc.get(origin)
    both = isinstance(base, dict) and isinstance(change, dict)
    # A rule for the number of trials, like the values of one sweep, is replaced as a whole.
    whole = keys == ("trials",) or (keys[:2] == ("data", "sweep") and len(keys) == 3)
    if keys == ("data",) and both:
        whole = change.get("generator", base.get("generator")) != base.get("generator")
        if not whole:
            _remove_parameters(doc, keys, names_in(change) - {"generator"})
    elif keys == ("protocol",):
        whole = _protocol_name(base) != _protocol_name(change)
    if both and not whole:
        for key in change:
            _merge(doc, (*keys, key), (*origin, key))
    elif whole or change is not None or not isinstance(base, dict):
        doc.graft(keys, doc, origin)


def _protocol_name(protocol: Any) -> list[Any]:
    return list(protocol) if isinstance(protocol, dict) else [protocol]


def _found(doc: Document, key: str) -> list[tuple[Keys, Path, Parameters | None]]:
    """Return the settings that a dotted key names; several entries may share a name.

    Each has the key path of a mapping, its keys in the mapping and, if the mapping may sweep it,
    the parameters of the part. A label goes before a name.
    """
    if key in _plain_keys() or key.startswith("trials.success."):
        return [((), tuple(key.split(".", 2)), None)]
    found: dict[int, list[tuple[Keys, Path, Parameters | None]]] = {}
    for rank, prefix, holder, part in _parts(doc):
        known = _settings_of(*part, prefix) if key.startswith(prefix) else {}
        if (inner := key.removeprefix(prefix)) in known:
            found.setdefault(rank, []).append((holder, *known[inner]))
    return found[min(found)] if found else []


@cache
def _plain_keys() -> tuple[str, ...]:
    """Return the dotted keys of the top level that the command line can change."""
    return tuple(".".join(keys) for keys in _paths(Settings) if keys != ("profiles",))


def _paths(model: type[BaseModel]) -> Iterator[tuple[str, ...]]:
    """Yield the key paths of a model, including those of nested models."""
    for name, field in model.model_fields.items():
        yield (name,)
        listed = typing.get_origin(field.annotation) is list
        for kind in () if listed else typing.get_args(field.annotation):
            if isinstance(kind, type(BaseModel)):
                yield from ((name, *path) for path in _paths(kind))


def _parts(doc: Document) -> Iterator[tuple[int, str, Keys, tuple[str, Any]]]:
    """Yield a rank, the start of dotted keys, the mapping of a part, and its kind and name.

    Of settings with the same dotted key, those of the lowest rank are meant.
    """
    data = doc.get(("data",))
    listed = isinstance(data, list)
    for index in range(len(data)) if listed else ():
        holder: Keys = ("data", index)
        yield 0, f"data.{index}.", holder, ("generator", doc.get((*holder, "generator")))
    # The prefix may be left out.
    for rank, prefix in () if listed else enumerate(("data.", "")):
        yield rank, prefix, ("data",), ("generator", doc.get(("data", "generator")))
    if protocol := entry_at(Node(doc, ("protocol",)), "protocol", DEFAULT_PROTOCOL):
        name = protocol[0].name
        for prefix in ("protocol.", f"protocol.{name}."):
            yield 0, prefix, ("protocol", name), ("protocol", name)
    for section, kind in (("algorithms", "algorithm"), ("figures", "figure")):
        for entry, node in read_entries(Node(doc), section):
            # A bare name becomes a mapping with that name.
            holder = (*node.keys[:2], entry.name)
            # Without a label both are the same.
            for rank, name in enumerate(dict.fromkeys((entry.label, entry.name))):
                yield rank, f"{section}.{name}.", holder, (kind, entry.name)


def _settings_of(kind: str, name: Any, prefix: str) -> dict[str, tuple[Path, Parameters | None]]:
    """Return the settings of a part by their dotted keys after a prefix, as in ``_found``."""
    part = lookup(kind, name) if isinstance(name, str) else None
    parameters, reserved = Parameters(part) if part else None, KINDS[kind].reserved_keys
    names = parameters.names if parameters else []
    if "sweep" not in reserved:
        return {key: ((key,), None) for key in names}
    paths: list[Path] = [("sweep",), *((key,) for key in names)]
    paths += [("sweep", key) for key in ("zip", *names)]
    known: dict[str, tuple[Path, Parameters | None]] = {key: ((key,), None) for key in reserved}
    known |= {".".join(path): (path, parameters) for path in paths}
    # Only the blocks of a list have labels, and a bare key is a parameter.
    hidden = {"data.": ("label",), "": reserved}.get(prefix, ())
    return {key: setting for key, setting in known.items() if key not in hidden}


def _check_shape(doc: Document, override: Override, known: bool) -> None:
    """Raise ``ConfigError`` if the key does not fit the shape of the data or of ``trials``."""
    head, _, rest = override.key.partition(".")
    if head == "trials" and rest and not isinstance(doc.get(("trials",)), dict):
        raise ConfigError(
            f"'trials' is a fixed number here; it has no '{rest}'.",
            place=override.source,
            remedy="Set a whole rule, for example: --set 'trials={until: {half_width: 0.1}}'.",
        )
    data = doc.get(("data",))
    block: Keys = ("data",)
    if data == []:
        return  # refused when the section is read
    if isinstance(data, list):
        last, number = len(data) - 1, rest.partition(".")[0]
        if not number.isdecimal() or int(number) > last:
            of_block = any(
                _found(doc, f"data.{index}.{override.key}") for index in range(len(data))
            )
            if (head == "data" and rest) or (of_block and not known):
                raise ConfigError(
                    f"data is a list here; select a block by its number from 0 to {last}.",  # noqa: S608 - no SQL
                    place=override.source,
                    remedy=f"For example: --set data.{last}.{override.key.rpartition('.')[2]}=...",
                )
            return
        block = ("data", int(number))
    if head == "data" and rest and not isinstance(doc.get(block), dict):
        raise ConfigError("data must be a mapping.", place=str(doc.place(block)))


def _remove_parameters(doc: Document, keys: Keys, names: set[str]) -> None:
    """Remove parameters from the mapping at ``keys``, its sweep and its zips."""
    zipped = (*keys, "sweep", "zip")
    groups = doc.get(zipped)
    paths = [(*zipped, i) for i in range(len(groups))] if isinstance(groups, list) else [zipped]
    for holder in (keys, (*keys, "sweep"), *reversed(paths)):
        value = doc.get(holder)
        for name in names & value.keys() if isinstance(value, dict) else ():
            doc.remove((*holder, name))
            # A zip without parameters is removed, too.
            if holder in paths and not value:
                doc.remove(holder)
    if groups == [] and paths:
        doc.remove(zipped)
