"""``trials:`` as a rule: replicates until an interval is narrow, or where a transition is."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from greedyexp.config.mistakes import Keys
from greedyexp.core.errors import did_you_mean


class Until(BaseModel):
    """Stop a point when the interval of its success probability is narrow enough."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    half_width: Annotated[
        float, Field(gt=0, lt=0.5, description="Half width of the 95% interval to reach.")
    ]


class Locate(BaseModel):
    """Place replicates where success crosses a level, until the crossing is known well enough."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    threshold: Annotated[float, Field(gt=0, lt=1, description="Success probability to locate.")] = (
        0.5
    )
    of: Annotated[str, Field(description="Swept data parameter along which success rises.")]
    half_width: Annotated[
        float, Field(gt=0, description="Half width of the 95% interval of the crossing to reach.")
    ]


class AdaptiveTrials(BaseModel):
    """How results decide the number of replicates, for each point and algorithm on its own."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    until: Annotated[Until | None, Field(description="Narrow the interval of every point.")] = None
    locate: Annotated[Locate | None, Field(description="Find where success crosses a level.")] = (
        None
    )
    min: Annotated[
        int,
        Field(
            ge=1,
            description="Replicates at a time; 'until' gives every point so many, 'locate' only"
            " those it looks at.",
        ),
    ] = 20
    max: Annotated[int, Field(ge=1, description="Replicates that a point gets at most.")] = 400
    success: Annotated[
        dict[str, str],
        Field(description="Success metric by algorithm, 'default' for the others."),
    ] = {}

    def limited_to(self, algorithms: set[str]) -> AdaptiveTrials:
        """The rule without what it says of algorithms that are not there."""
        known = {*algorithms, "default"}
        kept = {key: metric for key, metric in self.success.items() if key in known}
        return self.model_copy(update={"success": kept})


Found = list[tuple[Keys, str, str]]


def mistakes_in(
    trials: AdaptiveTrials,
    *,
    points: list[dict],
    swept: list[str],
    somewhere: list[str],
    zipped: set[str],
    metrics: list[str],
    algorithms: set[str],
) -> Found:
    """What a rule asks for that the experiment does not have.

    Parameters
    ----------
    points : list of dict
        All parameters of the data at each point of the sweep.
    swept, somewhere : list of str
        Data parameters that every block of the data sweeps, and those that any does.
    zipped : set of str
        Those that are zipped with others.
    metrics : list of str
        Metrics whose values are 0 and 1.
    algorithms : set of str
        Labels and names.

    Returns
    -------
    list of (keys below ``trials``, sentence, remedy)
    """
    found: Found = []
    if (trials.until is None) == (trials.locate is None):
        found.append(((), "adaptive trials need either 'until' or 'locate'.", "Keep one of them."))
    if trials.min > trials.max:
        found.append((("min",), f"min = {trials.min} is more than max = {trials.max}.", ""))
    if trials.locate is not None:
        found += _impossible_along(trials.locate.of, points, swept, somewhere, zipped)
    known = {*algorithms, "default"}
    for key, metric in trials.success.items():
        if key not in known:
            wrong = f"`success` names '{key}', which is no algorithm of the experiment."
            found.append((("success", key), wrong, did_you_mean(key, known)))
        if metric not in metrics:
            found.append(
                (
                    ("success", key),
                    f"'{metric}' is not among the metrics of the experiment that are 0 or 1.",
                    did_you_mean(metric, metrics),
                )
            )
    if not trials.success and not metrics:
        found.append(((), "no metric of the experiment is a success (0 or 1).", "List one."))
    return found


def _impossible_along(
    name: str, points: list[dict], swept: list[str], somewhere: list[str], zipped: set[str]
) -> Found:
    """Why nothing can be located along a parameter, if so."""
    remedy = ""
    if name in somewhere and name not in swept:
        wrong = f"'{name}' is not swept in every block of data, so that nothing can be located in"
        wrong += " the others."
    elif name not in swept:
        wrong = f"'{name}' is not swept, so that nothing can be located along it."
        remedy = did_you_mean(name, swept)
    elif name in zipped:
        wrong = f"{name} is zipped with others, so that nothing can be located along it alone."
        remedy = "Sweep it on its own."
    elif not all(_is_finite(point.get(name)) for point in points):
        wrong = f"{name} is not a finite number everywhere: nothing can be located along it."
    else:
        return []
    return [(("locate", "of"), wrong, remedy)]


def _is_finite(value) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and math.isfinite(value)
