"""Relations that should hold in every row; the unit that counts is the data set."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from greedyexp.claims.decisions import Bounded, Tested, Unjudged
from greedyexp.claims.estimating import Estimates
from greedyexp.claims.expressions import columns_of, evaluate
from greedyexp.claims.kinds import STEPS
from greedyexp.claims.quantities import Always, Same
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
    algorithm : str
        Whose rows they are.
    rows : array of int, shape (n,)
    asked, told, broken : arrays of bool, shape (n,)
        Rows in which the relation is asked for, those that tell whether it holds, and those in
        which it does not.
    everyone : array of int
        Rows of all replicates of all algorithms in the test.
    lack : str
        What is missing when no row tells.
    """

    algorithm: str
    rows: np.ndarray
    asked: np.ndarray
    told: np.ndarray
    broken: np.ndarray
    everyone: np.ndarray
    lack: str


def always(test: Always, algorithm: str, estimates: Estimates) -> Tested:
    """A relation in all rows of one algorithm.

    A replicate violates it when any of its rows does. Where replicates have rows of several kinds,
    those in which a column is empty do not count: it is not theirs. A run that ended before it
    reached an accuracy has a number of iterations, only nobody knows it.
    """
    table = estimates.table
    shown = {"algorithm": algorithm}
    names = sorted(columns_of(test.left) | columns_of(test.right))
    try:
        rows = table.rows(algorithm, ())
        columns = {name: estimates.column(name, rows) for name in names}
    except Missing as lack:
        return Unjudged(shown, test.text, test.relation, reason=str(lack))
    sides = (evaluate(side, columns) for side in (test.left, test.right))
    left, right = (np.broadcast_to(side, rows.shape) for side in sides)
    asked = ~np.isin(table.frame["status"].to_numpy()[rows], FAILED)
    if table.setting.keys:
        asked &= ~np.any([_foreign(table, name, rows) for name in names], axis=0)
    told = asked & np.isfinite(left) & np.isfinite(right)
    broken = told & ~_holds(left, test.relation, right)
    lack = f"{algorithm} has no row with both sides"
    found = Found(algorithm, rows, asked, told, broken, everyone=rows, lack=lack)
    return _counted(test, shown, table, found, STEPS in names)


def same(test: Same, estimates: Estimates) -> Tested:
    """Two algorithms in all rows that both have: the same data set, replicate and keys."""
    table = estimates.table
    try:
        mine, others = (table.rows(label, ()) for label in (test.one, test.other))
        values = estimates.column(test.metric, np.arange(len(table.frame)))
    except Missing as lack:
        return Unjudged({}, test.text, test.relation, reason=str(lack))
    everyone = np.append(mine, others)
    mine, others = _matched(table, test, mine, others)
    one, other = values[mine], values[others]
    status = table.frame["status"].to_numpy()
    asked = ~np.isin(status[mine], FAILED) & ~np.isin(status[others], FAILED)
    # What neither has tells nothing: it is of another kind, or both ended before they got there.
    asked &= ~(np.isnan(one) & np.isnan(other))
    with np.errstate(invalid="ignore"):
        apart = np.abs(one - other)
    told = asked & np.isfinite(apart)
    broken = told & ~_holds(apart, "<=", np.full(len(apart), test.tolerance))
    lack = f"{test.one} and {test.other} have no {test.metric} in a common row"
    found = Found(test.one, mine, asked, told, broken, everyone=everyone, lack=lack)
    return _counted(test, {}, table, found, test.metric == STEPS)


def _foreign(table: Table, name: str, rows: np.ndarray) -> np.ndarray:
    """Rows in which a column is empty because it is not theirs."""
    empty = table.frame[name].isna().to_numpy()[rows]
    return empty & ~table.kinds.tells(name)[rows] if name == STEPS else empty


def _matched(table: Table, test: Same, mine: np.ndarray, others: np.ndarray) -> tuple:
    """Rows of two algorithms in pairs."""
    swept = [set(table.setting.swept_by([label])) for label in (test.one, test.other)]
    names = [n for n in (*table.setting.keys, *sorted(swept[0] & swept[1])) if n in table.frame]
    index = table.frame[names].assign(pair=table.pairs, row=np.arange(len(table.frame)))
    both = index.iloc[mine].merge(index.iloc[others], on=[*names, "pair"], suffixes=("", "_other"))
    return both["row"].to_numpy(), both["row_other"].to_numpy()


def _counted(test: Always | Same, shown: dict, table: Table, found: Found, steps: bool) -> Tested:
    """The test from its rows; ``steps`` says whether it is about numbers of iterations."""
    pairs = table.pairs[found.rows]
    seen, violated = np.unique(pairs[found.told]), np.unique(pairs[found.broken])
    untold = np.flatnonzero(found.asked & ~found.told)
    lack = found.lack
    # One violation refutes whatever the other rows say; to hold, a bound must be told in all.
    if len(untold) and not len(violated):
        # Of all such places the first, whatever the order of the rows.
        cells = (table.cell(found.algorithm, found.rows[place]) for place in untold)
        where = min(map(table.words, cells))
        what = "not reached or not finite" if steps else "not finite"
        lack = f"a number in the test is {what}{f' at {where}' if where else ''}"
    if not len(seen) or (len(untold) and not len(violated)):
        return Unjudged(shown, test.text, test.relation, reason=lack)
    points = len(table.cells((), table.setting.swept, [found.algorithm]))
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
