"""Errors a user can mend: one sentence that says where, what and how to go on."""

from __future__ import annotations

import difflib
import signal
from collections.abc import Iterable

MOST_NAMES = 16

# Signals that ask a process to stop: Ctrl-C, SIGTERM of batch systems, SIGHUP of a closed terminal.
INTERRUPTS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class UserError(Exception):
    """Bad input, reported in one line and never as a traceback.

    Parameters
    ----------
    message : str
        What is wrong, as a sentence.
    place : str, optional
        Where: ``file:line``, a file, or a dotted key.
    remedy : str, optional
        What to do about it.
    """

    exit_code = 2

    def __init__(self, message: str, *, place: str | None = None, remedy: str | None = None):
        super().__init__(message)
        self.message = message
        self.place = place
        self.remedy = remedy

    def __str__(self) -> str:
        head = f"{self.place}: " if self.place else ""
        tail = f" {self.remedy}" if self.remedy else ""
        return f"{head}{self.message}{tail}"


class ConfigError(UserError):
    """The experiment as written cannot be run."""


class DataError(UserError):
    """The data cannot be used: wrong shape, not finite, empty, degenerate."""


class PluginError(UserError):
    """A plugin cannot be imported or registers something impossible."""


class StorageError(UserError):
    """The results folder or its journal cannot be read or written."""


class Interrupted(KeyboardInterrupt):
    """A signal asked this process to stop.

    A part that raises ``KeyboardInterrupt`` of its own does not raise this.

    Parameters
    ----------
    signum : int
        Number of the signal.
    """

    def __init__(self, signum: int):
        super().__init__(f"stopped by {signal.Signals(signum).name}")
        self.signum = signum


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A remedy naming the nearest of the known names, or all of them when none is near."""
    names = sorted(set(known))
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if near:
        return f"Did you mean '{near[0]}'?"
    if len(names) > MOST_NAMES:
        return f"Known: {', '.join(names[:MOST_NAMES])} and {len(names) - MOST_NAMES} more."
    return f"Known: {', '.join(names)}." if names else ""
