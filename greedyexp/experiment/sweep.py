"""The sweep grammar: grids of lists and ranges, and zips of lists that go together.

Ranges are computed in decimal arithmetic, so that ``{from: 0.4, to: 4.4, step: 0.2}`` holds the
very numbers a user would type (0.6, not 0.6000000000000001) and a seed derived from a value does
not depend on how the value was written.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal, localcontext

from greedyexp.errors import did_you_mean
from greedyexp.experiment.document import Document
from greedyexp.experiment.mistakes import Keys, Mistakes, dotted
from greedyexp.experiment.parameters import BadValue, Parameters
from greedyexp.experiment.sentences import show

RANGE_KEYS = ("from", "to", "num", "step", "scale")
LOG_DIGITS = 12


@dataclass(frozen=True)
class Range:
    """``count`` values from ``start`` to ``stop``, both included when the step allows.

    Parameters
    ----------
    start, stop : Decimal
        The ends.
    count : int, >= 1
        Number of values.
    step : Decimal or None
        Distance of linear values; None to divide the interval evenly.
    log : bool
        Whether the values are spaced geometrically, rounded to 12 significant digits.
    """

    start: Decimal
    stop: Decimal
    count: int
    step: Decimal | None = None
    log: bool = False

    def __iter__(self) -> Iterator[int | float]:
        with localcontext(Context(prec=40)):
            return iter([_number(self._value(index)) for index in range(self.count)])

    def _value(self, index: int) -> Decimal:
        if self.step is not None:
            return self.start + index * self.step
        last = self.count - 1
        if index in (0, last):
            return self.stop if index else self.start
        if not self.log:
            return self.start + (self.stop - self.start) * index / last
        ratio = (self.stop / self.start).ln() * index / last
        return Context(prec=LOG_DIGITS).plus(self.start * ratio.exp())


def _number(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)


def is_range(value) -> bool:
    """Whether a YAML value looks like a range."""
    return isinstance(value, dict) and bool({"from", "to"} & value.keys())


def read_range(value: dict, name: str) -> Range:
    """A range from its YAML mapping.

    Parameters
    ----------
    value : dict
        ``from``, ``to``, one of ``num`` and ``step``, and ``scale`` (linear or log).
    name : str
        The parameter, for sentences.

    Raises
    ------
    BadValue
        When keys are unknown or missing, or the range is empty.
    """
    for key in value:
        if key not in RANGE_KEYS:
            raise _bad(f"a range has no key '{key}'.", did_you_mean(key, RANGE_KEYS), keys=(key,))
    for key in ("from", "to"):
        if key not in value:
            raise _bad(f"the range of {name} lacks '{key}'.")
    start, stop = (_decimal(value[key], key, name) for key in ("from", "to"))
    scale = value.get("scale", "linear")
    if scale not in ("linear", "log"):
        raise _bad(f"the scale of a range is linear or log, not {show(scale)}.", keys=("scale",))
    if ("num" in value) == ("step" in value):
        raise _bad(f"the range of {name} needs either num or step.")
    if start > stop:
        raise _bad(f"the range of {name} is empty: from {start} is more than to {stop}.")
    if scale == "log" and "step" in value:
        raise _bad("a log range takes num, not step.", keys=("step",))
    if scale == "log" and start <= 0:
        raise _bad(f"a log range starts above 0, not at {start}.", keys=("from",))
    if "step" in value:
        return _stepped(start, stop, _decimal(value["step"], "step", name), name)
    return _divided(start, stop, value["num"], scale == "log", name)


def _stepped(start: Decimal, stop: Decimal, step: Decimal, name: str) -> Range:
    if step <= 0:
        raise _bad(f"the step of {name} must be more than 0, but is {step}.", keys=("step",))
    with localcontext(Context(prec=40)):
        count = int(((stop - start) / step).to_integral_value(ROUND_FLOOR)) + 1
    return Range(start, stop, count, step=step)


def _divided(start: Decimal, stop: Decimal, num, log: bool, name: str) -> Range:
    if isinstance(num, float) and num.is_integer():
        num = int(num)
    if isinstance(num, bool) or not isinstance(num, int) or num < 1:
        raise _bad(
            f"num of {name} must be a whole number of at least 1, but is {show(num)}.",
            keys=("num",),
        )
    if (num == 1) != (start == stop):
        raise _bad(
            f"num of {name} is {num}, but from and to are {'equal' if num > 1 else 'different'}.",
            keys=("num",),
        )
    return Range(start, stop, num, log=log)


def _decimal(value, key: str, name: str) -> Decimal:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        number = Decimal(value if isinstance(value, int) else repr(value))
        if number.is_finite():
            return number
    raise _bad(f"'{key}' of {name} must be a number, but is {show(value)}.", keys=(key,))


def _bad(message: str, remedy: str = "", *, keys: Keys = ()) -> BadValue:
    return BadValue([(keys, message, remedy)])


@dataclass
class Axis:
    """Parameters that move together, and the values they take.

    Parameters
    ----------
    names : tuple of str
        One parameter, or those of one zip.
    columns : tuple of list or Range
        The values of each, as written; all of one length.
    keys : tuple of key path
        Where each column was written.
    """

    names: tuple[str, ...]
    columns: tuple[list | Range, ...]
    keys: tuple[Keys, ...]

    @property
    def count(self) -> int:
        """Number of steps; known without making the values."""
        return _count(self.columns[0])

    def rows(self, parameters: Parameters, doc: Document, mistakes: Mistakes) -> list[tuple]:
        """The validated values, one tuple for each step of the axis."""
        columns = []
        for name, column, keys in zip(self.names, self.columns, self.keys, strict=True):
            values = []
            for index, value in enumerate(column):
                here = keys if isinstance(column, Range) else (*keys, index)
                try:
                    values.append(parameters.read(name, value))
                except BadValue as error:
                    for inner, message, remedy in error.found:
                        mistakes.add(doc.place((*here, *inner)), message, remedy)
            columns.append(values)
        if len({len(column) for column in columns}) > 1:
            return []
        rows = list(zip(*columns, strict=True))
        self._refuse_twins(rows, doc, mistakes)
        return rows

    def _refuse_twins(self, rows: list[tuple], doc: Document, mistakes: Mistakes) -> None:
        seen = set()
        for index, row in enumerate(rows):
            key = sort_key(row)
            if key in seen:
                names = " and ".join(self.names)
                value = " and ".join(show(item) for item in row)
                mistakes.add(
                    doc.place((*self.keys[0], index)), f"the sweep of {names} has {value} twice."
                )
            seen.add(key)


def read_axes(
    sweep, keys: Keys, parameters: Parameters, doc: Document, mistakes: Mistakes
) -> list[Axis]:
    """The axes of a ``sweep:`` mapping.

    Parameters
    ----------
    sweep : object
        Parameter -> list or range, and ``zip`` -> one such mapping or a list of them.
    keys : key path
        Where the sweep stands in the document.
    """
    if sweep is None:
        return []
    if not isinstance(sweep, dict):
        mistakes.add(doc.place(keys), f"sweep must be a mapping, but is {show(sweep)}.")
        return []
    axes = []
    for name, value in sweep.items():
        here = (*keys, name)
        if name == "zip":
            groups = value if isinstance(value, list) else [value]
            for index, group in enumerate(groups):
                where = (*here, index) if isinstance(value, list) else here
                axes += _zip(group, where, parameters, doc, mistakes)
            if not groups:
                mistakes.add(doc.place(here), "zip lists nothing to sweep.")
        elif _known(name, here, parameters, doc, mistakes):
            column = _column(name, value, here, doc, mistakes)
            if column is not None:
                axes.append(Axis((name,), (column,), (here,)))
    _refuse_overlap(axes, doc, mistakes)
    return axes


def _zip(
    group, keys: Keys, parameters: Parameters, doc: Document, mistakes: Mistakes
) -> list[Axis]:
    if not isinstance(group, dict) or not group:
        mistakes.add(
            doc.place(keys), f"zip takes parameters with their lists, but is {show(group)}."
        )
        return []
    columns = {}
    for name, value in group.items():
        here = (*keys, name)
        if _known(name, here, parameters, doc, mistakes):
            columns[name] = _column(name, value, here, doc, mistakes)
    if len(columns) < len(group) or any(column is None for column in columns.values()):
        return []
    lengths = {name: _count(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} has {count}" for name, count in lengths.items())
        mistakes.add(doc.place(keys), f"zip pairs lists of equal length, but {told}.")
        return []
    paths = tuple((*keys, name) for name in columns)
    return [Axis(tuple(columns), tuple(columns.values()), paths)]


def _count(column: list | Range) -> int:
    return column.count if isinstance(column, Range) else len(column)


def _known(
    name: str, keys: Keys, parameters: Parameters, doc: Document, mistakes: Mistakes
) -> bool:
    if name in parameters.names:
        return True
    part = parameters.part
    mistakes.add(
        doc.place(keys),
        f"{part.kind} '{part.name}' has no parameter '{name}' to sweep.",
        did_you_mean(name, parameters.names),
    )
    return False


def _column(name: str, value, keys: Keys, doc: Document, mistakes: Mistakes) -> list | Range | None:
    """The values written for one swept parameter, or None after noting a mistake."""
    if isinstance(value, list):
        if not value:
            mistakes.add(doc.place(keys), f"the sweep of {name} is empty.")
        return value or None
    if isinstance(value, dict):
        try:
            return read_range(value, name)
        except BadValue as error:
            for inner, message, remedy in error.found:
                mistakes.add(doc.place((*keys, *inner)), message, remedy)
            return None
    mistakes.add(
        doc.place(keys),
        f"the sweep of {name} must be a list or a range, but is {show(value)}.",
        f"For one value move {name} out of the sweep.",
    )
    return None


def _refuse_overlap(axes: list[Axis], doc: Document, mistakes: Mistakes) -> None:
    seen: set[str] = set()
    for axis in axes:
        for name, keys in zip(axis.names, axis.keys, strict=True):
            if name in seen:
                mistakes.add(
                    doc.place(keys), f"{name} is swept twice (see {dotted(keys)}).", "Keep one."
                )
            seen.add(name)


def combinations(axes: list[Axis], rows: list[list[tuple]]) -> Iterator[dict]:
    """Every combination of the axes' rows, as mappings from parameter to value."""
    names = [name for axis in axes for name in axis.names]
    for choice in itertools.product(*rows):
        yield dict(zip(names, itertools.chain.from_iterable(choice), strict=True))


def size(axes: list[Axis]) -> int:
    """How many combinations there are, without making them."""
    return math.prod(axis.count for axis in axes)


def sort_key(value) -> tuple:
    """A key that orders values of any YAML type: empty, numbers, texts, lists, mappings."""
    if value is None:
        return (0,)
    if isinstance(value, (bool, int, float)):
        return (1, value)
    if isinstance(value, str):
        return (2, value)
    if isinstance(value, (list, tuple)):
        return (3, tuple(sort_key(item) for item in value))
    return (4, json.dumps(value, sort_keys=True, default=str))
