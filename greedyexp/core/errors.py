"""Errors that a user can fix, and the places in files that their messages name."""

from __future__ import annotations

import difflib
import errno
import inspect
import os
import traceback
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from greedyexp.core.listing import listed, shortened

MOST_NAMES = 16
# Characters of a message, and of one that code of others wrote.
_LONGEST = 2000
_LONGEST_OF_OTHERS = 500


class UserError(Exception):
    """An error that a user can fix, reported in one line and never as a traceback.

    Parameters
    ----------
    message : str
        Description of the error, one sentence.
    place : str, optional
        ``file:line``, a file, or a dotted key.
    remedy : str, optional
        A sentence that says how to fix the error.
    """

    exit_code = 2

    def __init__(self, message: str, *, place: str | None = None, remedy: str | None = None):
        # Labels and values in a sentence may come from somebody else's file.
        self.message = shortened(message, _LONGEST)
        super().__init__(self.message)
        self.place = place
        self.remedy = remedy

    def __str__(self) -> str:
        head = f"{self.place}: " if self.place else ""
        tail = f" {self.remedy}" if self.remedy else ""
        return f"{head}{self.message}{tail}"


class ConfigError(UserError):
    """The experiment is invalid."""


class DataError(UserError):
    """The data are invalid: wrong shape, not finite, empty or degenerate."""


class PluginError(UserError):
    """A plugin cannot be imported or registers an invalid part."""


class StorageError(UserError):
    """The results folder or its journal cannot be read or written."""


class InstallationError(UserError):
    """The installed package is incomplete."""


def message_of(error: BaseException) -> str:
    """Return the message of any exception as one line of bounded length; it may be empty."""
    try:
        said = str(error)
    except Exception:
        said = "its message cannot be read"
    return " ".join(said.split())[:_LONGEST_OF_OTHERS]


def lacks_memory(error: BaseException) -> bool:
    """Return True if the system gave no memory to Python, to a library or to a new thread."""
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return True
    said = ("failed to map segment", "annot allocate memory", "can't start new thread")
    return isinstance(error, (ImportError, RuntimeError)) and any(one in str(error) for one in said)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a remedy with the closest known name, or with all names if none is close."""
    names = sorted(set(known))
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if near:
        return f"Did you mean '{shortened(near[0])}'?"
    return f"Known: {listed(names, MOST_NAMES)}." if names else ""


@contextmanager
def placed_in(file: str | Path) -> Iterator[None]:
    """Name the file in each ``ConfigError`` that is raised inside a ``with`` block."""
    try:
        yield
    except ConfigError as error:
        error.place = f"{file}: {error.place}" if error.place else str(file)
        raise


def place(file: str | Path, line: int | None = None) -> str:
    """Return ``file:line``, or the file alone; relative to the current folder if it is below it."""
    path = Path(file)
    if path.is_relative_to(os.getcwd()):
        path = path.relative_to(os.getcwd())
    return str(path) if line is None else f"{path}:{line}"


def place_of(function: Callable[..., Any]) -> str | None:
    """Return ``file:line`` of a function; None if it has no Python source."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return None if code is None else place(code.co_filename, code.co_firstlineno)


def last_line(error: BaseException, files: Container[str]) -> str | None:
    """Return ``file:line`` of the innermost of these files in a traceback, or None."""
    frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename in files]
    return place(frames[-1].filename, frames[-1].lineno) if frames else None
