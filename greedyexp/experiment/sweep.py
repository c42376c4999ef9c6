"""Sweeps: their axes, and ranges ``{from, to, num | step, scale}``.

Ranges are computed in decimal arithmetic: ``{from: 0.4, to: 4.4, step: 0.2}`` has the numbers that
a user would type (0.6, not 0.6000000000000001), so seeds do not depend on how a value was written.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from typing import Any, NamedTuple

from greedyexp.core.errors import did_you_mean
from greedyexp.core.part import Part
from greedyexp.experiment.messages import Keys, Mistake, below, dotted, show
from greedyexp.experiment.parameters import BadValue

Axes = tuple[tuple[str, ...], ...]

# Maximum number of combinations that ``values_of_sweep`` returns.
_MOST_STEPS = 100_000

_RANGE_KEYS = ("from", "to", "num", "step", "scale")
_LOG_DIGITS = 12


@dataclass(frozen=True)
class Range:
    """``count`` values from ``start`` to at most ``stop``.

    Parameters
    ----------
    start, stop : Decimal
        First value, and upper limit of the last.
    count : int, >= 1
        Number of values.
    step : Decimal or None
        Distance between values; None to divide the interval evenly.
    log : bool
        True if the values are spaced geometrically, rounded to 12 significant digits.
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
        return Context(prec=_LOG_DIGITS).plus(self.start * ratio.exp())


def _number(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)


class Axis(NamedTuple):
    """Parameters that vary together.

    Parameters
    ----------
    keys : tuple of str or int
        Key path of the mapping with their values.
    columns : dict of str to list or Range
        The values of each parameter as written, all of the same length.
    """

    keys: Keys
    columns: dict[str, list[Any] | Range]

    @property
    def size(self) -> int:
        """Number of steps, found without computing the values."""
        return count_of(next(iter(self.columns.values())))


def is_range(value: Any) -> bool:
    """Return True for a YAML value that looks like a range."""
    return isinstance(value, dict) and bool({"from", "to"} & value.keys())


def read_range(value: dict[str, Any], name: str) -> Range:
    """Return the range of a YAML mapping.

    Parameters
    ----------
    value : dict
        ``from``, ``to``, one of ``num`` and ``step``, and ``scale`` (linear or log).
    name : str
        Name of the parameter, for messages.

    Raises
    ------
    BadValue
        If keys are unknown or missing, or the range is empty.
    """
    for key in value:
        if key not in _RANGE_KEYS:
            raise _bad(f"a range has no key '{key}'.", did_you_mean(key, _RANGE_KEYS), keys=(key,))
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


def _divided(start: Decimal, stop: Decimal, num: Any, log: bool, name: str) -> Range:
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


def _decimal(value: Any, key: str, name: str) -> Decimal:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        number = Decimal(value if isinstance(value, int) else repr(value))
        if number.is_finite():
            return number
    raise _bad(f"'{key}' of {name} must be a number, but is {show(value)}.", keys=(key,))


def _bad(message: str, remedy: str = "", *, keys: Keys = ()) -> BadValue:
    return BadValue([(keys, message, remedy)])


