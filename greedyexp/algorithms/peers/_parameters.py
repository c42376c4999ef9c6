"""Parameters that several adapters share."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

MaxIter = Annotated[int, Field(ge=1, description="maximum number of iterations of the package")]
Atoms = Annotated[
    int | None,
    Field(ge=1, description="maximum number of features per task; default min(n, p) / 2"),
]
