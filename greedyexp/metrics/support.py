"""Metrics of the support: which coefficients are selected.

A selected coefficient counts even if its value is zero by chance; see ``SparseEstimates``.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from greedyexp.core.registry import metric
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem

_support = partial(metric, of="path")
_exact = partial(_support, better="higher", binary=True, requires=("truth",))
_wrong = partial(_support, better="lower", requires=("truth",))


def truth_of(problem: Problem) -> np.ndarray:
    """Return the true coefficients, shape (p, r), for metrics that require them."""
    if problem.truth is None:
        raise ValueError("the problem has no true coefficients.")
    return problem.truth


@_exact("sign_support", title="exact sign support")
def sign_support(problem: Problem, path: Path) -> np.ndarray:
    """1 when exactly the true entries are selected and have the true signs, else 0."""
    truth = truth_of(problem)
    right = path.sparse.compared(truth).right_signs == np.count_nonzero(truth)
    return (right & (path.sparse.sizes == np.count_nonzero(truth))).astype(int)


@_exact("support", title="exact support")
def support(problem: Problem, path: Path) -> np.ndarray:
    """1 when exactly the true entries are selected, else 0."""
    wrong = false_positives(problem, path) + false_negatives(problem, path)
    return (wrong == 0).astype(int)


@_exact("row_support", title="exact row support")
def row_support(problem: Problem, path: Path) -> np.ndarray:
    """1 when exactly the rows with a true nonzero have a selected entry, else 0."""
    true = np.any(truth_of(problem), axis=1)
    owners, features = path.sparse.rows()
    found = np.bincount(owners[true[features]], minlength=len(path))
    return ((found == true.sum()) & (path.sparse.row_sizes == true.sum())).astype(int)


@_wrong("false_positives", title="false positives")
def false_positives(problem: Problem, path: Path) -> np.ndarray:
    """Number of selected entries that are truly zero."""
    return path.sparse.sizes - path.sparse.compared(truth_of(problem)).found


@_wrong("false_negatives", title="false negatives")
def false_negatives(problem: Problem, path: Path) -> np.ndarray:
    """Number of entries that are truly nonzero and not selected."""
    truth = truth_of(problem)
    return np.count_nonzero(truth) - path.sparse.compared(truth).found


@_support("f_measure", better="higher", title="F-measure", requires=("truth",))
def f_measure(problem: Problem, path: Path) -> np.ndarray:
    """2 |F and F*| / (|F| + |F*|) of the selected entries F and the true ones F*.

    It is the harmonic mean of precision and recall, in [0, 1], and 1 if both are empty. Liu,
    Fujimaki & Ye (2014), Section 5.
    """
    truth = truth_of(problem)
    sizes = path.sparse.sizes + np.count_nonzero(truth)
    both = path.sparse.compared(truth).found
    return np.where(sizes == 0, 1.0, 2.0 * both / np.maximum(sizes, 1))


@_support("support_size", better=None, title="support size")
def support_size(problem: Problem, path: Path) -> np.ndarray:
    """Number of selected entries over all tasks."""
    return path.sparse.sizes


@_support("row_support_size", better=None, title="row support size")
def row_support_size(problem: Problem, path: Path) -> np.ndarray:
    """Number of rows with a selected entry in some task."""
    return path.sparse.row_sizes


@_support("selected_features", better=None, title="selected features", text=True)
def selected_features(problem: Problem, path: Path) -> np.ndarray:
    """Names of the selected features, joined by ``; ``, or else ``none``.

    With several tasks or classes, each has its own list, such as ``y_1: age; dose | y_2: none``.
    Unnamed features are called x0, x1, ..., unnamed tasks ``task 0``, ``task 1``, ... A name is
    quoted if it is ``none`` or contains ``;``, ``|``, ``:`` or a quotation mark; quotation marks
    inside it are doubled.
    """
    labels = problem.feature_names or [f"x{i}" for i in range(problem.n_features)]
    names = np.array([_quoted(name) for name in labels], dtype=object)
    numbered = [f"task {j}" for j in range(problem.n_tasks)]
    tasks = [_quoted(name) for name in problem.class_names or numbered]
    return np.array([_selected(one, names, tasks) for one in path.sparse.supports()], dtype=str)


def _selected(support: np.ndarray, names: np.ndarray, tasks: list[str]) -> str:
    lists = ["; ".join(names[column]) or "none" for column in support.T]
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