def _groups(sweep: Any, keys: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    """Yield the parameters that vary together, each with the keys of their mapping."""
    for name, value in sweep.items() if isinstance(sweep, Mapping) else ():
        if name != "zip":
            yield keys, {name: value}
        elif isinstance(value, list):
            yield from (((*keys, "zip", index), group) for index, group in enumerate(value))
        else:
            yield (*keys, "zip"), value


def columns_of_axes(sweep: Any) -> list[Mapping[str, Any]]:
    """Return parameter -> values as written of each axis; a zip has several parameters."""
    return [group for _, group in _groups(sweep) if isinstance(group, Mapping)]


def axes_of(sweep: Any) -> Axes:
    """Return the parameters of each axis of a ``sweep:`` mapping."""
    return tuple(map(tuple, columns_of_axes(sweep)))


def names_in(mapping: Any) -> set[str]:
    """Return the parameters that a mapping fixes or sweeps."""
    if not isinstance(mapping, dict):
        return set()
    return set(mapping).union(*axes_of(mapping.get("sweep"))) - {"sweep"}


def read_sweep(sweep: Any, part: Part | None = None) -> tuple[list[Axis], list[Mistake]]:
    """Return the axes of a ``sweep:``, and its mistakes.

    The values are neither computed nor read.

    Parameters
    ----------
    sweep : object
        The value as written; None if there is none.
    part : Part, optional
        The part whose parameters are swept. If None, any name is accepted.
    """
    keys: Keys = ("sweep",)
    if not isinstance(sweep, Mapping):
        wrong = (keys, f"sweep must be a mapping, but is {show(sweep)}.", "")
        return [], [] if sweep is None else [wrong]
    axes: list[Axis] = []
    found: list[Mistake] = []
    seen: set[str] = set()
    for where, group in _groups(sweep, keys):
        if not isinstance(group, Mapping) or not group:
            message = f"zip must map parameters to lists, but is {show(group)}."
            found.append((where, message, ""))
            continue
        columns: dict[str, list[Any] | Range] = {}
        for name, value in group.items():
            here = (*where, name)
            try:
                columns[name] = _column(name, value, part)
            except BadValue as error:
                found += below(here, error.found)
            if name in seen:
                found.append((here, f"{name} is swept twice (see {dotted(here)}).", "Keep one."))
            seen.add(name)
        counts = [f"{name} has {count_of(column)}" for name, column in columns.items()]
        if len({count_of(column) for column in columns.values()}) > 1:
            message = f"the lists below zip must have equal lengths, but {', '.join(counts)}."
            found.append((where, message, ""))
        elif len(columns) == len(group):
            axes.append(Axis(where, columns))
    if sweep.get("zip") == []:
        found.append(((*keys, "zip"), "zip is empty.", ""))
    return axes, found


def count_of(column: list[Any] | Range) -> int:
    """Return the number of values, without computing them."""
    return column.count if isinstance(column, Range) else len(column)


def _column(name: str, value: Any, part: Part | None) -> list[Any] | Range:
    known = part.parameters.model_fields if part else {name}
    if part and name not in known:
        message = f"{part.kind} '{part.name}' has no parameter '{name}' to sweep."
        raise _bad(message, did_you_mean(name, known))
    if isinstance(value, Mapping):
        return read_range(dict(value), name)
    if not isinstance(value, list):
        raise _bad(
            f"the sweep of {name} must be a list or a range, but is {show(value)}.",
            f"For one value move {name} out of the sweep.",
        )
    if not value:
        raise _bad(f"the sweep of {name} is empty.")
    return value


def rows_of(columns: Sequence[Mapping[str, Iterable[Any]]]) -> list[dict[str, Any]]:
    """Return every combination of the steps of axes, each given as parameter -> values."""
    axes = [
        [dict(zip(axis, row, strict=True)) for row in zip(*axis.values(), strict=True)]
        for axis in columns
    ]
    return [
        {name: value for step in steps for name, value in step.items()}
        for steps in itertools.product(*axes)
    ]


def values_of_sweep(sweep: Any) -> list[dict[str, Any]]:
    """Return every combination of the values of a sweep without checking their types.

    Returns
    -------
    list of dict
        Parameter -> value; empty if the sweep is damaged or has very many combinations.
    """
    axes, wrong = read_sweep(sweep)
    if wrong or math.prod(axis.size for axis in axes) > _MOST_STEPS:
        return []
    return rows_of([axis.columns for axis in axes])


def values_by_name(sweep: Any) -> dict[str, list[Any]]:
    """Return the values of each swept parameter; none if the sweep is damaged or very long."""
    axes, wrong = read_sweep(sweep)
    columns = [] if wrong else [pair for axis in axes for pair in axis.columns.items()]
    return {name: list(each) if count_of(each) <= _MOST_STEPS else [] for name, each in columns}
