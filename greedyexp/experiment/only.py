"""``--only column=value``: the part of an experiment to compute now."""

from __future__ import annotations

import math
import re
from dataclasses import replace

from greedyexp.errors import ConfigError, did_you_mean
from greedyexp.experiment.model import AlgorithmSpec, Experiment
from greedyexp.experiment.sentences import show
from greedyexp.experiment.yaml_source import read_text

# A comma inside brackets belongs to a label ("greedy (nu=0.5, w=1.2)") or to a list.
_COMMA = re.compile(r",(?![^(\[]*[)\]])")


def keep_only(
    experiment: Experiment, families: dict[str, str], only: tuple[str, ...]
) -> Experiment:
    """The experiment with the matching points and algorithms.

    Parameters
    ----------
    experiment : Experiment
        All of it.
    families : dict of label to str
        The entry label of each algorithm.
    only : tuple of str
        ``column=value[,value]``, where a column is ``algorithm`` (label or name), a data parameter
        or, where the data are a list, ``data`` (the label of a block). Several of one column add
        up; different columns restrict each other.

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
        column, words = _split(text)
        if column not in columns:
            raise ConfigError(
                f"there is no column '{column}' to choose by.",
                place=f"--only {text}",
                remedy=did_you_mean(column, columns),
            )
        if experiment.adaptive and experiment.adaptive.locate:
            _refuse_part_of_a_series(column, experiment.adaptive.locate.of, text)
        for word in words:
            if column == "algorithm":
                found = _algorithms(word, algorithms, families, text)
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
    column, equals, values = text.partition("=")
    words = [word.strip() for word in _COMMA.split(values)]
    if not equals or not column.strip() or not all(words):
        raise ConfigError(
            "a choice is written column=value[,value].",
            place=f"--only {text}",
            remedy="Such as --only algorithm=lasso.",
        )
    return column.strip(), words


def _algorithms(
    word: str, algorithms: list[AlgorithmSpec], families: dict[str, str], text: str
) -> set[str]:
    found = {
        spec.label for spec in algorithms if word in (spec.label, spec.name, families[spec.label])
    }
    if not found:
        raise ConfigError(
            f"the experiment has no algorithm '{word}'.",
            place=f"--only {text}",
            remedy=did_you_mean(
                word, [name for spec in algorithms for name in (spec.label, spec.name)]
            ),
        )
    return found


def _points(column: str, word: str, points: list[dict], text: str) -> set[int]:
    value = read_text(word, f"--only {text}", lines=False).data
    values = {index: point[column] for index, point in enumerate(points) if column in point}
    # A label that reads like a number is a text all the same.
    found = {index for index, one in values.items() if one == word or _same(one, value)}
    if not found:
        present = list(dict.fromkeys(map(show, values.values())))
        told = ", ".join(present[:12]) + (", ..." if len(present) > 12 else "")
        raise ConfigError(
            f"no point has {column} = {show(value)}.",
            place=f"--only {text}",
            remedy=f"It takes: {told}.",
        )
    return found


def _same(one, other) -> bool:
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=1e-9)
    return one == other
