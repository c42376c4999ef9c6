"""Asking parts what is possible at the points of a sweep, and telling what they refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from greedyexp.config.mistakes import Place
from greedyexp.core.errors import PluginError, UserError
from greedyexp.core.parts import Part
from greedyexp.experiment.messages import show


def describe(point: dict, names: Iterable[str]) -> str:
    """``p = 64, s = 6``: the point by the parameters that tell it from others."""
    return ", ".join(f"{name} = {show(point[name])}" for name in names)


@contextmanager
def guarded(what: str, part: Part, place: Place) -> Iterator[None]:
    """Report what a function given at registration raises as a mistake of its author.

    Raises
    ------
    PluginError
        Instead of any exception but one that a user can mend, which gets the place.
    """
    try:
        yield
    except UserError as error:
        error.place = error.place or str(place)
        raise
    except Exception as error:
        raise PluginError(
            f"the {what} of {part.kind} '{part.name}' raised {type(error).__name__}: {error}.",
            place=str(place),
        ) from error


def refusal(
    what: str,
    ask: Callable[[object], None],
    cases: Iterable[tuple[dict, int, object]],
    names: Iterable[str],
    total: int,
) -> str | None:
    """The first refusal in a sentence, with the number of further points; None without one.

    Parameters
    ----------
    what : str
        What is impossible, such as ``impossible data``.
    ask : callable
        Raises ``ValueError`` with a sentence for the impossible.
    cases : iterable of (point, count, subject)
        The first of ``count`` points that ask the same, and what to ask of.
    names : iterable of str
        Parameters that tell a point from others.
    total : int
        Points of the sweep.
    """
    first, text, affected = None, "", 0
    for point, count, subject in cases:
        try:
            ask(subject)
        except ValueError as error:
            if first is None:
                first, text = point, str(error).rstrip(".")
            affected += count
    if first is None:
        return None
    told = describe(first, names)
    where = f" at {told}" if told else ""
    more = affected - 1
    others = f" ({more} more of the {total} points are impossible.)" if more else ""
    return f"{what}{where}: {text}.{others}"
