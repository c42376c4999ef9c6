"""The rows that claims, figures and tables choose, checked before a run."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from greedyexp.claims.setting import Setting
from greedyexp.config.algorithms import Algorithms
from greedyexp.config.data import Data
from greedyexp.core.errors import did_you_mean
from greedyexp.experiment.design import DATA_COLUMN
from greedyexp.experiment.messages import Keys, listing, show
from greedyexp.experiment.model import AlgorithmSpec
from greedyexp.experiment.parameters import BadValue, Parameters, is_number, same_value
from greedyexp.protocols.base import Measured
from greedyexp.results.records import as_list

# A value within this relative distance of a swept one is treated as a typing error.
_SLIP = 0.02

Values = Mapping[str, list[Any]]
# Keys of the wrong setting, message and remedy.
Mistakes = Iterator[tuple[Keys, str, str]]


@dataclass(frozen=True)
class Choice:
    """The rows and columns that claims, figures and tables may name.

    Parameters
    ----------
    data : Data
    algorithms : Algorithms
    setting : Setting
        The names that tests of claims may use.
    measured : list of Measured
        The columns of the protocol.
    columns : set of str
        All columns of the CSV.
    elsewhere : callable
        Returns the values of ``values_of`` for the other profiles of the file.
    """

    data: Data
    algorithms: Algorithms
    setting: Setting
    measured: list[Measured]
    columns: set[str]
    elsewhere: Callable[[], Iterable[Values]]

    @cached_property
    def values(self) -> Values:
        """The values that ``values_of`` returns."""
        return values_of(self.measured, self.algorithms.specs)

    @property
    def known(self) -> set[str]:
        """The columns whose values are known before the run, except ``algorithm``."""
        return {*self.data.columns, *self.setting.columns, *self.setting.keys}


def values_of(measured: Iterable[Measured], specs: Iterable[AlgorithmSpec]) -> Values:
    """Return the known values of keys of the protocol and of swept parameters of algorithms."""
    values = {one.name: list(one.values) for one in measured if one.values is not None}
    for spec in specs:
        for name, value in spec.swept.items():
            values.setdefault(name, []).append(value)
    return values


def below(keys: Keys, mistakes: Iterable[tuple[Keys, str, str]]) -> Mistakes:
    """Yield mistakes with ``keys`` placed before their own keys."""
    for inner, message, remedy in mistakes:
        yield (*keys, *inner), message, remedy


def wrong_choices(where: Mapping[str, Any], choice: Choice) -> Mistakes:
    """Yield columns that do not exist and values that a column cannot have.

    A possible value of the data that this profile lacks is accepted; its claim is inconclusive.
    """
    known = {"algorithm", *choice.known}
    for name, wanted in where.items():
        if name not in known:
            yield (name,), f"there is no column '{name}'.", did_you_mean(name, known)
        elif wanted == []:
            yield (name,), f"no row is chosen: the list for '{name}' is empty.", "Remove it."
        else:
            for value in as_list(wanted):
                for message, remedy in _wrong_value(name, value, choice):
                    yield (name,), message, remedy


def _wrong_value(name: str, value: Any, choice: Choice) -> Iterator[tuple[str, str]]:
    labels = {"algorithm": ("is no algorithm", [*choice.setting.algorithms])}
    if choice.data.listed:
        labels[DATA_COLUMN] = ("are no data", choice.data.values(DATA_COLUMN))
    if name in labels:
        what, known = labels[name]
        if value not in known:
            yield f"there {what} '{value}' in the experiment.", did_you_mean(str(value), known)
    elif name in choice.data.columns:
        yield from _wrong_parameter(name, value, choice.data)
    elif value is not None and name in choice.values:
        profiles = itertools.chain([choice.values], choice.elsewhere())
        if not any(_among(value, values.get(name, [])) for values in profiles):
            yield f"no row has {name} = {show(value)}.", listing(choice.values[name], value)


def _among(value: Any, values: Iterable[Any]) -> bool:
    return any(same_value(one, value) or str(one) == str(value) for one in values)


def _wrong_parameter(name: str, value: Any, data: Data) -> Iterator[tuple[str, str]]:
    """Yield an error if no generator of the data accepts a value of a parameter."""
    values, refused = data.values(name), None
    for parameters in (Parameters(block.generator) for block in data.blocks):
        if name not in parameters.names:
            continue
        try:
            value, refused = parameters.read(name, value), None
            break
        except BadValue as error:
            refused = error.found[0][1:]
    if refused is not None:
        yield refused
    elif value not in values and is_number(value):
        numbers = [one for one in values if is_number(one)]
        near = min(numbers, key=lambda other: abs(other - value), default=None)
        if near is not None and abs(near - value) <= _SLIP * abs(near):
            yield f"no point has {name} = {show(value)}.", f"Did you mean {show(near)}?"


def absent(where: Mapping[str, Any], columns: Collection[str], choice: Choice) -> Mistakes:
    """Yield an error for the first column that no chosen row has together with the others."""
    wanted = {name: as_list(value) for name, value in where.items()}
    known = {one.name: one for one in choice.measured}
    asked = [name for name, values in wanted.items() if name in known and None not in values]
    left = {name: set(wanted[name]) for name in asked if not known[name].only}
    rows = {name: f"the rows with {name} = {_alternatives(wanted[name])}" for name in left}
    for name in dict.fromkeys([*asked, *sorted(known.keys() & columns)]):
        for key, values in known[name].only.items():
            both = left.get(key, set(values)) & set(values)
            if not both:
                yield (
                    (key if key in where else next(iter(where), ""),),
                    f"{rows[key]} have no {name}.",
                    f"{name} is in those with {key} = {_alternatives(values)}.",
                )
                return
            rows.setdefault(key, f"the rows with {name}")
            left[key] = both


def _alternatives(values: Iterable[Any]) -> str:
    return " or ".join(map(str, values))
