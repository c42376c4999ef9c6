"""Entries of ``algorithms`` and the algorithms of the table that their sweeps make."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_jsonable_python

from greedyexp.core.registry import lookup
from greedyexp.experiment.parameters import BadValue, Parameters
from greedyexp.experiment.sweep import Axes, axes_of, values_of_sweep

# Other spellings of labels are tried for sweeps of at most this many algorithms.
_MOST_SPELLINGS = 10_000


@dataclass(frozen=True)
class Entry:
    """An entry of ``algorithms``.

    Parameters
    ----------
    name : str
        Registered name of the algorithm.
    label : str
        Label of the entry; the name by default.
    sweep : mapping
        Parameter -> values or range, and ``zip``; empty without a sweep.
    """

    name: str
    label: str
    sweep: Mapping[str, Any]

    @property
    def axes(self) -> Axes:
        """The swept parameters; the parameters of a zip form one axis."""
        return axes_of(self.sweep)


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


def variants_of(entries: Sequence[Entry]) -> dict[str, Variant]:
    """Return the algorithms of the table by their label.

    If an algorithm is no longer registered or its parameters have changed, a variant is listed
    under every spelling that its label may have in the table.
    """
    variants: dict[str, Variant] = {}
    for entry in entries:
        if not entry.sweep:
            variants.setdefault(entry.label, Variant(entry.label))
    for spellings in (_exact, _other_spellings):
        for entry in entries:
            for swept in spellings(entry) if entry.sweep else ():
                variant = variant_of(entry.label, swept)
                variants.setdefault(variant.label, variant)
    return variants


def _exact(entry: Entry) -> Iterator[dict[str, Any]]:
    """Yield the swept values as the registered algorithm reads them."""
    known = lookup("algorithm", entry.name)
    if known is None:
        return
    parameters = Parameters(known)
    for swept in values_of_sweep(entry.sweep):
        try:
            yield {
                name: parameters.read(name, swept[name])
                for name in parameters.names
                if name in swept
            }
        except BadValue:
            return


def _other_spellings(entry: Entry) -> Iterator[dict[str, Any]]:
    """Yield the swept values as they may have been read when the run was made."""
    steps = values_of_sweep(entry.sweep)
    orders: Sequence[tuple[str, ...]] = [tuple(steps[0])] if steps else []
    known = lookup("algorithm", entry.name)
    if known is not None and steps and steps[0].keys() <= known.parameters.model_fields.keys():
        orders = [tuple(name for name in known.parameters.model_fields if name in steps[0])]
    elif steps and len(steps) * math.factorial(len(steps[0])) <= _MOST_SPELLINGS:
        orders = list(itertools.permutations(steps[0]))
    for swept, order in itertools.product(steps, orders):
        alternatives = [_spellings(swept[name]) for name in order]
        for values in itertools.product(*alternatives):
            yield dict(zip(order, values, strict=True))


def _spellings(value: Any) -> list[Any]:
    """Return a value as written and, of a whole number, as a float."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return [value, float(value)] if whole else [value]
