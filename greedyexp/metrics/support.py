"""Metrics of the support: which coefficients are nonzero."""

from __future__ import annotations

from functools import partial

import numpy as np

from greedyexp.core.registry import metric
from greedyexp.problems.problem import Problem

_exact = partial(metric, better="higher", binary=True, requires=("truth",))
_wrong = partial(metric, better="lower", requires=("truth",))


def truth_of(problem: Problem) -> np.ndarray:
    """Return the true coefficients, shape (p, r), for metrics that require them."""
    if problem.truth is None:
        raise ValueError("the problem has no true coefficients.")
    return problem.truth


@_exact("sign_support", title="exact sign support")
def sign_support(problem: Problem, coef: np.ndarray) -> np.ndarray:
    """1 when every coefficient has the true sign (zero included), else 0."""
    return (np.sign(coef) == np.sign(truth_of(problem))).all(axis=(-2, -1)).astype(int)


@_exact("support", title="exact support")
def support(problem: Problem, coef: np.ndarray) -> np.ndarray:
    """1 when exactly the true entries are nonzero, else 0."""
    return ((coef != 0) == (truth_of(problem) != 0)).all(axis=(-2, -1)).astype(int)


@_exact("row_support", title="exact row support")
def row_support(problem: Problem, coef: np.ndarray) -> np.ndarray:
    """1 when exactly the rows with a true nonzero have a nonzero, else 0."""
    found = (coef != 0).any(axis=-1)
    return (found == (truth_of(problem) != 0).any(axis=-1)).all(axis=-1).astype(int)


@_wrong("false_positives", title="false positives")
def false_positives(problem: Problem, coef: np.ndarray) -> np.ndarray:
    """Number of nonzero entries that are truly zero."""
    return ((coef != 0) & (truth_of(problem) == 0)).sum(axis=(-2, -1))


@_wrong("false_negatives", title="false negatives")
def false_negatives(problem: Problem, coef: np.ndarray) -> np.ndarray:
    """Number of zero entries that are truly nonzero."""
    return ((coef == 0) & (truth_of(problem) != 0)).sum(axis=(-2, -1))


@metric("f_measure", better="higher", title="F-measure", requires=("truth",))
def f_measure(problem: Problem, coef: np.ndarray) -> np.ndarray:
    """2 |F and F*| / (|F| + |F*|) of the nonzero entries F and the true ones F*.

    It is the harmonic mean of precision and recall, in [0, 1], and 1 if both are empty. Liu,
    Fujimaki & Ye (2014), Section 5.
    """
    found, true = coef != 0, truth_of(problem) != 0
    both = (found & true).sum(axis=(-2, -1))
    sizes = found.sum(axis=(-2, -1)) + true.sum()
    return np.where(sizes == 0, 1.0, 2.0 * both / np.maximum(sizes, 1))


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
    """Names of the features with a nonzero coefficient, joined by ``; ``, or else ``none``.

    With several tasks or classes, each has its own list, such as ``y_1: age; dose | y_2: none``.
    Unnamed features are called x0, x1, ..., unnamed tasks ``task 0``, ``task 1``, ... A name is
    quoted if it is ``none`` or contains ``;``, ``|``, ``:`` or a quotation mark; quotation marks
    inside it are doubled.
    """
    labels = problem.feature_names or [f"x{i}" for i in range(problem.n_features)]
    names = np.array([_quoted(name) for name in labels], dtype=object)
    numbered = [f"task {j}" for j in range(problem.n_tasks)]
    tasks = [_quoted(name) for name in problem.class_names or numbered]
    flat = coef.reshape(-1, *coef.shape[-2:])
    texts = [_selected(point != 0, names, tasks) for point in flat]
    return np.array(texts, dtype=str).reshape(coef.shape[:-2])


def _selected(nonzero: np.ndarray, names: np.ndarray, tasks: list[str]) -> str:
    lists = ["; ".join(names[column]) or "none" for column in nonzero.T]
    if len(lists) == 1:
        return lists[0]
    return " | ".join(f"{task}: {text}" for task, text in zip(tasks, lists, strict=True))


def _quoted(name: str) -> str:
    plain = name == name.strip() != "none" and not any(mark in name for mark in ';|:"')
    return name if plain else '"' + name.replace('"', '""') + '"'


def selected_of(text: str) -> list[str]:
    """Parse a value of ``selected_features``: return the features of all its tasks."""
    found: list[str] = []
    for part in _split(text, "|"):
        # With a single task there is no colon outside quotation marks.
        names = _split(part, ":")[-1]
        found += [_unquoted(name) for name in _split(names, ";") if name.strip() != "none"]
    return found


def _split(text: str, mark: str) -> list[str]:
    """Split a text at the marks outside quotation marks."""
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
