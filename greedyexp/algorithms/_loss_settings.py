"""Parameters of algorithms over any loss, and what is refused of them before any work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from greedyexp.losses.binding import MOST_RIDGE, kind_of

LossName = Annotated[
    Literal["squared", "logistic", "crf"],
    Field(description="what is minimised, a mean over samples; crf is of chains of words"),
]
Ridge = Annotated[
    float, Field(ge=0, le=MOST_RIDGE, description="half of it times the squared norm is added")
]
Intercept = Annotated[bool, Field(description="fit one, in every model and without a ridge")]


@dataclass(frozen=True)
class Model:
    """The loss by its name, and its parameters."""

    loss: str
    ridge: float
    intercept: bool


def needs(*, loss: str, **_) -> tuple[str, ...]:
    """Traits that data must have for this loss."""
    return kind_of(loss).traits


def check_loss(
    shape: dict,
    *,
    loss: str,
    intercept: bool,
    max_features: int | None,
    max_groups: int | None,
    **_,
) -> None:
    """Refuse what no problem of this shape, or no loss of this name, can have.

    Raises
    ------
    ValueError
        With a sentence.
    """
    rows, classes = shape["n_features"], coefficients_per_row(shape, loss)
    refusal = kind_of(loss).refusal(n_tasks=shape["n_tasks"], intercept=intercept)
    if refusal is not None:
        raise ValueError(refusal.message)
    if max_groups is not None and max_groups > rows:
        raise ValueError(
            f"max_groups = {max_groups} is more than the {rows} rows of coefficients. Give at most"
            f" {rows}."
        )
    if max_features is not None and max_features > rows * classes:
        count = f"{rows * classes} features"
        count += f", {rows} for each of {classes} classes" if classes > 1 else ""
        raise ValueError(
            f"max_features = {max_features} is more than the {count}. Give at most"
            f" {rows * classes}."
        )


def coefficients_per_row(shape: dict, loss: str) -> int:
    """r, how many coefficients a feature has in data of this shape."""
    return shape["n_tasks"] if kind_of(loss).per_class else 1
