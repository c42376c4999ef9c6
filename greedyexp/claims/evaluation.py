"""Evaluation of the claims of an experiment against its table."""

from __future__ import annotations

import functools
import itertools
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from greedyexp.claims.contrasts import Contrast, contrast, number
from greedyexp.claims.decisions import Bounded, Compared, Counted, JudgedTest, Verdict
from greedyexp.claims.estimates import Estimator, Sample
from greedyexp.claims.language import (
    Always,
    Claim,
    Column,
    Comparison,
    Form,
    Monotone,
    Test,
    evaluate,
)
from greedyexp.claims.rules import columns_along
from greedyexp.claims.setting import Setting
from greedyexp.claims.table import Group, MissingData, Table
from greedyexp.protocols.base import Status
from greedyexp.results.records import FAILED, as_list
from greedyexp.stats.multiplicity import holm

if TYPE_CHECKING:
    import pandas as pd

ALPHA = 0.05
# Relative rounding error allowed in a relation that includes equality.
ROUNDING = 1e-9


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with its tests.

    Parameters
    ----------
    claim : Claim
    tests : list of JudgedTest
        One test with its verdict for each test of the claim and each group.
    """

    claim: Claim
    tests: list[JudgedTest]

    @property
    def verdict(self) -> Verdict:
        """Refuted if any test is refuted, supported if all are supported."""
        verdicts = {test.verdict for test in self.tests}
        if Verdict.REFUTED in verdicts:
            return Verdict.REFUTED
        return Verdict.SUPPORTED if verdicts == {Verdict.SUPPORTED} else Verdict.INCONCLUSIVE


def evaluate_claims(
    claims: Sequence[Claim], frame: pd.DataFrame, setting: Setting
) -> list[JudgedClaim]:
    """Judge claims with the data of a tidy table.

    Parameters
    ----------
    claims : sequence of Claim
    frame : DataFrame
        The tidy table.
    setting : Setting
        The sweeps and algorithms of the run.

    Returns
    -------
    list of JudgedClaim
        The judged claims, in the order of ``claims``. Holm's method bounds the error probability of
        all tests of one figure together by 5%; tests without an answer are counted.
    """
    judged = tested_claims(claims, Table(frame, setting))
    for family in families(judged):
        _decide([test for one in family for test in one.tests])
    return judged


def tested_claims(claims: Sequence[Claim], whole: Table) -> list[JudgedClaim]:
    """Return the claims with their tests, which are not decided yet."""
    estimators: dict[str, Estimator] = {}
    judged = []
    for claim in claims:
        key = json.dumps(claim.where, sort_keys=True, default=str)
        if key not in estimators:
            estimators[key] = Estimator(whole.narrowed(claim.where))
        tests = [one for test in claim.tests for one in _tested(test, claim, estimators[key])]
        judged.append(JudgedClaim(claim, tests))
    return judged


def families(judged: Sequence[JudgedClaim]) -> Iterator[list[JudgedClaim]]:
    """Yield the claims of each figure, whose p-values are corrected together."""
    for figure in dict.fromkeys(one.claim.figure for one in judged):
        yield [one for one in judged if one.claim.figure == figure]


def _decide(tests: list[JudgedTest]) -> None:
    """Decide the tests of one family by Holm's method."""
    decisions = holm([1.0 if test.p is None else test.p for test in tests], ALPHA)
    for test, adjusted, level in zip(
        tests, decisions.adjusted.tolist(), decisions.levels.tolist(), strict=True
    ):
        test.decide(adjusted, level, ALPHA)
        test.round()


def _tested(test: Test, claim: Claim, estimator: Estimator) -> list[JudgedTest]:
    table = estimator.table
    try:
        if not len(table.frame):
            where = ", ".join(f"{name} = {value}" for name, value in claim.where.items())
            raise MissingData(f"the table has no rows{f' with {where}' if where else ''}")
        match test:
            case Comparison():
                return _comparisons(test, claim.margin or 0.0, estimator)
            case Monotone():
                return _steps(test, estimator)
            case Always() if test.algorithms:
                return [_always(test, test.algorithms, {}, estimator, claim.exhaustive)]
            case Always():
                wanted = claim.where.get("algorithm", list(table.setting.algorithms))
                labels = sorted(as_list(wanted))
                return [
                    _always(test, [one], {"algorithm": one}, estimator, claim.exhaustive)
                    for one in labels
                ]
    except MissingData as lack:
        return [_unanswered(test, {}, lack)]


def _unanswered(test: Test, shown: dict[str, Any], lack: MissingData) -> JudgedTest:
    return JudgedTest(group=shown, text=test.text, relation=test.relation, reason=str(lack))


