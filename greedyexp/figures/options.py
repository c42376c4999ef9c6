"""Parameters that several figures take, by the words and ranges that users see."""

from __future__ import annotations

from collections.abc import Callable
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


def named_columns(*measured: str) -> Callable[..., list[str]]:
    """What the registry asks of a figure: parameters in, the columns that it reads out.

    Parameters
    ----------
    *measured : str
        Those that it reads whatever its parameters are.
    """

    def columns(*, mark=None, success=(), **params) -> list[str]:
        at = [mark] if isinstance(mark, str) else []
        return [*apart(**params), *at, *dict(success).values(), *measured]

    return columns


def apart(*, x=None, of=None, panel=None, row=None, line=(), **_) -> list[str]:
    """What the registry asks of a figure: the columns that tell points, lines and panels apart."""
    return [name for name in (x, of, panel, row, *line) if name is not None]
