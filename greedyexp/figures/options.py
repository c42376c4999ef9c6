"""Parameters that several figures take, by the words and ranges that users see."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

Panel = Annotated[str | None, Field(description="column with one panel per value")]
Row = Annotated[str | None, Field(description="column with one row of panels per value")]
Line = Annotated[
    list[str], Field(min_length=1, max_length=2, description="columns that tell lines apart")
]
Success = Annotated[
    dict[str, str], Field(description="success metric by algorithm; 'default' for the others")
]
Of = Annotated[str, Field(description="column whose threshold is sought")]
Level = Annotated[float, Field(gt=0, lt=1, description="probability of success at the threshold")]
