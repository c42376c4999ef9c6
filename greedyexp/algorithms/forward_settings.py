"""Parameters that all greedy selections share, and what is refused of them before any work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

LossName = Annotated[
    Literal["squared", "logistic", "crf"],
    Field(description="what is minimised, a mean over samples; crf is of chains of words"),
]
Ridge = Annotated[float, Field(ge=0, description="half of it times the squared norm is added")]
Intercept = Annotated[bool, Field(description="fit one, in every model and without a ridge")]
MaxFeatures = Annotated[
    int | None,
    Field(ge=1, description="most features; default min(n, d) / 2 if nothing else ends the run"),
]
MaxGroups = Annotated[
    int | None, Field(ge=1, description="most rows of coefficients, which is sensors, in use")
]
Delta = Annotated[
    float | None, Field(ge=0, description="end when no feature gains this much by itself")
]
Epsilon = Annotated[
    float | None, Field(ge=0, description="end when the gradient is smaller everywhere")
]
Ratio = Annotated[
    float,
    Field(
        gt=0,
        le=1,
        description="drop a feature that costs less than this part of the recorded decrease",
    ),
]
Scored = Annotated[
    Literal["coordinate", "refit"],
    Field(description="whether others stay as they are when a feature is judged"),
]
Prune = Annotated[bool, Field(description="leave out features that a bound shows cannot gain most")]
StopRule = Annotated[
    Literal["optimum", "theorem"],
    Field(description="where tuning by theory ends: at the best fit on the truth, or by theorem"),
]
Unit = Annotated[
    Literal["feature", "group"], Field(description="what a step takes: a coefficient or a row")
]


@dataclass(frozen=True)
class Model:
    """The loss by its name, and its parameters."""

    loss: str
    ridge: float
    intercept: bool


@dataclass(frozen=True)
class Limits:
    """What ends a selection.

    Parameters
    ----------
    name : {"delta", "epsilon"}
        What its threshold is called.
    threshold : float >= 0, optional
    max_features, max_groups : int >= 1, optional
    """

    name: str
    threshold: float | None
    max_features: int | None
    max_groups: int | None


def needs(*, loss: str, **_) -> tuple[str, ...]:
    """Traits that data must have for this loss."""
    return ("chains",) if loss == "crf" else ()


def check(
    shape: dict,
    *,
    loss: str,
    intercept: bool,
    max_features: int | None,
    max_groups: int | None,
    judge: str = "coordinate",
    unit: str = "feature",
    **_,
) -> None:
    """Refuse parameters that no problem of this shape, or no loss of this name, can have.

    Raises
    ------
    ValueError
        With a sentence.
    """
    if loss == "crf" and intercept:
        raise ValueError("the crf loss has no intercept.")
    if judge == "refit" and loss != "squared":
        raise ValueError(f"judge refit is for the squared loss, not for {loss}.")
    rows = shape["n_features"]
    if max_groups is not None and max_groups > rows:
        raise ValueError(f"max_groups = {max_groups} is more than the {rows} rows of coefficients.")
    tasks = shape["n_tasks"] if loss == "crf" else 1
    if max_features is not None and max_features > rows * tasks:
        count = f"{rows * tasks} features"
        count += f", {rows} for each of {tasks} classes" if tasks > 1 else ""
        raise ValueError(f"max_features = {max_features} is more than the {count}.")
    if max_features is not None and unit == "group" and max_features < tasks:
        raise ValueError(
            f"max_features = {max_features} leaves no room for a group, which has {tasks}."
        )
    if loss != "crf" and shape["n_tasks"] > 1:
        raise ValueError(
            f"the {loss} loss takes one response, but the data have {shape['n_tasks']}."
        )
