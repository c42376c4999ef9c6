"""Changes of the settings of a file: its profile, ``--set``, ``--trials`` and ``--seed``.

Every change becomes a list of patches. A change of a parameter replaces every earlier setting of
this parameter: its value, its sweep and its place in a zip.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

import yaml

from greedyexp.config.document import Document, Node, Place, read_text
from greedyexp.config.sections import entry_at, label_of, read_entries
from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.core.parts import KINDS
from greedyexp.core.registry import parts
from greedyexp.experiment.design import DEFAULT_PROTOCOL
from greedyexp.experiment.messages import Keys, show
from greedyexp.experiment.model import (
    PROFILES,
    AdaptiveTrials,
    Locate,
    PaperReference,
    Settings,
    Until,
)
from greedyexp.experiment.parameters import Parameters
from greedyexp.experiment.sweep import is_range, names_in

FIXED = ("name", "plugins", "profiles")
CHANGEABLE = tuple(key for key in Settings.model_fields if key not in FIXED)
SETTABLE = tuple(key for key in Settings.model_fields if key != "profiles")
_RULE = (
    *AdaptiveTrials.model_fields,
    *(f"until.{key}" for key in Until.model_fields),
    *(f"locate.{key}" for key in Locate.model_fields),
)
# Settings that change no row: they are about trials, figures, claims and texts.
_KEEP_ROWS = (
    *("trials", "time_limit", "name", "description", "paper"),
    *("figures", "tables", "claims", "readings"),
)
_TAG = re.compile(r"[A-Za-z0-9_.,=-]+")
_PLAIN = re.compile(r"[A-Za-z0-9_.-]+")
_LONGEST = 100
_DIGEST = 8


@dataclass(frozen=True)
class Patch:
    """A value to put at a key path, or parameters to remove from the mapping there.

    Parameters
    ----------
    keys : key path
    value : Document, optional
    origin : key path
        Where the value is in its document.
    removed : set of str
        Parameters to remove from the mapping, its sweep and its zips.
    """

    keys: Keys
    value: Document | None = None
    origin: Keys = ()
    removed: frozenset[str] = frozenset()

    def apply(self, doc: Document) -> None:
        """Apply the patch."""
        if self.value is not None:
            doc.graft(self.keys, self.value, self.origin)
        elif isinstance(doc.get(self.keys), dict):
            _remove_parameters(doc, self.keys, self.removed)


class Override(NamedTuple):
    """One ``--set``: the dotted key, and the value read as YAML."""

    key: str
    value: Document

    @property
    def source(self) -> str:
        """The option as typed."""
        return self.value.place().source

    @property
    def section(self) -> str:
        """The first key, which is a key of the top level."""
        return self.key.partition(".")[0]


def parse_override(text: str) -> Override:
    """Split ``key=value`` and read the value as YAML.

    Raises
    ------
    ConfigError
        If there is no ``=`` or no key, or the value is not YAML.
    """
    source = f"--set {text}"
    key, equals, value = text.partition("=")
    key = key.strip()
    if not equals or not key:
        raise ConfigError(
            "an override is written key=value.", place=source, remedy="Such as --set trials=5."
        )
    return Override(key, read_text(value.strip(), source, lines=False))


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
    data are a list, ``data.<number>.<key>`` is a parameter of one block.

    Raises
    ------
    ConfigError
        If there is no such setting; the message suggests the closest.
    """
    for override in overrides:
        patches = _compiled(doc, override)
        if not patches:
            raise ConfigError(
                f"there is no setting '{override.key}'.",
                place=override.source,
                remedy=did_you_mean(override.key, _known_keys(doc)),
            )
        for patch in patches:
            patch.apply(doc)


def apply_profile(doc: Document, profile: str) -> None:
    """Merge a profile into the document; a profile that the file does not define has no effect.

    Mappings merge; lists and scalars replace; ``trials`` and each parameter below ``data.sweep``
    are replaced as a whole. A parameter that the profile fixes leaves the sweep, and one that it
    sweeps is no longer fixed. A profile with another generator replaces all data, and one with
    another protocol replaces all parameters of the protocol.
    """
    changes = doc.get(("profiles", profile))
    for key in changes if isinstance(changes, dict) else ():
        if key in CHANGEABLE:
            # Each patch depends on what the patches before it have changed.
            for patch in _merged(doc, (key,), ("profiles", profile, key)):
                patch.apply(doc)


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
        if key in FIXED:
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


