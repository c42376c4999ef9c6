"""The rows of one replicate, chosen by a condition such as ``theta=1, replicate=7``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pandas as pd

from greedyexp.config.document import read_text
from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.core.listing import listed
from greedyexp.experiment.messages import show
from greedyexp.results.records import identity, matches, replicates, require_columns
from greedyexp.runner.run_contents import Run

# The column at the beginning of a condition.
_COLUMN = re.compile(r"\s*\w+\s*=")
# Values of a column that a message lists.
_MOST_LISTED = 6


def parse(text: str) -> dict[str, Any]:
    """Return the columns and values of ``column=value[,column=value]``; values are YAML.

    Raises
    ------
    ConfigError
        If the text has another form.
    """
    wanted: dict[str, Any] = {}
    for piece in _pieces(text) if text.strip() else ():
        name, equals, value = (part.strip() for part in piece.partition("="))
        if not (name and equals and value) or name in wanted:
            twice = bool(name and equals and value)
            raise ConfigError(
                f"'{name}' is given twice." if twice else f"'{piece.strip()}' is not COLUMN=VALUE.",
                place=f"--where {text}",
                remedy="Write each column once, as in 'theta=1,replicate=7,algorithm=lasso'.",
            )
        # A label such as "rmp (lam=0.1)" is a text.
        plain = name in ("algorithm", "data") and value[0] not in "'\""
        wanted[name] = value if plain else read_text(value, f"--where {text}", lines=False).data
    return wanted


def as_text(where: Mapping[str, Any]) -> str:
    """Return the condition from which ``parse`` reads these columns and values."""
    return ",".join(f"{name}={_value_text(name, value)}" for name, value in where.items())


def _value_text(name: str, value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    if isinstance(value, list):
        return f"[{', '.join(_value_text(name, one) for one in value)}]"
    text = str(value)
    if not isinstance(value, str) or _reads_as(name, text):
        return text
    return "'{}'".format(text.replace("'", "''"))


# A page has conditions of thousands of points, with few texts.
@cache
def _reads_as(name: str, text: str) -> bool:
    """Return True if a text needs no quotes, also before another column."""
    try:
        return parse(f"{name}={text},{name}_=1") == {name: text, f"{name}_": 1}
    except ConfigError:
        return False


def _pieces(text: str) -> Iterator[str]:
    """Split a condition at the commas that are in no brackets or quotes, before the next column."""
    start = depth = 0
    # A quoted value is one token; '' is a quote in it.
    for token in re.finditer(r"""(?<==)\s*(?:'(?:[^']|'')*'|"[^"]*")|.""", text, re.DOTALL):
        depth += (token[0] in "([") - (token[0] in ")]")
        if token[0] == "," and depth == 0 and _COLUMN.match(text, token.end()):
            yield text[start : token.start()]
            start = token.end()
    yield text[start:]


def choose(source: Run, where: Mapping[str, Any]) -> list[int]:
    """Return the numbers of the rows that a condition chooses, which belong to one replicate.

    Raises
    ------
    ConfigError
        If there is no such row, with the nearest values, or if there are rows of several
        replicates, with the columns that tell them apart.
    """
    frame = source.frame
    require_columns(frame, list(where))
    said: list[str] = []
    for name, value in where.items():
        # The whole column says whether its values are booleans.
        kept = frame[matches(source.frame[name], [value])[frame.index]]
        if kept.empty:
            rest = f" with {', '.join(said)}" if said else ""
            raise ConfigError(
                f"no row{rest} has {name} = {show(value)}.", remedy=_nearest(frame[name], value)
            )
        frame = kept
        said.append(f"{name} = {show(value)}")
    found = replicates(frame)
    if len(found) > 1:
        open_columns = _open_columns(found, source)
        raise ConfigError(
            f"{len(found)} replicates have these values.",
            remedy=f"Choose one of each: {'; '.join(open_columns)}.",
        )
    return [int(index) for index in frame.index]


def _nearest(column: pd.Series[Any], wanted: Any) -> str:
    """Return a remedy with the values of a column that are nearest to the wanted one."""
    levels = column.dropna().unique().tolist()
    numbers = all(isinstance(one, (int, float)) for one in levels)
    if not levels:
        return "Its cells are empty in these rows; write null for an empty cell."
    if numbers and isinstance(wanted, bool):
        return f"Its values are numbers, {show(min(levels))} to {show(max(levels))}."
    if not numbers or not isinstance(wanted, (int, float)):
        return did_you_mean(str(wanted), map(str, levels))
    below = [one for one in levels if one < wanted]
    above = [one for one in levels if one > wanted]
    near = [*([max(below)] if below else []), *([min(above)] if above else [])]
    if not near:
        return "Write null for an empty cell."
    named = " and ".join(map(show, near))
    return f"The nearest are {named}." if len(near) > 1 else f"The nearest is {named}."


def _open_columns(rows: pd.DataFrame, source: Run) -> list[str]:
    """Return the columns that tell replicates apart, with their values."""
    varying = [name for name in identity(rows) if rows[name].nunique(dropna=False) > 1]
    design = source.design
    swept = {name for axis in design.data_axes for name in axis}
    # Facts of the data, and parameters in a label, follow from the others.
    needed = [name for name in varying if name in swept | {"replicate", "algorithm"}] or varying
    texts = []
    for name in needed:
        levels = rows[name].dropna().unique().tolist()
        if len(levels) > _MOST_LISTED and not isinstance(levels[0], str):
            texts.append(f"{name} ({show(min(levels))} to {show(max(levels))})")
            continue
        words = [one if isinstance(one, str) else show(one) for one in levels]
        texts.append(f"{name} ({listed(words, _MOST_LISTED)})")
    return texts
