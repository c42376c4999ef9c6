"""``--only column=value``: restriction of an experiment to some points and algorithms."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from greedyexp.config.document import read_text
from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.experiment.messages import listing, show
from greedyexp.experiment.model import Experiment
from greedyexp.experiment.parameters import same_value

# A comma in brackets belongs to a label such as "greedy (nu=0.5, w=1.2)" or to a list, and a comma
# in quotes belongs to a text. All other commas separate values.
_COMMA = re.compile(r",(?![^(\[]*[)\]])")
_QUOTED = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*(?=,|$)""")

# The names of each algorithm, or the value of each point, by index.
Rows = Mapping[int, tuple[Any, ...]]


def keep_only(experiment: Experiment, only: tuple[str, ...]) -> Experiment:
    """Return the experiment with the matching points and algorithms.

    Parameters
    ----------
    experiment : Experiment
    only : tuple of str
        ``column=value[,value]``, where a column is ``algorithm`` (label or name), a data parameter
        or, if the data are a list, ``data`` (the label of a block). Rows match if every column
        has one of the values given for it. A label with commas may be in quotes.

    Raises
    ------
    ConfigError
        If a column does not exist or a value does not occur.
    """
    cells = [point.cells for point in experiment.points]
    columns = ["algorithm", *dict.fromkeys(name for point in cells for name in point)]
    names = [(spec.label, spec.name, spec.entry) for spec in experiment.algorithms]
    chosen: dict[str, set[int]] = {}
    for text in only:
        column, pieces = _split(text)
        place = f"--only {text}"
        if column not in columns:
            raise ConfigError(
                f"there is no column '{column}' to choose by.",
                place=place,
                remedy=did_you_mean(column, columns),
            )
        locate = experiment.adaptive and experiment.adaptive.locate
        if locate and column == locate.of:
            raise ConfigError(
                f"the trials locate a crossing along {column}, which needs all of its values.",
                place=place,
                remedy="Choose by another column, or give a number of trials with --trials.",
            )
        if column == "algorithm":
            rows: Rows = dict(enumerate(names))
        else:
            rows = {i: (point[column],) for i, point in enumerate(cells) if column in point}
        for word in _joined(pieces, _texts(rows)):
            chosen.setdefault(column, set()).update(_matching(column, word, rows, place))
    algorithms = chosen.pop("algorithm", set(range(len(names))))
    points = set(range(len(cells))).intersection(*chosen.values())
    if not points:
        raise ConfigError(
            "no point of the sweep matches all of these.",
            place=" ".join(f"--only {text}" for text in only),
        )
    return replace(
        experiment,
        points=[experiment.points[index] for index in sorted(points)],
        algorithms=[experiment.algorithms[index] for index in sorted(algorithms)],
        whole=experiment,
    )


def _split(text: str) -> tuple[str, list[str]]:
    """Return the column and the texts between the commas."""
    column, equals, values = text.partition("=")
    pieces, start = [], 0
    while start <= len(values):
        quoted = _QUOTED.match(values, start)
        comma = _COMMA.search(values, quoted.end() if quoted else start)
        end = comma.start() if comma else len(values)
        pieces.append(values[start:end])
        start = end + 1
    if not equals or not column.strip() or not all(piece.strip() for piece in pieces):
        raise ConfigError(
            "a choice is written column=value[,value].",
            place=f"--only {text}",
            remedy="For example: --only algorithm=lasso.",
        )
    return column.strip(), pieces


def _joined(pieces: list[str], texts: set[str]) -> list[str]:
    """Return the values; pieces that together form a known text with commas are joined."""
    words = []
    while pieces:
        lengths = range(len(pieces), 1, -1)
        most = next((n for n in lengths if ",".join(pieces[:n]).strip() in texts), 1)
        words.append(",".join(pieces[:most]).strip())
        pieces = pieces[most:]
    return words


def _texts(rows: Rows) -> set[str]:
    return {one for row in rows.values() for one in row if isinstance(one, str)}


def _matching(column: str, word: str, rows: Rows, place: str) -> set[int]:
    """Return the rows that have a value, or one of a list of values.

    Raises
    ------
    ConfigError
        If a requested value does not occur in any row.
    """

    def rows_with(value: Any) -> set[int]:
        return {i for i, row in rows.items() if any(same_value(one, value) for one in row)}

    # A label that looks like a number is a text.
    value = word if rows_with(word) else read_text(word, place, lines=False).data
    listed = isinstance(value, list) and value and not rows_with(value)
    found: set[int] = set()
    for choice in value if listed else [value]:
        if column == "algorithm" and not isinstance(choice, str):
            choice = str(choice) if listed else word
        chosen = rows_with(choice)
        if not chosen:
            known = [one for row in rows.values() for one in row]
            near = did_you_mean(choice, _texts(rows)) if isinstance(choice, str) else ""
            raise ConfigError(
                f"the experiment has no algorithm '{choice}'."
                if column == "algorithm"
                else f"no point has {column} = {show(choice)}.",
                place=place,
                remedy=near if near.startswith("Did") else listing(known, choice),
            )
        found |= chosen
    return found
