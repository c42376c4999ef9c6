"""The ``where:`` of a claim, a figure or a table: which rows of the results it looks at."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from greedyexp.claims.language import Test, named_in
from greedyexp.claims.setting import Setting
from greedyexp.config.data import COLUMN, Data
from greedyexp.config.model import AlgorithmSpec
from greedyexp.core.errors import did_you_mean
from greedyexp.experiment.messages import show
from greedyexp.experiment.parameters import BadValue, Parameters
from greedyexp.protocols.base import Measured

# A value this near to a swept one, relative to it, is a slip of the pen.
SLIP = 0.02

# Values that a sentence lists; of more it names the nearest.
_LISTED = 12

Values = dict[str, list]
Found = Iterator[tuple[str, str, str]]


@dataclass(frozen=True)
class Choice:
    """What ``where`` can choose from.

    Parameters
    ----------
    data : Data
    setting : Setting
        The algorithms and columns.
    measured : list of Measured
        The columns of the protocol.
    values : dict of str to list
        See ``values_of``.
    elsewhere : callable
        The same for the other profiles of the file.
    """

    data: Data
    setting: Setting
    measured: list[Measured]
    values: Values
    elsewhere: Callable[[], Iterable[Values]] = tuple


def values_of(measured: Iterable[Measured], specs: Iterable[AlgorithmSpec]) -> Values:
    """What keys of the protocol and swept parameters of algorithms can be, as far as is known."""
    values = {one.name: list(one.values) for one in measured if one.values is not None}
    for spec in specs:
        for name, value in spec.swept.items():
            values.setdefault(name, []).append(value)
    return values


def wrong_choices(where: dict, choice: Choice) -> Found:
    """Columns that do not exist and values that the column cannot have.

    A value that is merely absent may belong to another profile; its claim is inconclusive here.

    Yields
    ------
    (column, sentence, remedy)
    """
    data, setting = choice.data, choice.setting
    known = ("algorithm", *data.columns, *setting.columns, *setting.keys)
    for name, wanted in where.items():
        if name not in known:
            yield name, f"there is no column '{name}'.", did_you_mean(name, known)
        elif isinstance(wanted, list) and not wanted:
            yield name, f"no row is chosen: the list for '{name}' is empty.", "Remove it."
        else:
            for value in wanted if isinstance(wanted, list) else [wanted]:
                for message, remedy in _wrong_value(name, value, choice):
                    yield name, message, remedy


def _wrong_value(name: str, value, choice: Choice) -> Iterator[tuple[str, str]]:
    algorithms = choice.setting.algorithms
    if name == "algorithm":
        if value not in algorithms:
            yield (
                f"there is no algorithm '{value}' in the experiment.",
                did_you_mean(str(value), algorithms),
            )
    elif name in choice.data.columns:
        yield from _impossible(name, value, choice.data)
    elif value is not None and name in choice.values:
        possible = choice.values[name]
        if _has(possible, value):
            return
        others = [values.get(name, ()) for values in choice.elsewhere()]
        if not any(_has(values, value) for values in others):
            yield f"no row has {name} = {show(value)}.", _nearest(value, possible)


def _has(values: Iterable, value) -> bool:
    """Whether a value is among others; numbers up to rounding."""
    if not _is_number(value):
        return any(str(one) == str(value) for one in values)
    return any(_is_number(one) and math.isclose(one, value, rel_tol=1e-9) for one in values)


def _is_number(value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _nearest(value, values: list) -> str:
    if len(values) <= _LISTED or not _is_number(value):
        listed = values[:_LISTED]
        told = ", ".join(dict.fromkeys(map(str, listed)))
        return f"It takes: {told}{', ...' if len(values) > _LISTED else ''}." if told else ""
    numbers = [one for one in values if _is_number(one)]
    near = min(numbers, key=lambda one: abs(one - value))
    return f"The nearest is {show(near)}."


def _impossible(name: str, value, data: Data) -> Iterator[tuple[str, str]]:
    """Why a data column cannot have the value: a sentence and a remedy."""
    values = data.values(name)
    if data.listed and name == COLUMN:
        if value not in values:
            missing = f"there are no data '{value}' in the experiment."
            yield missing, did_you_mean(str(value), values)
        return
    refused = None
    for parameters in (Parameters(block.generator) for block in data.blocks):
        if name not in parameters.names:
            continue
        try:
            value, refused = parameters.read(name, value), None
            break
        except BadValue as error:
            _, *refused = error.found[0]
    if refused is not None:
        yield tuple(refused)
        return
    if value in values or not _is_number(value):
        return
    numbers = [one for one in values if _is_number(one)]
    near = min(numbers, key=lambda other: abs(other - value), default=None)
    if near is not None and abs(near - value) <= SLIP * abs(near):
        yield f"no point has {name} = {show(value)}.", f"Did you mean {show(near)}?"


def empty_choice(where: dict, test: Test, choice: Choice) -> Found:
    """Why no row that is chosen can tell anything of a test; nothing when one can.

    Yields
    ------
    (column, sentence, remedy)
    """
    labels, columns = named_in(test)
    chosen = _lists(where)
    for label in labels if "algorithm" in where else ():
        if label not in chosen["algorithm"]:
            yield (
                "algorithm",
                f"the test names '{label}', whose rows are not chosen.",
                f"Add '{label}' to the list, or remove 'algorithm'.",
            )
    yield from untold(where, columns, choice)


def untold(where: dict, columns: Collection[str], choice: Choice) -> Found:
    """The first column that no row which is chosen has beside the others; nothing when all have.

    Yields
    ------
    (column of ``where``, sentence, remedy)
    """
    chosen = _lists(where)
    known = {one.name: one for one in choice.measured}
    asked = [name for name, values in chosen.items() if name in known and None not in values]
    met: dict[str, set] = {name: set(chosen[name]) for name in asked if not known[name].only}
    by = {name: f"the rows with {name} = {_listed(chosen[name])}" for name in met}
    for name in dict.fromkeys([*asked, *sorted(known.keys() & columns)]):
        for key, values in known[name].only.items():
            left = met.get(key, set(values)) & set(values)
            if not left:
                yield (
                    key if key in where else next(iter(where), ""),
                    f"{by[key]} have no {name}.",
                    f"{name} is in those with {key} = {_listed(values)}.",
                )
                return
            by.setdefault(key, f"the rows with {name}")
            met[key] = left


def _lists(where: dict) -> Values:
    return {name: value if isinstance(value, list) else [value] for name, value in where.items()}


def _listed(values: Iterable) -> str:
    return " or ".join(map(str, values))
