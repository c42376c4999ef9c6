"""Where a parameter stands in a mapping with a sweep: fixed, swept, or in a zip.

A later layer (a profile, then the command line) that mentions a parameter decides alone how it
is set: whatever an earlier layer said about it is taken out first.
"""

from __future__ import annotations

import copy

from greedyexp.config.document import Document
from greedyexp.config.mistakes import Keys


def mentioned(mapping) -> set[str]:
    """The parameters that a mapping fixes or sweeps."""
    if not isinstance(mapping, dict):
        return set()
    names = set(mapping) - {"sweep"}
    sweep = mapping.get("sweep")
    if isinstance(sweep, dict):
        names |= set(sweep) - {"zip"}
        for group in _groups(sweep):
            names |= set(group) if isinstance(group, dict) else set()
    return names


def displace(doc: Document, keys: Keys, names: set[str]) -> None:
    """Take parameters out of the mapping at ``keys``, its sweep and its zips."""
    mapping = doc.get(keys)
    if not isinstance(mapping, dict):
        return
    for name in names & set(mapping):
        doc.remove((*keys, name))
    sweep = mapping.get("sweep")
    if not isinstance(sweep, dict):
        return
    for name in names & set(sweep):
        doc.remove((*keys, "sweep", name))
    if any(isinstance(group, dict) and names & set(group) for group in _groups(sweep)):
        _displace_zipped(doc, (*keys, "sweep", "zip"), names)


def _groups(sweep: dict) -> list:
    groups = sweep.get("zip", [])
    return groups if isinstance(groups, list) else [groups]


def _displace_zipped(doc: Document, keys: Keys, names: set[str]) -> None:
    before = copy.deepcopy(doc)
    groups = before.get(keys)
    paths = [(*keys, index) for index in range(len(groups))] if isinstance(groups, list) else [keys]
    doc.remove(keys)
    kept: list[Keys] = []
    for path in paths:
        group = before.get(path)
        if not isinstance(group, dict) or set(group) - names:
            kept.append(path)
    if not kept:
        return
    doc.get(keys[:-1])["zip"] = [None] * len(kept)
    for index, path in enumerate(kept):
        doc.graft((*keys, index), before, path)
        for name in names:
            doc.remove((*keys, index, name))
