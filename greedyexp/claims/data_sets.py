"""Tests in every row: data sets are counted in which a relation holds or is violated."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from greedyexp.claims.combinations import Contrast
from greedyexp.claims.decisions import Compared, Counts, JudgedTest
from greedyexp.claims.estimates import Estimator, Sample
from greedyexp.claims.language import Always, Column, evaluate
from greedyexp.claims.table import MissingData, Table
from greedyexp.stats.rounding import ROUNDING


@dataclass(frozen=True)
class _Checked:
    """The rows in which a relation is checked; column i has those of one data set.

    Parameters
    ----------
    rows : array of int, shape (k, n)
        Rows of the table, those of k algorithms.
    all_rows : array of int
        All rows of the algorithms, also those that are not common.
    pairs : array of int, shape (n,)
        Data sets.
    lost : array of int
        Data sets with a failed run.
    relevant, known, violated, doubtful : array of bool, shape (n,)
        Rows that did not fail and have all columns; those with finite sides; those of them that
        violate the relation; and violations by a run that did not converge.
    """

    rows: np.ndarray
    all_rows: np.ndarray
    pairs: np.ndarray
    lost: np.ndarray
    relevant: np.ndarray
    known: np.ndarray
    violated: np.ndarray
    doubtful: np.ndarray


def always(
    test: Always,
    algorithms: list[str],
    shown: dict[str, Any],
    estimator: Estimator,
    exhaustive: bool,
) -> JudgedTest:
    """Test a relation in all rows of one algorithm, or in the common rows of several algorithms.

    Data sets are counted; a data set violates the relation if any of its rows does. A violation by
    a run that did not converge proves nothing: either the relation or the run may be wrong. A data
    set with a failed run may violate the relation or not, and counts against support. If
    replicates have rows of several kinds, only kinds that have all columns are used. If a run ended
    before it reached an accuracy, its number of iterations is unknown. With ``usually``, the share
    of data sets with the relation in more than half of their rows is compared with one half. If the
    claim is about exactly these data sets, the counts decide.

    Parameters
    ----------
    shown : dict
        The group of the test.
    exhaustive : bool

    Raises
    ------
    MissingData
        If the table lacks a column or the rows of an algorithm.
    """
    table = estimator.table
    found = _checked(test, algorithms, estimator)
    common: dict[str, Any] = {
        "group": shown,
        "text": test.text,
        "runs": _replicates(table, found.all_rows),
        "failed": _replicates(table, found.all_rows[table.failed[found.all_rows]]),
        "unconverged": _replicates(table, found.all_rows[table.unconverged[found.all_rows]]),
        "arms": frozenset(table.arms[found.all_rows].tolist()),
    }
    points = len(table.cells((), table.setting.swept, algorithms[:1]))
    if test.usually:
        return _usually(test, algorithms, found, points, estimator, exhaustive, common)
    seen = np.unique(found.pairs[found.known])
    violations = np.unique(found.pairs[found.violated & ~found.doubtful])
    # A single violation refutes the relation; support needs all rows.
    if not len(violations):
        _refuse_lacks(test, algorithms, table, found)
        if exhaustive and common["failed"]:
            raise MissingData("a run failed, and the claim is about every data set")
    counts = Counts(
        violations=len(violations),
        replicates=len(seen),
        lost=len(np.setdiff1d(found.lost, violations)),
        checked=len(np.union1d(seen, found.lost)),
        points=points,
        exhaustive=exhaustive,
        resampled=estimator.resampled(found.all_rows) and not exhaustive,
    )
    return JudgedTest(evidence=counts, **common)


def _usually(
    test: Always,
    algorithms: list[str],
    found: _Checked,
    points: int,
    estimator: Estimator,
    exhaustive: bool,
    common: dict[str, Any],
) -> JudgedTest:
    """Compare the share of data sets in which a relation usually holds with one half.

    Doubtful violations, and data sets with a failed run, count as violations if the share is still
    above one half, and otherwise not. If they decide on which side it is, the test has no answer.
    """
    table = estimator.table
    if not exhaustive:
        estimator.refuse_splits("share of data sets", found.all_rows)
    if not found.known.any() or (found.relevant & ~found.known).any():
        _refuse_lacks(test, algorithms, table, found)
    wins = _held_usually(found, found.violated, 0.0)
    if wins.mean() <= 0.5:
        wins = _held_usually(found, found.violated & ~found.doubtful, 1.0)
        if wins.mean() > 0.5:
            _refuse_lacks(test, algorithms, table, found)
            raise MissingData(
                f"runs failed in {len(found.lost)} of {len(wins)} data sets, which decide it"
            )
    if exhaustive:
        count = len(wins)
        lost = count - int(wins.sum())
        counts = Counts(lost, count, 0, count, points, exhaustive=True, usually=True)
        return JudgedTest(evidence=counts, **common)
    sample = Sample(
        np.arange(len(wins)), common["failed"], common["unconverged"], points, common["arms"]
    )
    # Points of a sweep have different probabilities.
    share = estimator.share(wins, sample, identical=points == 1)
    return JudgedTest(evidence=Compared(Contrast((share,), np.ones(1), 0.0), ">", 0.5), **common)


def _checked(test: Always, algorithms: list[str], estimator: Estimator) -> _Checked:
    """Evaluate a relation in the rows of the algorithms."""
    table = estimator.table
    everyone = [table.rows(label, ()) for label in algorithms]
    rows = _common_rows(table, algorithms, everyone)
    columns = _values_in(test, algorithms, rows, estimator)
    sides = (evaluate(side, columns) for side in (test.left, test.right))
    left, right = (np.broadcast_to(side, rows.shape[1:]) for side in sides)
    relevant = ~table.failed[rows].any(axis=0)
    if table.setting.keys:
        for one in columns:
            own = rows[algorithms.index(one.algorithm) if one.algorithm else 0]
            relevant &= ~_not_applicable(table, one.name, own)
    known = relevant & np.isfinite(left) & np.isfinite(right)
    violated = known & ~_holds(left, test.relation, right)
    doubtful = violated & table.unconverged[rows].any(axis=0)
    all_rows, pairs = np.concatenate(everyone), table.pairs[rows[0]]
    lost = np.unique(table.pairs[all_rows[table.failed[all_rows]]])
    return _Checked(rows, all_rows, pairs, lost, relevant, known, violated, doubtful)


def _held_usually(found: _Checked, violated: np.ndarray, of_lost: float) -> np.ndarray:
    """Return 1 for each data set with more than half of its rows in a relation, 0 for the others.

    Parameters
    ----------
    violated : array of bool, shape (n,)
        Rows that violate the relation.
    of_lost : float
        What is returned for a data set with a failed run.
    """
    rows = found.known & ~np.isin(found.pairs, found.lost)
    _, place = np.unique(found.pairs[rows], return_inverse=True)
    share = np.bincount(place, weights=~violated[rows]) / np.bincount(place)
    return np.append(share > 0.5, np.full(len(found.lost), of_lost)).astype(float)


def _refuse_lacks(test: Always, algorithms: list[str], table: Table, found: _Checked) -> None:
    """Raise ``MissingData`` if doubtful violations or unknown numbers leave a relation open."""
    doubtful = found.rows[0][found.doubtful]
    if len(doubtful):
        place = _first_place(table, algorithms[0], doubtful)
        raise MissingData(f"runs that did not converge violate it{place}, and have no certificate")
    unknown = found.rows[0][found.relevant & ~found.known]
    if len(unknown):
        names = {one.name for one in test.leaves}
        open_ended = not names.isdisjoint(table.setting.open_ended)
        problem = "not reached or not finite" if open_ended else "not finite"
        place = _first_place(table, algorithms[0], unknown)
        raise MissingData(f"a number in the test is {problem}{place}")
    if not found.known.any():
        verb = "has no row" if len(algorithms) == 1 else "have no common row"
        raise MissingData(f"{' and '.join(algorithms)} {verb} with both sides")


def _common_rows(table: Table, algorithms: list[str], everyone: list[np.ndarray]) -> np.ndarray:
    """Return the rows, shape (k, n), that k algorithms have in common.

    The rows in a column belong to one data set and agree in the keys and in the swept columns that
    they have in common.
    """
    parts = []
    for place, (label, rows) in enumerate(zip(algorithms, everyone, strict=True)):
        names = (*table.setting.keys, *table.setting.swept_by([label]))
        part = table.frame[[name for name in dict.fromkeys(names) if name in table.frame]]
        parts.append(part.iloc[rows].assign(**{"#": table.pairs[rows], f"#{place}": rows}))
    # Each merge uses all columns that both sides have.
    joined: pd.DataFrame = functools.reduce(pd.merge, parts)
    return np.stack([joined[f"#{place}"].to_numpy() for place in range(len(parts))])


def _values_in(
    test: Always, algorithms: list[str], rows: np.ndarray, estimator: Estimator
) -> dict[Column, np.ndarray]:
    """Return the values of all columns in a relation, shape (n,) each.

    Raises
    ------
    MissingData
        If the table lacks a column, or if a column without an algorithm has different values in the
        rows of the algorithms.
    """
    columns: dict[Column, np.ndarray] = {}
    for one in sorted(test.leaves, key=lambda one: (one.algorithm, one.name)):
        if one.algorithm:
            columns[one] = estimator.column(one.name, rows[algorithms.index(one.algorithm)])
            continue
        values = np.array([estimator.column(one.name, place) for place in rows])
        if not np.array_equal(values, values[:1].repeat(len(rows), axis=0), equal_nan=True):
            raise MissingData(f"{one.name} is not the same for {' and '.join(algorithms)}")
        columns[one] = values[0]
    return columns


def _not_applicable(table: Table, name: str, rows: np.ndarray) -> np.ndarray:
    """Return a mask of the rows with an empty cell because their kind lacks the column."""
    empty: np.ndarray = np.isnan(np.asarray(table.column(name)[rows], dtype=float))
    return empty & ~table.kinds.have(name, rows) if name in table.setting.open_ended else empty


def _first_place(table: Table, label: str, rows: np.ndarray) -> str:
    """Return the place of one of the rows; the choice does not depend on their order."""
    return min(table.place_text(table.cell(label, row)) for row in rows)


def _replicates(table: Table, rows: np.ndarray) -> int:
    """Count the replicates of some rows, separately for each variant."""
    return len(np.unique(table.pairs[rows] * (table.labels.max() + 1) + table.labels[rows]))


def _holds(left: np.ndarray, relation: str, right: np.ndarray) -> np.ndarray:
    """Return a mask of the rows in which the relation holds; equality is up to rounding."""
    with np.errstate(invalid="ignore"):
        slack = ROUNDING * np.maximum(np.abs(left), np.abs(right))
        slack = np.where(np.isfinite(slack), slack, 0.0)
        holds: dict[str, np.ndarray] = {
            "<": left < right,
            "<=": left <= right + slack,
            ">": left > right,
            ">=": left >= right - slack,
        }
        return holds[relation]
