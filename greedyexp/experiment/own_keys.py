"""The keys of entries beside the parameters: labels, tuning, and texts that figures typeset."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo

from greedyexp.experiment.messages import refusal, show
from greedyexp.experiment.settings import Section
from greedyexp.protocols.fitting import TUNINGS

_LONGEST_MATH = 1000
_MOST_MATH_LEVELS = 15
# The start of a level, its end, or accents in a row.
_MATH_LEVEL = re.compile(r"(\{|\\left\b)|(\}|\\right\b)|((?:\\[A-Za-z]+\s*)+)")


def _as_label(value: Any) -> str:
    if not isinstance(value, str) or not value.isprintable() or value.strip() != value or not value:
        message = (
            f"label must be a single line of text without spaces around it, but is {show(value)}."
        )
        raise refusal(message, "")
    return value


def _as_paragraph(value: Any, info: ValidationInfo) -> str:
    if not isinstance(value, str) or not value.isprintable():
        message = f"{info.field_name} must be text without line breaks, but is {show(value)}."
        raise refusal(message, "Write long text below '>-'.")
    return value


def _can_be_typeset(text: str) -> str:
    """Refuse mathematics between dollar signs that cannot be typeset."""
    # Matplotlib takes long to import, and few texts have mathematics.
    if text.count("$") < 2:
        return text
    from matplotlib.cbook import is_math_text
    from matplotlib.mathtext import MathTextParser

    if not is_math_text(text):
        return text
    try:
        # Matplotlib takes seconds for thousands of characters, and its stack grows with each level.
        if len(text) > _LONGEST_MATH or _math_levels(text) > _MOST_MATH_LEVELS:
            raise ValueError
        MathTextParser("path").parse(text)
    except (ValueError, RecursionError):
        message = f"the mathematics between dollar signs cannot be typeset: {show(text)}."
        raise refusal(message, r"Correct it, or write \$ for a dollar sign.") from None
    return text


def _math_levels(text: str) -> int:
    """Return how deep braces, delimiters and accents are nested at most."""
    level = deepest = 0
    for start, end, accents in _MATH_LEVEL.findall(text):
        level += bool(start) - bool(end)
        deepest = max(deepest, level + accents.count("\\"))
    return deepest


# The value of a key that an entry does not have.
_NONE: Any = None

Label = Annotated[str, BeforeValidator(_as_label), AfterValidator(_can_be_typeset)]
Paragraph = Annotated[str, BeforeValidator(_as_paragraph)]


class BlockKeys(Section):
    """The keys of a block in a list of data."""

    label: Label = Field(default=_NONE, description="Value of the block in the column 'data'.")


class AlgorithmKeys(Section):
    """The keys of an entry of ``algorithms``."""

    label: Label = Field(default=_NONE, description="Label in rows and figures.")
    tuning: Literal[TUNINGS] = Field(  # type: ignore[valid-type]
        default=_NONE, description="Rule that chooses a point of the path."
    )
    folds: int = Field(
        default=5, ge=2, description="Folds of the cross-validation, if the tuning is 'cv'."
    )


class FigureKeys(Section):
    """The keys of an entry of ``figures``."""

    title: Annotated[Paragraph, AfterValidator(_can_be_typeset)] = Field(
        default=_NONE,
        description="Title above the panels; by default the rows that `where` chooses.",
    )
    caption: Paragraph = Field(
        default=_NONE,
        description="What to see, in one or two sentences; stored with the files and not drawn.",
    )


OWN_KEYS: dict[str, type[Section]] = {
    "generator": BlockKeys,
    "algorithm": AlgorithmKeys,
    "figure": FigureKeys,
}
