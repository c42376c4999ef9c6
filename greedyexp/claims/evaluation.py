"""The tests of claims on a table, not decided yet."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any

from greedyexp.claims import data_sets
from greedyexp.claims.combinations import Contrast, contrast, number
from greedyexp.claims.conditions import columns_along
from greedyexp.claims.decisions import Compared, JudgedTest, Verdict
from greedyexp.claims.entries import Claim
from greedyexp.claims.estimates import Estimator
from greedyexp.claims.language import Always, Comparison, Form, Monotone, Test
from greedyexp.claims.table import Cell, MissingData, Table
from greedyexp.results.records import as_list


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


def tested_claims(claims: Sequence[Claim], whole: Table) -> list[JudgedClaim]:
    """Return the claims with their tests, which are not decided yet."""
    estimators: dict[str, Estimator] = {}
    judged = []
    for claim in claims:
        key = json.dumps(claim.where, sort_keys=True, default=str)
        if key not in estimators:
            estimators[key] = Estimator(whole.narrowed(claim.where))
        tests = [one for test in claim.tests for one in _tested(test, claim, estimators[key])]
        for name, value in estimators[key].table.lacking(claim.where):
            lack = MissingData(f"the table has no rows with {name} = {value}")
            tests += [_unanswered(test, {name: value}, lack) for test in claim.tests]
        judged.append(JudgedClaim(claim, tests))
    return judged


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
            case Always():
                return _always(test, claim, estimator)
    except MissingData as lack:
        return [_unanswered(test, {}, lack)]


def _unanswered(test: Test, shown: dict[str, Any], lack: MissingData) -> JudgedTest:
    return JudgedTest(group=shown, text=test.text, reason=str(lack))


def _comparisons(test: Comparison, margin: float, estimator: Estimator) -> list[JudgedTest]:
    table = estimator.table

    def measure(group: Cell) -> tuple[Contrast, float]:
        found = contrast(test.form, group, estimator)
        return found, number(test.boundary, group, test.form.algorithms, table)

    groups = _groups(test.form, (), table)
    return [_compared(test, table.shown(one), partial(measure, one), margin) for one in groups]


def _groups(form: Form, along: tuple[str, ...], table: Table) -> list[Cell]:
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

    def measure(before: Cell, after: Cell) -> tuple[Contrast, float]:
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


def _ordered_cells(test: Monotone, group: Cell, table: Table) -> list[tuple[float, Cell]]:
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
        measured, boundary = measure()
    except MissingData as lack:
        return _unanswered(test, shown, lack)
    samples = {id(estimate): estimate.sample for estimate in measured.estimates}.values()
    return JudgedTest(
        group=shown,
        text=test.text,
        evidence=Compared(measured, test.relation, boundary, margin),
        runs=sum(len(sample.pairs) for sample in samples),
        failed=sum(sample.failed for sample in samples),
        unconverged=sum(sample.unconverged for sample in samples),
        arms=frozenset().union(*(sample.arms for sample in samples)),
    )


def _always(test: Always, claim: Claim, estimator: Estimator) -> list[JudgedTest]:
    """Return a test of the algorithms that a relation names, or one of each algorithm."""
    wanted = claim.where.get("algorithm", list(estimator.table.setting.algorithms))
    each: list[tuple[list[str], dict[str, Any]]]
    each = [([label], {"algorithm": label}) for label in sorted(map(str, as_list(wanted)))]
    tested = []
    for algorithms, shown in [(test.algorithms, {})] if test.algorithms else each:
        try:
            tested.append(data_sets.always(test, algorithms, shown, estimator, claim.exhaustive))
        except MissingData as lack:
            tested.append(_unanswered(test, shown, lack))
    return tested
