"""Parameters that all greedy selections share, and what is refused of them before any work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from greedyexp.algorithms._loss_settings import check_loss, coefficients_per_row

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
Prune = Annotated[bool, Field(description="leave out features that a bound shows cannot gain most")]
StopRule = Annotated[
    Literal["optimum", "theorem"],
    Field(description="where tuning by theory ends: at the best fit on the truth, or by theorem"),
]
Unit = Annotated[
    Literal["feature", "group"], Field(description="what a step takes: a coefficient or a row")
]


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


def check(
    shape: dict,
    *,
    loss: str,
    max_features: int | None,
    judge: str = "coordinate",
    unit: str = "feature",
    **others,
) -> None:
    """Refuse parameters that no problem of this shape, or no loss of this name, can have.

    Raises
    ------
    ValueError
        With a sentence.
    """
    check_loss(shape, loss=loss, max_features=max_features, **others)
    if judge == "refit" and loss != "squared":
        raise ValueError(f"judge refit is for the squared loss, not for {loss}.")
    width = coefficients_per_row(shape, loss) if unit == "group" else 1
    if max_features is not None and max_features < width:
        raise ValueError(
            f"max_features = {max_features} leaves no room for a group, which has {width}."
        )
