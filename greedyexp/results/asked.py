"""Checks of what figures and tables are asked for, made before anything is run."""

from __future__ import annotations

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError


def refused(message: str, remedy: str) -> PydanticCustomError:
    """The error of a parameter's type that is told to users in these words."""
    return PydanticCustomError("refused", "{message}", {"message": message, "remedy": remedy})


def once_each(parameter: str) -> AfterValidator:
    """Refuses a list that has something twice.

    Parameters
    ----------
    parameter : str
        What sentences call it.
    """

    def check(values: list) -> list:
        for value in values:
            if values.count(value) > 1:
                raise refused(f"`{parameter}` has {value} twice.", "Keep one.")
        return values

    return AfterValidator(check)
