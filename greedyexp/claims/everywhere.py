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
from greedyexp.claims.quantities import Always
from greedyexp.claims.table import Missing, Table
from greedyexp.protocols.outcome import Status
from greedyexp.results.counts import FAILED

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
    asked, told, broken, doubtful : arrays of bool, shape (n,)
        Where the relation is asked for, where the rows tell whether it holds, where it does not,
        and where it does not but a run did not converge.
    everyone : array of int
        Rows of all replicates of these algorithms.
    """

    algorithms: list[str]
    rows: np.ndarray
    asked: np.ndarray
    told: np.ndarray
    broken: np.ndarray
    doubtful: np.ndarray
    everyone: np.ndarray


def always(test: Always, algorithms: list[str], shown: dict, estimates: Estimates) -> Tested:
    """A relation in all rows of one algorithm, or in all that several have in common.

    A data set violates it when any of its rows does. What a run says that did not converge has no
    certificate: where it violates the relation, nobody knows whether it is the relation or the run
    that is wrong. Where replicates have rows of several kinds,
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
    statuses = table.frame["status"].to_numpy()[rows]
    asked = ~np.isin(statuses, FAILED).any(axis=0)
    if table.setting.keys:
        named = [(name, rows[0]) for name in test.columns]
        named += [(one.name, rows[algorithms.index(one.algorithm)]) for one in test.measurements]
        asked &= ~np.any([_foreign(table, *one) for one in named], axis=0)
    told = asked & np.isfinite(left) & np.isfinite(right)
    broken = told & ~_holds(left, test.relation, right)
    doubtful = broken & (statuses == Status.NOT_CONVERGED.value).any(axis=0)
    found = Found(algorithms, rows, asked, told, broken, doubtful, np.concatenate(everyone))
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
    known = name in table.setting.open_ended
    return empty & ~table.kinds.tells(name)[rows] if known else empty


def _counted(test: Always, shown: dict, table: Table, found: Found) -> Tested:
    """The test from its rows."""
    first, rows = found.algorithms[0], found.rows[0]
    pairs = table.pairs[rows]
    seen = np.unique(pairs[found.told])
    violated = np.unique(pairs[found.broken & ~found.doubtful])
    lack = _lack(test, table, found)
    # One violation refutes whatever the other rows say; to hold, a bound must be told in all.
    if lack and not len(violated):
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


def _lack(test: Always, table: Table, found: Found) -> str:
    """Why the rows cannot show that the relation holds; empty when they can."""
    first, rows = found.algorithms[0], found.rows[0]
    if found.doubtful.any():
        where = _place(table, first, rows[found.doubtful])
        return f"runs that did not converge violate it{where}, and have no certificate"
    untold = found.asked & ~found.told
    if untold.any():
        named = {*test.columns, *(one.name for one in test.measurements)}
        steps = named & {*table.setting.open_ended}
        what = "not reached or not finite" if steps else "not finite"
        return f"a number in the test is {what}{_place(table, first, rows[untold])}"
    if found.told.any():
        return ""
    own = "has no row" if len(found.algorithms) == 1 else "have no common row"
    return f"{' and '.join(found.algorithms)} {own} with both sides"


def _place(table: Table, label: str, rows: np.ndarray) -> str:
    """Where the first of some rows stands, whatever their order; empty without swept columns."""
    where = min(table.words(table.cell(label, row)) for row in rows)
    return f" at {where}" if where else ""


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