def _merged(doc: Document, keys: Keys, origin: Keys) -> Iterator[Patch]:
    """Yield the patches that merge the value at ``origin`` into the one at ``keys``."""
    base, change = doc.get(keys), doc.get(origin)
    both = isinstance(base, dict) and isinstance(change, dict)
    # A rule for the number of trials, like the values of one sweep, is replaced as a whole.
    whole = keys == ("trials",) or (keys[:2] == ("data", "sweep") and len(keys) == 3)
    if keys == ("data",) and both:
        whole = change.get("generator", base.get("generator")) != base.get("generator")
        if not whole:
            yield Patch(keys, removed=frozenset(names_in(change) - {"generator"}))
    elif keys == ("protocol",):
        whole = _protocol_name(base) != _protocol_name(change)
    if both and not whole:
        for key in change:
            yield from _merged(doc, (*keys, key), (*origin, key))
    elif whole or change is not None or not isinstance(base, dict):
        yield Patch(keys, doc, origin)


def _protocol_name(protocol: Any) -> list[Any]:
    return list(protocol) if isinstance(protocol, dict) else [protocol]


def _compiled(doc: Document, override: Override) -> list[Patch]:
    """Return the patches of an override; none if there is no such setting."""
    key, value = override.key, override.value
    head, _, rest = key.partition(".")
    if key in SETTABLE:
        return [Patch((head,), value)]
    if head == "data" and rest:
        return _data_patches(doc, rest, override)
    if head == "protocol" and rest:
        return _protocol_patches(doc, rest, value)
    if head in ("algorithms", "figures") and rest:
        return _entry_patches(doc, head, rest, value)
    if head == "trials" and (rest in _RULE or rest.startswith("success.")):
        if not isinstance(doc.get(("trials",)), dict):
            raise ConfigError(
                f"'trials' is a fixed number here; it has no '{rest}'.",
                place=override.source,
                remedy="Set a whole rule, such as --set 'trials={until: {half_width: 0.1}}'.",
            )
        return [Patch(("trials", *rest.split(".", 1)), value)]
    if head == "paper" and rest in PaperReference.model_fields:
        return [Patch(("paper", rest), value)]
    generators = [doc.get((*keys, "generator")) for keys in _blocks(doc)]
    if not rest and any(head in _names("generator", name) for name in generators):
        return _data_patches(doc, head, override)
    return []


def _data_patches(doc: Document, rest: str, override: Override) -> list[Patch]:
    data, keys = doc.get(("data",)), _blocks(doc)[0][:1]
    if isinstance(data, list):
        index, _, rest = rest.partition(".")
        if not index.isdecimal() or int(index) >= len(data):
            raise ConfigError(
                f"data is a list here; select a block by its number from 0 to {len(data) - 1}.",
                place=override.source,
                remedy=f"Such as --set data.{len(data) - 1}.{override.key.rpartition('.')[2]}=...",
            )
        keys = ("data", int(index))
    block = doc.get(keys)
    if not isinstance(block, dict):
        raise ConfigError("data must be a mapping.", place=str(doc.place(keys)))
    if rest == "generator" or (rest == "label" and isinstance(data, list)):
        return [Patch((*keys, rest), override.value)]
    parameters = _parameters("generator", block.get("generator"))
    return _parameter_patches(keys, rest, override.value, parameters)


def _protocol_patches(doc: Document, name: str, value: Document) -> list[Patch]:
    """Set one parameter of the protocol: ``parameter`` or, as in the file, ``name.parameter``."""
    entry = entry_at(Node(doc, ("protocol",)), "protocol", DEFAULT_PROTOCOL)
    if entry is None:
        return []
    names = _names("protocol", entry.name)
    name = name if name in names else name.removeprefix(f"{entry.name}.")
    return [Patch(("protocol", entry.name, name), value)] if name in names else []


def _entry_patches(doc: Document, section: str, rest: str, value: Document) -> list[Patch]:
    """Set one key of the entries whose label, or else whose name, begins ``rest``."""
    kind = section.removesuffix("s")
    entries = read_entries(Node(doc), section)
    for name_of in (label_of, attrgetter("name")):
        words = [name_of(one) for one in entries if rest.startswith(f"{name_of(one)}.")]
        if not words:
            continue
        word = max(words, key=len)
        key = rest[len(word) + 1 :]
        patches: list[Patch] = []
        for entry in entries:
            if name_of(entry) != word:
                continue
            # A bare name becomes a mapping with that name.
            keys, names = (*entry.node.keys[:2], entry.name), _names(kind, entry.name)
            own = KINDS[kind].reserved_keys if kind == "algorithm" else names
            if key in own and key != "sweep":
                found = [Patch((*keys, key), value)]
            elif kind == "algorithm":
                found = _parameter_patches(keys, key, value, _parameters(kind, entry.name))
            else:
                found = []
            if not found:
                return []
            patches += found
        return patches
    return []


