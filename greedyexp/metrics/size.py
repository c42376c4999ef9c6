"""How much an estimate selects."""

from __future__ import annotations

import numpy as np

from greedyexp.core.registry import metric
from greedyexp.problems.problem import Problem


@metric("support_size", better=None, title="support size")
def support_size(problem: Problem, coef: np.ndarray) -> np.ndarray:
    """Number of nonzero entries over all tasks."""
    return (coef != 0).sum(axis=(-2, -1))


@metric("row_support_size", better=None, title="row support size")
def row_support_size(problem: Problem, coef: np.ndarray) -> np.ndarray:
    """Number of rows with a nonzero entry in some task."""
    return (coef != 0).any(axis=-1).sum(axis=-1)


@metric("selected_features", better=None, title="selected features", text=True)
def selected_features(problem: Problem, coef: np.ndarray) -> np.ndarray:
    """Names of the features with a nonzero coefficient, joined by ``; ``; ``none`` without any.

    Of several tasks or classes the names for each, such as ``y_1: age; dose | y_2: none``. Without
    names features are x0, x1, ... and tasks ``task 0`` and so on. A name with ``;``, ``|``, ``:``
    or a quotation mark, and one that is ``none``, is written in quotation marks, those within it
    doubled.
    """
    labels = problem.feature_names or [f"x{i}" for i in range(problem.n_features)]
    names = np.array([_quoted(name) for name in labels], dtype=object)
    numbered = [f"task {j}" for j in range(problem.n_tasks)]
    tasks = [_quoted(name) for name in problem.class_names or numbered]
    flat = coef.reshape(-1, *coef.shape[-2:])
    texts = [_selected(point != 0, names, tasks) for point in flat]
    return np.array(texts, dtype=str).reshape(coef.shape[:-2])


def _selected(support: np.ndarray, names: np.ndarray, tasks: list[str]) -> str:
    lists = ["; ".join(names[column]) or "none" for column in support.T]
    if len(lists) == 1:
        return lists[0]
    return " | ".join(f"{task}: {text}" for task, text in zip(tasks, lists, strict=True))


def _quoted(name: str) -> str:
    plain = name == name.strip() != "none" and not any(mark in name for mark in ';|:"')
    return name if plain else '"' + name.replace('"', '""') + '"'


def selected_of(text: str) -> list[str]:
    """Parse a value of ``selected_features``: the features of all its tasks."""
    found: list[str] = []
    for part in _split(text, "|"):
        # Without tasks there is no colon outside quotation marks.
        names = _split(part, ":")[-1]
        found += [_unquoted(name) for name in _split(names, ";") if name.strip() != "none"]
    return found


def _split(text: str, mark: str) -> list[str]:
    """The parts between marks that are outside quotation marks."""
    parts, start, quoted = [], 0, False
    for place, character in enumerate(text):
        if character == '"':
            quoted = not quoted
        elif character == mark and not quoted:
            parts.append(text[start:place])
            start = place + 1
    return [*parts, text[start:]]


def _unquoted(name: str) -> str:
    name = name.strip()
    return name[1:-1].replace('""', '"') if name.startswith('"') else name