def _comparisons(test: Comparison, margin: float, estimator: Estimator) -> list[JudgedTest]:
    table = estimator.table

    def measure(group: Group) -> tuple[Contrast, float]:
        found = contrast(test.form, group, estimator)
        return found, number(test.boundary, group, test.form.algorithms, table)

    groups = _groups(test.form, (), table)
    return [_compared(test, table.shown(one), partial(measure, one), margin) for one in groups]


def _groups(form: Form, along: tuple[str, ...], table: Table) -> list[Group]:
    """Return the groups of a test, or one empty group if its algorithms have none.

    Raises
    ------
    MissingData
        If no group has the measurements of the test.
    """
    used = columns_along(form, along, table.setting)
    groups = table.groups(form.algorithms, used) or [()]
    having = [group for group in groups if table.has_metrics(group, form.metrics)]
    if not having:
        raise MissingData(f"no row of the table has a number of {' and '.join(form.metrics)}")
    return having


def _steps(test: Monotone, estimator: Estimator) -> list[JudgedTest]:
    """Return a test for each step from a value of the column to the next."""
    table = estimator.table

    def measure(before: Group, after: Group) -> tuple[Contrast, float]:
        low, high = (contrast(test.form, cell, estimator) for cell in (before, after))
        return high.minus(low), 0.0

    tested = []
    for group in _groups(test.form, (test.column,), table):
        shown = table.shown(group)
        try:
            cells = _ordered_cells(test, group, table)
        except MissingData as lack:
            tested.append(_unanswered(test, shown, lack))
            continue
        for (low, before), (high, after) in itertools.pairwise(cells):
            step = shown | {test.column: [low, high]}
            tested.append(_compared(test, step, partial(measure, before, after)))
    return tested


def _ordered_cells(test: Monotone, group: Group, table: Table) -> list[tuple[float, Group]]:
    """Return pairs of value and cell along the column of a test, in increasing order."""
    labels = test.form.algorithms
    cells = table.cells(group, table.setting.zipped_with(test.column, labels), labels)
    values: list[Any] = [table.shown(cell).get(test.column) for cell in cells]
    if any(isinstance(one, bool) or not isinstance(one, (int, float)) for one in values):
        raise MissingData(f"{test.column} is not a number everywhere")
    if len(set(values)) < 2:
        raise MissingData(f"there is only one value of {test.column}")
    return sorted(zip(values, cells, strict=True), key=itemgetter(0))


def _compared(
    test: Comparison | Monotone,
    shown: dict[str, Any],
    measure: Callable[[], tuple[Contrast, float]],
    margin: float = 0.0,
) -> JudgedTest:
    """Return the test of a contrast against a boundary; it has no answer if data are missing."""
    try:
        found, boundary = measure()
    except MissingData as lack:
        return _unanswered(test, shown, lack)
    samples = {id(estimate): estimate.sample for estimate in found.estimates}.values()
    return Compared(
        group=shown,
        text=test.text,
        relation=test.relation,
        boundary=boundary,
        estimate=found.value,
        trials=found.trials,
        failed=sum(sample.failed for sample in samples),
        unconverged=sum(sample.unconverged for sample in samples),
        arms=frozenset().union(*(sample.arms for sample in samples)),
        contrast=found,
        margin=margin,
    )


