"""The columns that a protocol gives, and what is in each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from greedyexp.core.parts import Metric


@dataclass(frozen=True)
class Measured:
    """One column of a protocol's rows.

    Parameters
    ----------
    name : str
        The column of the CSV.
    kind : {"key", "number", "success", "text", "seconds"}
        ``key``: tells the rows of one replicate apart. ``number``: a measurement. ``success``: one
        whose values are 0 and 1. ``text``: says how the others came about. ``seconds``: a time,
        which differs from run to run and so stands in ``timings.csv`` instead.
    values : tuple, optional
        All that a key can be; None when only the run tells.
    only : mapping of str to tuple
        Key -> its values in the rows that have this column; empty when all rows may have it.
    apart : bool
        Of a key: whether figures and tables may tell lines and panels apart by it. Other keys are
        axes of the rows themselves.
    open_ended : bool
        Of a number: whether an empty cell is a run that ended before it got there, which would be a
        larger number, rather than a number that nobody has.
    """

    name: str
    kind: Literal["key", "number", "success", "text", "seconds"]
    values: tuple | None = None
    only: Mapping[str, tuple] = field(default_factory=dict)
    apart: bool = False
    open_ended: bool = False


def of_metric(metric: Metric, only: Mapping[str, tuple] | None = None) -> Measured:
    """The column of a metric."""
    kind = "text" if metric.text else "success" if metric.binary else "number"
    return Measured(metric.name, kind, only=only or {})


# What a protocol that times the fit (``Outcome.fit_seconds``) lists among its columns.
FIT_SECONDS = Measured("fit_seconds", "seconds")
