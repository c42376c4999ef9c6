"""What came of one algorithm on one data set: a status, a message and rows for the CSV."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class Status(str, Enum):
    """How a replicate ended; the values are the words of the CSV's ``status`` column."""

    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    NONFINITE = "nonfinite"
    NOT_CONVERGED = "not_converged"

    @property
    def failed(self) -> bool:
        """Whether there is no estimate to measure; ``not_converged`` has one, without its proof."""
        return self in (Status.ERROR, Status.TIMEOUT, Status.NONFINITE)

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Outcome:
    """The result of one replicate: one algorithm on one data set.

    Parameters
    ----------
    status : Status
        How it ended.
    message : str
        What a user should know of it; empty when there is nothing to say.
    rows : list of dict
        One dict for each row of the CSV, column to int, float, str or None. Empty when the status
        is a failure: the runner then writes one row with empty cells, so that a failure never
        leaves a denominator.
    fit_seconds : float, optional
        Time of the fit alone, when the protocol measures it. Outcomes that differ in it alone are
        equal.
    traceback : str
        Where an exception was raised, for ``--traceback``; never stored, and no part of equality.
    """

    status: Status
    message: str = ""
    rows: list[dict] = field(default_factory=list)
    fit_seconds: float | None = field(default=None, compare=False)
    traceback: str = field(default="", compare=False)

    @classmethod
    def of_exception(cls, error: BaseException) -> Outcome:
        """An ``error`` that names the exception and what it said."""
        try:
            said = str(error)
        except Exception:
            said = "its message cannot be read"
        name = type(error).__name__
        return cls(Status.ERROR, f"{name}: {said}" if said else name)
