"""The algorithms of the table that the sweeps of an entry make, and their labels."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_jsonable_python

from greedyexp.core.registry import lookup
from greedyexp.experiment.parameters import BadValue, Parameters
from greedyexp.experiment.settings import Entry
from greedyexp.experiment.sweep import values_of_sweep


@dataclass(frozen=True)
class Variant:
    """One algorithm of the table: an entry with one value of each swept parameter.

    Parameters
    ----------
    entry : str
        Label of the entry.
    swept : tuple of str
        Swept parameters of the entry.
    suffix : str
        The part of its label after that of the entry, such as `` (lam=0.1)``.
    """

    entry: str
    swept: tuple[str, ...] = ()
    suffix: str = ""

    @property
    def label(self) -> str:
        """Value of the algorithm in the column ``algorithm``."""
        return self.entry + self.suffix


def variant_of(entry: str, swept: Mapping[str, Any]) -> Variant:
    """Return the variant with these values of the swept parameters, in the order of its label."""
    values = ", ".join(f"{name}={_value_text(value)}" for name, value in swept.items())
    return Variant(entry, tuple(swept), f" ({values})" if values else "")


def _value_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(to_jsonable_python(value))


def variants_of(entry: Entry) -> list[Variant] | None:
    """Return the algorithms of an entry.

    Return None if the registered algorithm does not have the values of the sweep, or there is none.
    """
    if not entry.settings.get("sweep"):
        return [Variant(entry.label)]
    part = lookup("algorithm", entry.name)
    # Without the code of a plugin, the types of its parameters are not known.
    if part is None or part.stands_in:
        return None
    parameters = Parameters(part)
    try:
        return [
            variant_of(
                entry.label,
                {n: parameters.read(n, swept[n]) for n in parameters.names if n in swept},
            )
            for swept in values_of_sweep(entry.settings["sweep"])
        ]
    except BadValue:
        return None


def variant_in(entries: Sequence[Entry], label: str) -> Variant:
    """Return the variant of a label whose algorithm is no longer registered as it was.

    It belongs to the entry with whose label it begins. An unknown label is treated as an entry.
    """
    for entry in sorted(entries, key=lambda entry: len(entry.label), reverse=True):
        suffix = label.removeprefix(entry.label)
        if entry.axes and label != suffix and suffix.startswith(" ("):
            return Variant(entry.label, tuple(name for axis in entry.axes for name in axis), suffix)
    return Variant(label)