def _parameter_patches(
    keys: Keys, rest: str, value: Document, parameters: Parameters | None
) -> list[Patch]:
    """Fix or sweep one parameter of the mapping at ``keys``."""
    names = parameters.names if parameters else []
    head, _, swept = rest.partition(".")
    if rest in ("sweep", "sweep.zip"):
        whole = {"sweep": {"zip": value.data} if swept else value.data}
        removed, target = names_in(whole), tuple(rest.split("."))
    elif head == "sweep" and swept in names:
        removed, target = {swept}, ("sweep", swept)
    elif parameters and rest in names:
        many = isinstance(value.data, list) or is_range(value.data)
        sweeps = many and not parameters.accepts(rest, value.data)
        removed, target = {rest}, ("sweep", rest) if sweeps else (rest,)
    else:
        return []
    return [Patch(keys, removed=frozenset(removed)), Patch((*keys, *target), value)]


def _remove_parameters(doc: Document, keys: Keys, names: frozenset[str]) -> None:
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


def _parameters(kind: str, name: Any) -> Parameters | None:
    """Return the parameters of a part; None for an unknown name."""
    part = parts(kind).get(name) if isinstance(name, str) else None
    return None if part is None else Parameters(part)


def _names(kind: str, name: Any) -> list[str]:
    parameters = _parameters(kind, name)
    return parameters.names if parameters else []


def _blocks(doc: Document) -> list[Keys]:
    """Return the key paths of the blocks of the data."""
    data = doc.get(("data",))
    return [("data", i) for i in range(len(data))] if isinstance(data, list) else [("data",)]


def _known_keys(doc: Document) -> Iterator[str]:
    yield from SETTABLE
    yield from (f"paper.{key}" for key in PaperReference.model_fields)
    yield from (f"trials.{key}" for key in _RULE)
    for keys in _blocks(doc):
        block = ".".join(map(str, keys))
        yield f"{block}.generator"
        for name in _names("generator", doc.get((*keys, "generator"))):
            yield from (name, f"{block}.{name}", f"{block}.sweep.{name}")
    protocol = entry_at(Node(doc, ("protocol",)), "protocol", DEFAULT_PROTOCOL)
    if protocol is not None:
        for name in _names("protocol", protocol.name):
            yield from (f"protocol.{name}", f"protocol.{protocol.name}.{name}")
    for section in ("algorithms", "figures"):
        kind = section.removesuffix("s")
        for entry in read_entries(Node(doc), section):
            for key in (*_names(kind, entry.name), *KINDS[kind].reserved_keys):
                yield f"{section}.{label_of(entry)}.{key}"


def variant_name(overrides: Sequence[Override]) -> str:
    """Return the suffix of the profile in the name of the results folder: ``+noise_std=0.5``.

    Overrides that change rows get their own folder and never replace the results of the unchanged
    file. Their order does not matter.
    """
    kept = {one.key: one.value.data for one in overrides if one.section not in _KEEP_ROWS}
    name = "".join(f"+{_short(key)}={_word(value)}" for key, value in sorted(kept.items()))
    alike = len({_short(key) for key in kept}) < len(kept)
    return f"+changed={_digest(kept)}" if alike or len(name) > _LONGEST else name


def require_tag(tag: str) -> str:
    """Return a tag that can name a folder.

    Raises
    ------
    ConfigError
        If it has other characters or too many characters.
    """
    if not _TAG.fullmatch(tag) or len(tag) > _LONGEST:
        raise ConfigError(
            f"{show(tag)} cannot name a folder.",
            place="--tag",
            remedy=f"Use letters, digits and any of _ . , = - (at most {_LONGEST}).",
        )
    return tag


def changes(
    old: dict[str, Any], new: dict[str, Any], keys: Sequence[str], prefix: str = ""
) -> list[str]:
    """Return the settings that differ, such as ``data.noise_std: 0.1 -> 0.5``.

    Parameters
    ----------
    old, new : dict
        Resolved settings.
    keys : sequence of str
        Keys to compare.
    prefix : str
        Start of the names of the settings.
    """
    found = []
    for key in keys:
        before, after, path = old.get(key), new.get(key), f"{prefix}{key}"
        if isinstance(before, dict) and isinstance(after, dict):
            found += changes(before, after, list(dict.fromkeys([*before, *after])), f"{path}.")
        elif before != after:
            found.append(f"{path}: {show(before)} -> {show(after)}")
    return found


def _short(key: str) -> str:
    for section in ("data.", "algorithms."):
        key = key.removeprefix(section)
    return key if _PLAIN.fullmatch(key) else _digest(key)


def _word(value: Any) -> str:
    """Return numbers, plain words and lists of them as text; a digest of anything else."""
    items = value if isinstance(value, list) else [value]
    words = [item if isinstance(item, str) else json.dumps(item) for item in items]
    # A text such as '1' must not look like the number.
    plain = all(yaml.safe_load(item) == item for item in items if isinstance(item, str))
    if items and plain and all(map(_PLAIN.fullmatch, words)):
        return ",".join(words)
    return _digest(value)


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]
