"""Relations that should hold in every row; the unit that counts is the data set."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from greedyexp.claims.decisions import Bounded, Tested, Unjudged
from greedyexp.claims.estimating import Estimates
from greedyexp.claims.expressions import Measurement, evaluate
from greedyexp.claims.kinds import STEPS
from greedyexp.claims.quantities import Always
from greedyexp.claims.table import Missing, Table
from greedyexp.frames.counts import FAILED
from greedyexp.protocols.outcome import Status

# Bounds are met up to rounding.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Found:
    """What the rows say of a relation.

    Parameters
    ----------
    algorithms : list of str
        Whose rows they are.
    rows : array of int, shape (k, n)
        Those of each algorithm that go together in a column.
    asked, told, broken : arrays of bool, shape (n,)
        Where the relation is asked for, where the rows tell whether it holds, and where it does
        not.
    everyone : array of int
        Rows of all replicates of these algorithms.
    """

    algorithms: list[str]
    rows: np.ndarray
    asked: np.ndarray
    told: np.ndarray
    broken: np.ndarray
    everyone: np.ndarray


def always(test: Always, algorithms: list[str], shown: dict, estimates: Estimates) -> Tested:
    """A relation in all rows of one algorithm, or in all that several have in common.

    A data set violates it when any of its rows does. Where replicates have rows of several kinds,
    those in which a column is empty do not count: it is not theirs. A run that ended before it
    reached an accuracy has a number of iterations, only nobody knows it.

    Parameters
    ----------
    test : Always
    algorithms : list of str
        Those that the relation names, or the one whose rows are looked at.
    shown : dict
        The group in the record of the test.
    estimates : Estimates
    """
    table = estimates.table
    try:
        everyone = [table.rows(label, ()) for label in algorithms]
        rows = _common(table, algorithms, everyone)
        columns = _columns(test, algorithms, rows, estimates)
    except Missing as lack:
        return Unjudged(shown, test.text, test.relation, reason=str(lack))
    sides = (evaluate(side, columns) for side in (test.left, test.right))
    left, right = (np.broadcast_to(side, rows.shape[1:]) for side in sides)
    asked = ~np.isin(table.frame["status"].to_numpy()[rows], FAILED).any(axis=0)
    if table.setting.keys:
        named = [(name, rows[0]) for name in test.columns]
        named += [(one.name, rows[algorithms.index(one.algorithm)]) for one in test.measurements]
        asked &= ~np.any([_foreign(table, *one) for one in named], axis=0)
    told = asked & np.isfinite(left) & np.isfinite(right)
    broken = told & ~_holds(left, test.relation, right)
    found = Found(algorithms, rows, asked, told, broken, np.concatenate(everyone))
    return _counted(test, shown, table, found)


def _common(table: Table, algorithms: list[str], everyone: list[np.ndarray]) -> np.ndarray:
    """Rows, shape (k, n), that go together.

    They are of one data set and replicate, and agree in keys and in what both algorithms sweep.
    """
    parts = []
    for place, (label, rows) in enumerate(zip(algorithms, everyone, strict=True)):
        names = (*table.setting.keys, *table.setting.swept_by([label]))
        part = table.frame[[name for name in dict.fromkeys(names) if name in table.frame]]
        parts.append(part.iloc[rows].assign(**{"#": table.pairs[rows], f"#{place}": rows}))
    # Every merge is on all columns that both sides have.
    joined = functools.reduce(pd.merge, parts)
    return joined[[f"#{place}" for place in range(len(parts))]].to_numpy().T


def _columns(test: Always, algorithms: list[str], rows: np.ndarray, estimates: Estimates) -> dict:
    """The values of all that the relation names, shape (n,) each.

    Raises
    ------
    Missing
        When the table does not have them, or when what stands without an algorithm differs.
    """
    columns: dict[str | Measurement, np.ndarray] = {}
    for name in sorted(test.columns):
        values = np.array([estimates.column(name, one) for one in rows])
        if not np.array_equal(values, values[:1].repeat(len(rows), axis=0), equal_nan=True):
            raise Missing(f"{name} is not the same for {' and '.join(algorithms)}")
        columns[name] = values[0]
    for one in sorted(test.measurements, key=lambda one: (one.name, one.algorithm)):
        columns[one] = estimates.column(one.name, rows[algorithms.index(one.algorithm)])
    return columns


def _foreign(table: Table, name: str, rows: np.ndarray) -> np.ndarray:
    """Rows in which a column is empty because it is not theirs."""
    empty = table.frame[name].isna().to_numpy()[rows]
    return empty & ~table.kinds.tells(name)[rows] if name == STEPS else empty


def _counted(test: Always, shown: dict, table: Table, found: Found) -> Tested:
    """The test from its rows."""
    first, rows = found.algorithms[0], found.rows[0]
    pairs = table.pairs[rows]
    seen, violated = np.unique(pairs[found.told]), np.unique(pairs[found.broken])
    untold = np.flatnonzero(found.asked & ~found.told)
    names = " and ".join(found.algorithms)
    own = "has no row" if len(found.algorithms) == 1 else "have no common row"
    lack = f"{names} {own} with both sides"
    # One violation refutes whatever the other rows say; to hold, a bound must be told in all.
    if len(untold) and not len(violated):
        # Of all such places the first, whatever the order of the rows.
        cells = (table.cell(first, rows[place]) for place in untold)
        where = min(map(table.words, cells))
        steps = STEPS in {*test.columns, *(one.name for one in test.measurements)}
        what = "not reached or not finite" if steps else "not finite"
        lack = f"a number in the test is {what}{f' at {where}' if where else ''}"
    if not len(seen) or (len(untold) and not len(violated)):
        return Unjudged(shown, test.text, test.relation, reason=lack)
    points = len(table.cells((), table.setting.swept, [first]))
    bounded = Bounded(
        shown,
        test.text,
        test.relation,
        estimate=len(violated) / len(seen),
        trials=math.ceil(len(seen) / points),
        failed=_replicates(table, found.everyone, FAILED),
        unconverged=_replicates(table, found.everyone, (Status.NOT_CONVERGED.value,)),
        violations=len(violated),
        replicates=len(seen),
        points=points,
    )
    bounded.judge()
    return bounded


def _replicates(table: Table, rows: np.ndarray, statuses: tuple[str, ...]) -> int:
    """Replicates that ended in one of some ways, each variant of an algorithm apart."""
    ended = rows[np.isin(table.frame["status"].to_numpy()[rows], statuses)]
    labels = table.frame["algorithm"].to_numpy()[ended]
    return len(pd.MultiIndex.from_arrays([table.pairs[ended], labels]).unique())


def _holds(left: np.ndarray, relation: str, right: np.ndarray) -> np.ndarray:
    """The relation in each row; one that allows equality does so up to rounding."""
    with np.errstate(invalid="ignore"):
        slack = ROUNDING * np.maximum(np.abs(left), np.abs(right))
        slack = np.where(np.isfinite(slack), slack, 0.0)
        return {
            "<": left < right,
            "<=": left <= right + slack,
            ">": left > right,
            ">=": left >= right - slack,
        }[relation]
