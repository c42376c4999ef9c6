"""The input and output of protocols: setup, columns, outcome, recorded iterations."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Literal

import numpy as np

from greedyexp.core.errors import message_of
from greedyexp.core.parts import Metric

Kind = Literal["key", "number", "success", "text", "seconds"]


@dataclass(frozen=True)
class Setup:
    """Settings for the evaluation of one algorithm on one problem.

    Parameters
    ----------
    tuning : {"oracle", "cv", "ebic_robust", "theory", "end", "none"}
        How a point of the algorithm's path is chosen; "none" for algorithms without a path.
    folds : int, at least 2
        Folds of the cross-validation.
    metrics : tuple of Metric
        The metrics of the experiment; empty for a protocol that computes none.
    rng : Generator
        The random stream of this algorithm on this problem.
    clock : callable
        Returns seconds since an arbitrary moment.
    """

    tuning: str
    folds: int
    metrics: tuple[Metric, ...]
    rng: np.random.Generator
    clock: Callable[[], float] = time.perf_counter


@dataclass(frozen=True)
class Measured:
    """One column of a protocol's rows.

    Parameters
    ----------
    name : str
        The column of the CSV.
    kind : {"key", "number", "success", "text", "seconds"}
        ``key``: distinguishes the rows of one replicate. ``number``: a measurement. ``success``: a
        measurement with values 0 and 1. ``text``: describes how the others were obtained.
        ``seconds``: a time, which differs between runs and is therefore stored in ``timings.csv``.
    values : tuple, optional
        All values of a key; None if they are known only after the run.
    only : mapping of str to tuple
        Maps a key to its values in the rows that have this column; empty if all rows may have it.
    apart : bool
        True for a key that figures and tables may use for lines and panels. Other keys, such as the
        iteration, are horizontal axes.
    open_ended : bool
        True if an empty cell means that the run ended too early and the number is larger; otherwise
        an empty cell is a missing value.
    held_out : bool
        True if the number is measured on the rows held out for testing.
    share_of_rows : bool
        True if it is the mean over these rows of a loss in [0, 1].
    """

    name: str
    kind: Kind
    values: tuple[Any, ...] | None = None
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    apart: bool = False
    open_ended: bool = False
    held_out: bool = False
    share_of_rows: bool = False


# The column of a protocol that sets ``Outcome.fit_seconds``.
# Largest size of a measurement. Variances and ratios of smaller values do not overflow.
LARGEST = 1e100
FIT_SECONDS = Measured("fit_seconds", "seconds")


def of_metric(metric: Metric, only: Mapping[str, tuple[str, ...]] | None = None) -> Measured:
    """Return the column of a metric."""
    kind: Kind = "text" if metric.text else "success" if metric.binary else "number"
    held_out = "test_rows" in metric.requires
    share = metric.share_of_rows
    return Measured(metric.name, kind, only=only or {}, held_out=held_out, share_of_rows=share)


def in_records(
    records: tuple[str, ...], kind: Kind, *names: str, apart: bool = False, open_ended: bool = False
) -> list[Measured]:
    """Return columns that only rows of these kinds have; see ``Measured``."""
    only = {"record": records}
    return [Measured(name, kind, only=only, apart=apart, open_ended=open_ended) for name in names]


def record_columns(
    columns: Sequence[Measured], records: Sequence[str], values: Mapping[str, tuple[Any, ...]]
) -> list[Measured]:
    """Return the column ``record``, followed by the columns of these kinds of rows.

    Parameters
    ----------
    columns : sequence of Measured
        All columns of a protocol; ``only`` has the kinds of rows that have them.
    records : sequence of str
        The kinds of rows that are written.
    values : mapping of str to tuple
        The known values of keys.
    """
    found = [Measured("record", "key", tuple(records))]
    for column in columns:
        own = tuple(record for record in column.only["record"] if record in records)
        if own:
            known = values.get(column.name)
            found.append(replace(column, values=known, only={"record": own}))
    return found


def rows_of(record: str, **columns: Any) -> list[dict[str, Any]]:
    """Return rows of one kind.

    Parameters
    ----------
    record : str
        The value of the column ``record``.
    columns
        A sequence for each column, or one value for all rows. A number that is not finite becomes
        an empty cell.
    """
    listed = [one.tolist() for one in np.broadcast_arrays(*map(np.atleast_1d, columns.values()))]
    return [
        {"record": record, **dict(zip(columns, map(_cell, row), strict=True))}
        for row in zip(*listed, strict=True)
    ]


def _cell(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def refuse_duplicates(**lists: list | None) -> None:
    """Raise ValueError if one of the parameters, given by name, lists a value twice."""
    for name, values in lists.items():
        if values is not None and len(set(values)) < len(values):
            raise ValueError(f"duplicate value in '{name}'.")


class Status(str, Enum):
    """The result of a replicate, as in the column ``status`` of the CSV."""

    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    NONFINITE = "nonfinite"
    NOT_CONVERGED = "not_converged"

    @property
    def failed(self) -> bool:
        """True if there is no estimate; ``not_converged`` has one without a certificate."""
        return self in (Status.ERROR, Status.TIMEOUT, Status.NONFINITE)

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Outcome:
    """The result of one replicate: one algorithm on one data set.

    Parameters
    ----------
    status : Status
    message : str
        A remark for the user; may be empty.
    rows : list of dict
        One dict for each row of the CSV, column to int, float, str or None. Empty if the status is
        a failure: the runner then writes one row with empty cells, so that failures still count.
    fit_seconds : float, optional
        Time of the fit alone, if the protocol measures it. It does not affect equality.
    traceback : str
        Where an exception was raised, for ``--traceback``. It is not stored and does not affect
        equality.
    """

    status: Status
    message: str = ""
    rows: list[dict[str, Any]] = field(default_factory=list)
    fit_seconds: float | None = field(default=None, compare=False)
    traceback: str = field(default="", compare=False)

    @classmethod
    def of_exception(cls, error: BaseException) -> Outcome:
        """Return an outcome with status ``error`` and the type and message of an exception."""
        name, said = type(error).__name__, message_of(error)
        return cls(Status.ERROR, f"{name}: {said}" if said else name)

    @classmethod
    def with_doubts(
        cls,
        rows: list[dict[str, Any]],
        doubts: list[str],
        remark: str = "",
        fit_seconds: float | None = None,
    ) -> Outcome:
        """Return the outcome ``not_converged`` with reasons for doubt, or ``ok`` with a remark."""
        status = Status.NOT_CONVERGED if doubts else Status.OK
        return cls(status, "; ".join(doubts) or remark, rows, fit_seconds)


def recording_schedule(iterations: int, points: int, dense: int) -> np.ndarray:
    """Return the iterations to record, in increasing order.

    Parameters
    ----------
    iterations : int >= 1
        Length of the run.
    points : int >= 0
        Number of iterations to record from 1 to the last, equally spaced in the logarithm.
        Iterations that round to the same number are recorded once.
    dense : int >= 0
        Every iteration up to this one is recorded, as far as the run goes.

    Returns
    -------
    array (m,) of int
        Starts with iteration 0; empty if both numbers are 0.
    """
    if not points and not dense:
        return np.zeros(0, dtype=int)
    spaced = np.geomspace(1, iterations, points) if points > 1 else np.full(points, iterations)
    # Rounding must not exceed the last iteration.
    wanted = np.minimum(np.rint(spaced).astype(int), iterations)
    return np.union1d(np.arange(min(dense, iterations) + 1), wanted)
