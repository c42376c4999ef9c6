"""What tables are called, where one experiment prints several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from greedyexp.results.where import where_text

Title = Annotated[str, Field(description="caption; the name of the table and its rows when empty")]


def titled(part: str, title: str, where: Mapping) -> str:
    """The caption as given, or else the part's name and the rows chosen.

    Parameters
    ----------
    part : str
        Title of the part.
    title : str
        May be empty.
    where : mapping of column to value or list of values
    """
    told = where_text(where)
    return title or (f"{part}, {told}" if told else part)
