"""How the steps of greedy selections score features."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

Judged = Annotated[
    Literal["coordinate", "refit"],
    Field(description="score a feature by its coefficient alone, or with all of them refitted"),
]
