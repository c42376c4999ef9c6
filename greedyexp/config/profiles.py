"""Profiles: the same experiment at four sizes, each a set of changes to the file's settings."""

from __future__ import annotations

from greedyexp.config.document import Document
from greedyexp.config.mistakes import Keys, Mistakes
from greedyexp.config.model import PROFILES, Settings
from greedyexp.config.placement import displace, mentioned
from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.experiment.messages import show

FIXED = ("name", "plugins", "profiles")
CHANGEABLE = tuple(key for key in Settings.model_fields if key not in FIXED)


def check_profiles(doc: Document, profile: str, mistakes: Mistakes) -> None:
    """Refuse an unknown profile, and profiles of the file that are not mappings of settings.

    Raises
    ------
    ConfigError
        When there is no profile of that name, or one changes a single key of a list of data.
    """
    if profile not in PROFILES:
        raise ConfigError(
            f"there is no profile '{profile}'.",
            remedy=did_you_mean(profile, PROFILES),
        )
    profiles = doc.get(("profiles",))
    if not isinstance(profiles, dict):
        return
    for name, changes in profiles.items():
        keys = ("profiles", name)
        if name not in PROFILES:
            mistakes.add(
                doc.place(keys), f"there is no profile '{name}'.", did_you_mean(name, PROFILES)
            )
        elif changes is not None and not isinstance(changes, dict):
            mistakes.add(
                doc.place(keys), f"profile '{name}' must be a mapping, but is {show(changes)}."
            )
        else:
            _check_keys(name, changes or {}, doc, mistakes)


def _check_keys(profile: str, changes: dict, doc: Document, mistakes: Mistakes) -> None:
    for key in changes:
        place = doc.place(("profiles", profile, key))
        if key in FIXED:
            mistakes.add(place, f"a profile cannot change {key}.", "Set it at the top level.")
        elif key not in CHANGEABLE:
            mistakes.add(
                place, f"profile '{profile}': unknown key '{key}'.", did_you_mean(key, CHANGEABLE)
            )
    data, base = changes.get("data"), doc.get(("data",))
    if isinstance(base, list) and isinstance(data, dict) and "generator" not in data:
        # Its parts would be missed one by one, as if the file had forgotten them.
        raise ConfigError(
            "data is a list here, which a profile replaces as a whole, but this names no"
            " generator.",
            place=str(doc.place(("profiles", profile, "data"))),
            remedy="Write the whole list.",
        )


def apply_profile(doc: Document, profile: str) -> None:
    """Merge the profile into the document; one the file does not define changes nothing.

    Mappings merge; lists and scalars replace; ``trials`` and each parameter below ``data.sweep``
    are replaced as a whole. A parameter that the profile fixes leaves the sweep, and one that it
    sweeps is no longer fixed. A profile with another generator brings all of its own data, one with
    another protocol all of its parameters.
    """
    changes = doc.get(("profiles", profile))
    if isinstance(changes, dict):
        for key in [key for key in changes if key in CHANGEABLE]:
            _merge(doc, (key,), ("profiles", profile, key))


def _merge(doc: Document, keys: Keys, origin: Keys) -> None:
    base, change = doc.get(keys), doc.get(origin)
    if keys == ("data",) and isinstance(base, dict) and isinstance(change, dict):
        if change.get("generator", base.get("generator")) != base.get("generator"):
            doc.graft(keys, doc, origin)
            return
        displace(doc, keys, mentioned(change) - {"generator"})
    if keys == ("protocol",) and _names(base) != _names(change):
        doc.graft(keys, doc, origin)
        return
    # A rule for the number of trials, like the values of one sweep, is replaced and not mixed.
    whole = keys == ("trials",) or (keys[:2] == ("data", "sweep") and len(keys) == 3)
    if isinstance(base, dict) and isinstance(change, dict) and not whole:
        for key in change:
            _merge(doc, (*keys, key), (*origin, key))
    elif change is not None or not isinstance(base, dict):
        doc.graft(keys, doc, origin)


def _names(protocol) -> list[str]:
    """The name of a protocol, as all the keys of its mapping."""
    return list(protocol) if isinstance(protocol, dict) else [protocol]
