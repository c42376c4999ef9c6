"""The entries of ``algorithms:`` and ``figures:``: a name, or a name with settings."""

from __future__ import annotations

from typing import NamedTuple

from greedyexp.experiment.document import Document
from greedyexp.experiment.mistakes import Keys, Mistakes
from greedyexp.experiment.sentences import show


class Entry(NamedTuple):
    """One entry and the key path of its settings."""

    name: str
    settings: dict
    keys: Keys


def read_entries(doc: Document, section: str, mistakes: Mistakes) -> list[Entry]:
    """The entries of a section, those written wrongly left out and noted."""
    items = doc.get((section,))
    if not isinstance(items, list):
        return []
    entries = []
    for index, item in enumerate(items):
        keys: Keys = (section, index)
        if isinstance(item, str):
            entries.append(Entry(item, {}, keys))
            continue
        if not isinstance(item, dict) or not item:
            mistakes.add(
                doc.place(keys),
                f"an entry of {section} is a name or 'name: {{...}}', but here is {show(item)}.",
            )
            continue
        name, settings = next(iter(item.items()))
        if len(item) > 1:
            mistakes.add(
                doc.place((*keys, list(item)[1])),
                f"an entry of {section} has one name, but here are {', '.join(item)}.",
                f"Indent the settings below '{name}:'.",
            )
        elif settings is not None and not isinstance(settings, dict):
            mistakes.add(
                doc.place((*keys, name)),
                f"the settings of '{name}' must be a mapping, but are {show(settings)}.",
            )
        else:
            entries.append(Entry(name, settings or {}, (*keys, name)))
    return entries


def label_of(entry: Entry) -> str:
    """The label as written, or the name."""
    label = entry.settings.get("label")
    return label if isinstance(label, str) else entry.name
