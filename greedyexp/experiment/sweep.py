"""Sweeps: their axes, and ranges ``{from, to, num | step, scale}``.

Ranges are computed in decimal arithmetic: ``{from: 0.4, to: 4.4, step: 0.2}`` has the numbers that
a user would type (0.6, not 0.6000000000000001), so seeds do not depend on how a value was written.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from typing import Any

from greedyexp.core.errors import did_you_mean
from greedyexp.experiment.messages import Keys, show
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


def zip_groups(sweep: Mapping[str, Any]) -> list[Any]:
    """Return the groups of ``zip:``, which is one mapping or a list of them."""
    groups = sweep.get("zip", [])
    return groups if isinstance(groups, list) else [groups]


def names_in(mapping: Any) -> set[str]:
    """Return the parameters that a mapping fixes or sweeps."""
    if not isinstance(mapping, dict):
        return set()
    sweep = mapping.get("sweep")
    swept = axes_of(sweep) if isinstance(sweep, dict) else ()
    return set(mapping).union(*swept) - {"sweep"}


def columns_of_axes(sweep: Mapping[str, Any]) -> list[Any]:
    """Return parameter -> values of each axis; a zip has several parameters."""
    axes: list[Any] = []
    for name, value in sweep.items():
        axes += zip_groups(sweep) if name == "zip" else [{name: value}]
    return axes


def axes_of(sweep: Mapping[str, Any] | None) -> Axes:
    """Return the parameters of each axis of a ``sweep:`` mapping."""
    groups = columns_of_axes(sweep or {})
    return tuple(tuple(group) for group in groups if isinstance(group, Mapping))


def values_of_sweep(sweep: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return every combination of the values of a sweep without checking their types.

    Returns
    -------
    list of dict
        Parameter -> value; empty if the sweep is damaged or has very many combinations.
    """
    axes: list[list[dict[str, Any]]] = []
    try:
        for group in columns_of_axes(sweep):
            columns = {key: _listed(column, key) for key, column in group.items()}
            rows = zip(*columns.values(), strict=True)
            axes.append([dict(zip(columns, row, strict=True)) for row in rows])
    except (BadValue, AttributeError, TypeError, ValueError):
        return []
    if math.prod(map(len, axes)) > _MOST_STEPS:
        return []
    return [
        {name: value for step in steps for name, value in step.items()}
        for steps in itertools.product(*axes)
    ]


def _listed(column: Any, name: str) -> list[Any]:
    """Return the values of a list or a range."""
    if not isinstance(column, Mapping):
        return list(column)
    values = read_range(dict(column), name)
    return list(values) if values.count <= _MOST_STEPS else []
