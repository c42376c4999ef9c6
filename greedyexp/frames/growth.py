"""How the growth of steps is asked for and what is said of it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from greedyexp.frames.labels import number

# Parameters of the figure and of the table.
Law = Annotated[
    Literal["power", "log"],
    Field(description="growth printed: the power of 1/epsilon, or steps for each factor of ten"),
]
Laws = Annotated[dict[str, Law], Field(description="power or log by theorem; power for the others")]
FitBelow = Annotated[
    float | None,
    Field(gt=0, description="largest epsilon that counts for the growth; all if null"),
]


def growth_text(fit_below: float | None) -> str:
    """What numbers of growth are."""
    over = "all accuracies" if fit_below is None else f"accuracies of at most {number(fit_below)}"
    return f"Growth: means over replicates of least-squares slopes over {over}, 95% t intervals."
