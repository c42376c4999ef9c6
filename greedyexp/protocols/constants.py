"""Protocol ``constants``: a constant of the design with its bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence

from greedyexp.core.parts import Algorithm, Metric
from greedyexp.core.registry import protocol
from greedyexp.problems.problem import Problem
from greedyexp.protocols.base import Measured, Outcome, Setup, Status
from greedyexp.protocols.contracts import check_constant

NAMES = ("value", "lower", "upper")


def columns(metrics: Sequence[Metric]) -> list[Measured]:
    """Return the columns of the estimate and its proved bounds."""
    return [Measured(name, "number") for name in NAMES]


@protocol(
    "constants",
    title="Constants",
    paper="Moucer, Taylor & Bach (2024), Figures 7 and 8",
    takes="constant",
    columns=columns,
)
def constants(problem: Problem, part: Algorithm, params: dict, setup: Setup) -> Outcome:
    """Compute a constant of the design and proved bounds on it.

    Columns
    -------
    value
        The constant, between its bounds.
    lower, upper
        Proved bounds on the constant, rounding errors included.

    Returns
    -------
    Outcome
        One row. Status ``nonfinite`` if a number is not finite, ``error`` if the value is not
        between its bounds.

    Raises
    ------
    PluginError
        If the algorithm does not return a ``Constant``.
    """
    constant = check_constant(part, part.function(problem, **params))
    row = {name: float(getattr(constant, name)) for name in NAMES}
    if not all(map(math.isfinite, row.values())):
        return Outcome(Status.NONFINITE, "the constant or a bound is not finite")
    if not row["lower"] <= row["value"] <= row["upper"]:
        said = f"the value {row['value']} is not between its bounds {row['lower']}, {row['upper']}"
        return Outcome(Status.ERROR, said)
    return Outcome(Status.OK, "", [row])
