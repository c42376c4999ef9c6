"""``--only column=value``: the part of an experiment to compute now."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import replace

from greedyexp.config.model import AlgorithmSpec, Experiment
from greedyexp.config.yaml_source import read_text
from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.experiment.messages import show

# A comma inside brackets belongs to a label ("greedy (nu=0.5, w=1.2)") or to a list, and one inside
# quotes to the text.
_COMMA = re.compile(r",(?![^(\[]*[)\]])")
_QUOTED = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*(?=,|$)""")
_LISTED = 12


def keep_only(experiment: Experiment, only: tuple[str, ...]) -> Experiment:
    """The experiment with the matching points and algorithms.

    Parameters
    ----------
    experiment : Experiment
        All of it.
    only : tuple of str
        ``column=value[,value]``, where a column is ``algorithm`` (label or name), a data parameter
        or, where the data are a list, ``data`` (the label of a block). Several of one column add
        up; different columns restrict each other. A label with commas may stand in quotes.

    Raises
    ------
    ConfigError
        When a column does not exist or a value does not occur.
    """
    points = list(range(len(experiment.points)))
    cells = [point.cells for point in experiment.points]
    columns = ["algorithm", *dict.fromkeys(name for point in cells for name in point)]
    algorithms = experiment.algorithms
    wanted: dict[str, set] = {}
    for text in only:
        column, pieces = _split(text)
        if column not in columns:
            raise ConfigError(
                f"there is no column '{column}' to choose by.",
                place=f"--only {text}",
                remedy=did_you_mean(column, columns),
            )
        if experiment.adaptive and experiment.adaptive.locate:
            _refuse_part_of_a_series(column, experiment.adaptive.locate.of, text)
        texts = _names(algorithms) if column == "algorithm" else _texts(column, cells)
        for word in _joined(pieces, texts):
            if column == "algorithm":
                found = _algorithms(word, algorithms, text)
            else:
                found = _points(column, word, cells, text)
            wanted.setdefault(column, set()).update(found)
    for column, found in wanted.items():
        if column == "algorithm":
            algorithms = [spec for spec in algorithms if spec.label in found]
        else:
            points = [index for index in points if index in found]
    if not points:
        raise ConfigError(
            "no point of the sweep matches all of these.",
            place=" ".join(f"--only {t}" for t in only),
        )
    return replace(
        experiment, points=[experiment.points[index] for index in points], algorithms=algorithms
    )


def _refuse_part_of_a_series(column: str, along: str, text: str) -> None:
    if column == along:
        raise ConfigError(
            f"the trials locate a crossing along {along}, which needs all of its values.",
            place=f"--only {text}",
            remedy="Choose by another column, or give a number of trials with --trials.",
        )


def _split(text: str) -> tuple[str, list[str]]:
    """The column, and what stands between the commas."""
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
    """The values: as many pieces as make a known text, commas included, or else one."""
    words = []
    while pieces:
        lengths = range(len(pieces), 1, -1)
        most = next((n for n in lengths if ",".join(pieces[:n]).strip() in texts), 1)
        words.append(",".join(pieces[:most]).strip())
        pieces = pieces[most:]
    return words


def _names(algorithms: list[AlgorithmSpec]) -> set[str]:
    return {name for spec in algorithms for name in (spec.label, spec.name, spec.entry)}


def _texts(column: str, points: list[dict]) -> set[str]:
    return {point[column] for point in points if isinstance(point.get(column), str)}


def _algorithms(word: str, algorithms: list[AlgorithmSpec], text: str) -> set[str]:
    names = _names(algorithms)
    value = word if word in names else read_text(word, f"--only {text}", lines=False).data
    # A label that reads like a number is a text all the same.
    listed = isinstance(value, list) and value
    chosen = map(str, value) if listed else [value if isinstance(value, str) else word]
    found: set[str] = set()
    for name in chosen:
        if name not in names:
            near = did_you_mean(name, names)
            raise ConfigError(
                f"the experiment has no algorithm '{name}'.",
                place=f"--only {text}",
                remedy=near if near.startswith("Did") else _told(sorted(names)),
            )
        found |= {spec.label for spec in algorithms if name in (spec.label, spec.name, spec.entry)}
    return found


def _points(column: str, word: str, points: list[dict], text: str) -> set[int]:
    values = {index: point[column] for index, point in enumerate(points) if column in point}
    # A label that reads like a number is a text all the same.
    found = {index for index, one in values.items() if one == word}
    if found:
        return found
    value = read_text(word, f"--only {text}", lines=False).data
    found = {index for index, one in values.items() if _same(one, value)}
    listed = isinstance(value, list) and value and not found
    for choice in value if listed else [value]:
        chosen = {index for index, one in values.items() if _same(one, choice)}
        if not chosen:
            raise ConfigError(
                f"no point has {column} = {show(choice)}.",
                place=f"--only {text}",
                remedy=_told(values.values()),
            )
        found |= chosen
    return found


def _told(values: Iterable) -> str:
    present = list(dict.fromkeys(map(show, values)))
    return f"It takes: {', '.join(present[:_LISTED])}{', ...' if len(present) > _LISTED else ''}."


def _same(one, other) -> bool:
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=1e-9)
    return one == other