def _always(
    test: Always,
    algorithms: list[str],
    shown: dict[str, Any],
    estimator: Estimator,
    exhaustive: bool,
) -> JudgedTest:
    """Test a relation in all rows of one algorithm, or in the common rows of several algorithms.

    Data sets are counted; a data set violates the relation if any of its rows does. A violation by
    a run that did not converge proves nothing: either the relation or the run may be wrong. If
    replicates have rows of several kinds, only kinds that have all columns are used. If a run ended
    before it reached an accuracy, its number of iterations is unknown. With ``usually``, the share
    of data sets with the relation in more than half of their rows is compared with one half. If the
    claim is about exactly these data sets, the counts decide.
    """
    table = estimator.table
    try:
        everyone = [table.rows(label, ()) for label in algorithms]
        rows = _common_rows(table, algorithms, everyone)
        columns = _values_in(test, algorithms, rows, estimator)
    except MissingData as lack:
        return _unanswered(test, shown, lack)
    sides = (evaluate(side, columns) for side in (test.left, test.right))
    left, right = (np.broadcast_to(side, rows.shape[1:]) for side in sides)
    statuses = table.frame["status"].to_numpy()[rows]
    relevant = ~np.isin(statuses, FAILED).any(axis=0)
    if table.setting.keys:
        for one in columns:
            own = rows[algorithms.index(one.algorithm) if one.algorithm else 0]
            relevant &= ~_not_applicable(table, one.name, own)
    known = relevant & np.isfinite(left) & np.isfinite(right)
    violated = known & ~_holds(left, test.relation, right)
    doubtful = violated & (statuses == Status.NOT_CONVERGED.value).any(axis=0)

    pairs = table.pairs[rows[0]]
    points = len(table.cells((), table.setting.swept, algorithms[:1]))
    ended = np.concatenate(everyone)
    arms = frozenset(table.arms[ended].tolist())
    failed = _replicates(table, ended, FAILED)
    unconverged = _replicates(table, ended, (Status.NOT_CONVERGED.value,))
    common: dict[str, Any] = {
        "group": shown,
        "text": test.text,
        "failed": failed,
        "unconverged": unconverged,
        "arms": arms,
    }
    if test.usually and known.any() and not (relevant & ~known).any():
        lost = table.pairs[ended[np.isin(table.frame["status"].to_numpy()[ended], FAILED)]]
        wins = _held_usually(pairs[known], ~violated[known], lost)
        if exhaustive:
            return Counted(
                relation=test.relation,
                estimate=wins.mean(),
                trials=math.ceil(len(wins) / points),
                held=int(wins.sum()),
                replicates=len(wins),
                always=False,
                **common,
            )
        sample = Sample(np.arange(len(wins)), failed, unconverged, points, arms)
        share = estimator.share(wins, sample)
        return Compared(
            relation=">",
            boundary=0.5,
            estimate=share.value,
            trials=math.ceil(len(wins) / points),
            contrast=Contrast((share,), np.ones(1), 0.0),
            **common,
        )
    seen, violations = np.unique(pairs[known]), np.unique(pairs[violated & ~doubtful])
    # A single violation refutes the relation; support needs all rows.
    if not len(violations) or test.usually:
        unknown = rows[0][relevant & ~known]
        reason = _lack_of_support(test, algorithms, table, rows[0][doubtful], unknown)
        if not reason and not known.any():
            verb = "has no row" if len(algorithms) == 1 else "have no common row"
            reason = f"{' and '.join(algorithms)} {verb} with both sides"
        if not reason and exhaustive and failed:
            reason = "a run failed, and the claim is about every data set"
        if reason:
            return _unanswered(test, shown, MissingData(reason))
    common |= {
        "relation": test.relation,
        "estimate": len(violations) / len(seen),
        "trials": math.ceil(len(seen) / points),
        "replicates": len(seen),
    }
    if exhaustive:
        return Counted(held=len(seen) - len(violations), always=True, **common)
    return Bounded(violations=len(violations), points=points, **common)


def _held_usually(pairs: np.ndarray, holds: np.ndarray, lost: np.ndarray) -> np.ndarray:
    """Return 1 for each data set with more than half of its rows in a relation, 0 for the others.

    Parameters
    ----------
    pairs, holds : arrays (n,)
        The data set of each row, and whether the relation holds in it.
    lost : array
        Data sets with a failure, which count as 0 if they have no row.
    """
    seen, place = np.unique(pairs, return_inverse=True)
    share = np.bincount(place, weights=holds) / np.bincount(place)
    return np.append(share > 0.5, np.zeros(len(np.setdiff1d(lost, seen)))).astype(float)


def _lack_of_support(
    test: Always, algorithms: list[str], table: Table, doubtful: np.ndarray, unknown: np.ndarray
) -> str:
    """Return why rows with doubtful violations or unknown numbers cannot support a relation."""
    if len(doubtful):
        place = _first_place(table, algorithms[0], doubtful)
        return f"runs that did not converge violate it{place}, and have no certificate"
    if len(unknown):
        names = {one.name for one in test.leaves}
        open_ended = not names.isdisjoint(table.setting.open_ended)
        problem = "not reached or not finite" if open_ended else "not finite"
        place = _first_place(table, algorithms[0], unknown)
        return f"a number in the test is {problem}{place}"
    return ""


def _common_rows(table: Table, algorithms: list[str], everyone: list[np.ndarray]) -> np.ndarray:
    """Return the rows, shape (k, n), that k algorithms have in common.

    The rows in a column belong to one data set and agree in the keys and in the swept columns that
    they have in common.
    """
    import pandas as pd

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
    empty: np.ndarray = table.frame[name].isna().to_numpy()[rows]
    return empty & ~table.kinds.have(name)[rows] if name in table.setting.open_ended else empty


def _first_place(table: Table, label: str, rows: np.ndarray) -> str:
    """Return the place of one of the rows; the choice does not depend on their order."""
    return min(table.place_text(table.cell(label, row)) for row in rows)


def _replicates(table: Table, rows: np.ndarray, statuses: tuple[str, ...]) -> int:
    """Count the replicates with one of the statuses, separately for each variant."""
    import pandas as pd

    ended = rows[np.isin(table.frame["status"].to_numpy()[rows], statuses)]
    labels = table.frame["algorithm"].to_numpy()[ended]
    return len(pd.MultiIndex.from_arrays([table.pairs[ended], labels]).unique())


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
