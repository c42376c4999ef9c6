"""Checks that hold for any part: functions of plugins, impossible points, too many rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from greedyexp.config.document import Node, Place
from greedyexp.core.errors import PluginError, UserError
from greedyexp.core.part import Part
from greedyexp.experiment.messages import show

# Maximum number of rows of an experiment.
_MAX_ROWS = 10_000_000


def check_size(node: Node, points: int, trials: int, algorithms: int | None = None) -> bool:
    """Report too many replicates, or rows if ``algorithms`` is given; return False if so."""
    if points * trials * (1 if algorithms is None else algorithms) > _MAX_ROWS:
        also, made = "", "replicates"
        if algorithms is not None:
            also, made = f", {algorithms} algorithm(s)", "rows"
        node.add(
            f"{points} point(s), {trials} trial(s){also} make more than {_MAX_ROWS} {made}.",
            "Sweep fewer values or lower trials.",
        )
        return False
    return True


def describe(point: Mapping[str, Any], names: Iterable[str]) -> str:
    """Return ``p = 64, s = 6``: a point by the parameters that distinguish it."""
    return ", ".join(f"{name} = {show(point[name])}" for name in names)


@contextmanager
def guarded(function: str, part: Part, place: Place) -> Iterator[None]:
    """Turn exceptions of a function that a part declares into errors of its plugin.

    Raises
    ------
    PluginError
        If the function raises anything but a ``UserError``. A ``UserError`` is raised again with
        the place.
    """
    try:
        yield
    except UserError as error:
        error.place = error.place or str(place)
        raise
    except Exception as error:
        raise PluginError(
            f"the {function} of {part.kind} '{part.name}' raised {type(error).__name__}: {error}.",
            place=str(place),
        ) from error


def refusal(
    message: str,
    check: Callable[[Any], None],
    cases: Iterable[tuple[dict[str, Any], int, Any]],
    names: Iterable[str] = (),
    total: int = 1,
) -> str | None:
    """Return a message about the first impossible point and the number of others, or None.

    Parameters
    ----------
    message : str
        Start of the sentence, such as ``impossible data``.
    check : callable
        Raises ``ValueError`` with a sentence for an impossible argument.
    cases : iterable of (point, count, argument)
        The first of ``count`` points with the same argument.
    names : iterable of str
        Parameters that distinguish points.
    total : int
        Number of points of the sweep.
    """
    first, text, affected = None, "", 0
    for point, count, argument in cases:
        try:
            check(argument)
        except ValueError as error:
            if first is None:
                first, text = point, str(error).rstrip(".")
            affected += count
    if first is None:
        return None
    at = describe(first, names)
    where = f" at {at}" if at else ""
    more = affected - 1
    others = f" ({more} more of the {total} points are impossible.)" if more else ""
    return f"{message}{where}: {text}.{others}"
