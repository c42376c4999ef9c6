"""The entries of ``algorithms:``, ``figures:`` and the like: a name, or a name with settings."""

from __future__ import annotations

from typing import NamedTuple

from greedyexp.config.document import Document
from greedyexp.config.mistakes import Keys, Mistakes
from greedyexp.experiment.messages import show


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
    what = f"an entry of {section}"
    found = [
        read_entry(item, (section, index), what, doc, mistakes) for index, item in enumerate(items)
    ]
    return [entry for entry in found if entry is not None]


def read_entry(item, keys: Keys, what: str, doc: Document, mistakes: Mistakes) -> Entry | None:
    """One entry, or None after noting that it is written wrongly.

    Parameters
    ----------
    item : object
        As the document has it at ``keys``.
    what : str
        What sentences call it.
    """
    if isinstance(item, str):
        return Entry(item, {}, keys)
    if not isinstance(item, dict) or not item:
        mistakes.add(
            doc.place(keys), f"{what} is a name or 'name: {{...}}', but here is {show(item)}."
        )
        return None
    name, settings = next(iter(item.items()))
    if len(item) > 1:
        mistakes.add(
            doc.place((*keys, list(item)[1])),
            f"{what} has one name, but here are {', '.join(item)}.",
            f"Indent the settings below '{name}:'.",
        )
        return None
    if settings is not None and not isinstance(settings, dict):
        mistakes.add(
            doc.place((*keys, name)),
            f"the settings of '{name}' must be a mapping, but are {show(settings)}.",
        )
        return None
    return Entry(name, settings or {}, (*keys, name))


def label_of(entry: Entry) -> str:
    """The label as written, or the name."""
    label = entry.settings.get("label")
    return label if isinstance(label, str) else entry.name


def refuse_label(label, keys: Keys, doc: Document, mistakes: Mistakes) -> None:
    """Note a label that is no text of one line."""
    if not isinstance(label, str) or not label.isprintable() or label.strip() != label or not label:
        mistakes.add(
            doc.place(keys),
            f"label must be a text of one line without spaces around it, but is {show(label)}.",
        )
