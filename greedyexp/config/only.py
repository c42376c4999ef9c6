"""``--only column=value``: restriction of an experiment to some points and algorithms."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from greedyexp.config.document import read_text
from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.experiment.messages import show
from greedyexp.experiment.model import AlgorithmSpec, Experiment
from greedyexp.experiment.parameters import same_value

# Only other commas separate values: one in brackets belongs to a label such as
# "greedy (nu=0.5, w=1.2)" or to a list, and one in quotes to a text.
_COMMA = re.compile(r",(?![^(\[]*[)\]])")
_QUOTED = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*(?=,|$)""")
_LISTED = 12


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
    labels: set[str] | None = None
    points: dict[str, set[int]] = {}
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
            names = {name for spec in experiment.algorithms for name in _names(spec)}
            for word in _joined(pieces, names):
                labels = (labels or set()) | _labels(word, experiment.algorithms, place)
        else:
            values = {i: point[column] for i, point in enumerate(cells) if column in point}
            texts = {value for value in values.values() if isinstance(value, str)}
            for word in _joined(pieces, texts):
                points.setdefault(column, set()).update(_points(column, word, values, place))
    kept = set(range(len(cells))).intersection(*points.values())
    if not kept:
        raise ConfigError(
            "no point of the sweep matches all of these.",
            place=" ".join(f"--only {text}" for text in only),
        )
    return replace(
        experiment,
        points=[experiment.points[index] for index in sorted(kept)],
        algorithms=[
            spec for spec in experiment.algorithms if labels is None or spec.label in labels
        ],
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
            remedy="Such as --only algorithm=lasso.",
        )
    return column.strip(), pieces


def _joined(pieces: list[str], texts: set[str]) -> list[str]:
    """Return the values, joining pieces that form one of the known texts with commas."""
    words = []
    while pieces:
        lengths = range(len(pieces), 1, -1)
        most = next((n for n in lengths if ",".join(pieces[:n]).strip() in texts), 1)
        words.append(",".join(pieces[:most]).strip())
        pieces = pieces[most:]
    return words


def _names(spec: AlgorithmSpec) -> tuple[str, str, str]:
    return spec.label, spec.name, spec.entry


def _labels(word: str, algorithms: list[AlgorithmSpec], place: str) -> set[str]:
    known = {name for spec in algorithms for name in _names(spec)}
    value = word if word in known else read_text(word, place, lines=False).data
    # A label that looks like a number is a text.
    listed = isinstance(value, list) and value
    names = list(map(str, value)) if listed else [value if isinstance(value, str) else word]
    for name in names:
        if name not in known:
            near = did_you_mean(name, known)
            raise ConfigError(
                f"the experiment has no algorithm '{name}'.",
                place=place,
                remedy=near if near.startswith("Did") else _listing(sorted(known)),
            )
    return {spec.label for spec in algorithms if set(names) & set(_names(spec))}


def _points(column: str, word: str, values: dict[int, Any], place: str) -> set[int]:
    # A label that looks like a number is a text.
    found = {index for index, one in values.items() if one == word}
    if found:
        return found
    value = read_text(word, place, lines=False).data
    found = {index for index, one in values.items() if same_value(one, value)}
    listed = isinstance(value, list) and value and not found
    for choice in value if listed else [value]:
        chosen = {index for index, one in values.items() if same_value(one, choice)}
        if not chosen:
            raise ConfigError(
                f"no point has {column} = {show(choice)}.",
                place=place,
                remedy=_listing(values.values()),
            )
        found |= chosen
    return found


def _listing(values: Iterable[Any]) -> str:
    texts = list(dict.fromkeys(map(show, values)))
    return f"It takes: {', '.join(texts[:_LISTED])}{', ...' if len(texts) > _LISTED else ''}."
