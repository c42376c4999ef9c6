"""Every claim of an experiment against its table."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from greedyexp.claims.contrasts import Contrast, contrast, number
from greedyexp.claims.decisions import Compared, Tested, Unjudged, Verdict
from greedyexp.claims.estimating import Estimates
from greedyexp.claims.everywhere import always
from greedyexp.claims.fitting import used_up
from greedyexp.claims.model import Claim
from greedyexp.claims.quantities import (
    Always,
    Comparison,
    Monotone,
    algorithms_of,
    metrics_of,
)
from greedyexp.claims.setting import Setting
from greedyexp.claims.table import Group, Missing, Table
from greedyexp.stats.multiplicity import holm

ALPHA = 0.05


@dataclass(frozen=True)
class Judged:
    """A claim with its tests.

    Parameters
    ----------
    claim : Claim
    tests : list of Tested
        One for each test and group, decided.
    """

    claim: Claim
    tests: list[Tested]

    @property
    def verdict(self) -> Verdict:
        """Refuted when any test is, supported when all are."""
        verdicts = {test.verdict for test in self.tests}
        if Verdict.REFUTED in verdicts:
            return Verdict.REFUTED
        return Verdict.SUPPORTED if verdicts == {Verdict.SUPPORTED} else Verdict.INCONCLUSIVE


def evaluate_claims(claims: Sequence[Claim], frame: pd.DataFrame, setting: Setting) -> list[Judged]:
    """Judge claims by a tidy table alone.

    Parameters
    ----------
    claims : sequence of Claim
    frame : DataFrame
        The tidy table.
    setting : Setting
        What was swept, and by which algorithms.

    Returns
    -------
    list of Judged
        In the order of the claims. The tests of all claims of one figure share an error
        probability of 5% by Holm's method; a test without an answer counts as one more.
    """
    whole = Table(frame, setting)
    tables: dict[str, Estimates] = {}
    judged = []
    for claim in claims:
        key = json.dumps(claim.where, sort_keys=True, default=str)
        if key not in tables:
            tables[key] = Estimates(whole.narrowed(claim.where))
        tests = [one for test in claim.tests for one in _tested(test, claim, tables[key])]
        judged.append(Judged(claim, tests))
    for figure in dict.fromkeys(claim.figure for claim in claims):
        _decide([test for one in judged if one.claim.figure == figure for test in one.tests])
    return judged


def _decide(tests: list[Tested]) -> None:
    """Holm's method over one family."""
    if not tests:
        return
    decisions = holm([1.0 if test.p is None else test.p for test in tests], ALPHA)
    for test, adjusted, level in zip(
        tests, decisions.adjusted.tolist(), decisions.levels.tolist(), strict=True
    ):
        test.decide(adjusted, level, ALPHA)
        test.shorten()


def _tested(test, claim: Claim, estimates: Estimates) -> Iterable[Tested]:
    table = estimates.table
    if not len(table.frame):
        where = ", ".join(f"{name} = {value}" for name, value in claim.where.items())
        reason = f"the table has no rows{f' with {where}' if where else ''}"
        return [Unjudged({}, test.text, getattr(test, "relation", ""), reason=reason)]
    try:
        return _elementary(test, claim, estimates)
    except Missing as lack:
        return [_unjudged(test, {}, lack)]


def _elementary(test, claim: Claim, estimates: Estimates) -> Iterable[Tested]:
    match test:
        case Comparison():
            return _comparisons(test, claim.margin or 0.0, estimates)
        case Monotone():
            return _steps(test, estimates)
        case Always() if test.algorithms:
            return [always(test, test.algorithms, {}, estimates)]
        case Always():
            wanted = claim.where.get("algorithm", list(estimates.table.setting.algorithms))
            labels = sorted(wanted) if isinstance(wanted, list) else [wanted]
            return [always(test, [one], {"algorithm": one}, estimates) for one in labels]
    raise TypeError(test)


def _comparisons(test: Comparison, margin: float, estimates: Estimates) -> list[Tested]:
    table, labels = estimates.table, algorithms_of(test.form)
    margin = margin if test.relation == "==" else 0.0
    tested = []
    for group in _groups(test, table, labels):
        try:
            found = contrast(test.form, group, estimates)
            boundary = number(test.boundary, group, labels, table)
        except Missing as lack:
            tested.append(_unjudged(test, table.shown(group), lack))
            continue
        tested.append(_compared(test, table.shown(group), found, boundary, margin))
    return tested


def _groups(test, table: Table, labels: list[str]) -> list[Group]:
    """Groups of a test; one without values where no algorithm of the test has any.

    Raises
    ------
    Missing
        When there are groups, but of other measurements.
    """
    along = (test.column,) if isinstance(test, Monotone) else ()
    groups = table.groups(labels, used_up(test.form, along, table.setting)) or [()]
    metrics = metrics_of(test.form)
    told = [group for group in groups if table.tells(group, metrics)]
    if not told:
        raise Missing(f"no row of the table has a number of {' and '.join(metrics)}")
    return told


def _steps(test: Monotone, estimates: Estimates) -> list[Tested]:
    """A test for each step from a value of the column to the next."""
    table, labels = estimates.table, algorithms_of(test.form)
    along = table.setting.mates(test.column, labels)
    tested: list[Tested] = []
    for group in _groups(test, table, labels):
        try:
            cells = table.cells(group, along, labels)
            places = [number_of(test.column, table.shown(cell)) for cell in cells]
            if len(set(places)) < 2:
                raise Missing(f"there is one value of {test.column} only")
        except Missing as lack:
            tested.append(_unjudged(test, table.shown(group), lack))
            continue
        order = np.argsort(places, kind="stable")
        for one, two in itertools.pairwise(order):
            shown = table.shown(group) | {test.column: [places[one], places[two]]}
            try:
                low, high = (contrast(test.form, cells[place], estimates) for place in (one, two))
            except Missing as lack:
                tested.append(_unjudged(test, shown, lack))
                continue
            tested.append(_compared(test, shown, _difference(high, low), 0.0, 0.0))
    return tested


def number_of(column: str, shown: dict) -> float:
    """A value of a column that must be a number.

    Raises
    ------
    Missing
        When it is not one.
    """
    value = shown.get(column)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Missing(f"{column} is not a number everywhere")
    return value


def _difference(one: Contrast, two: Contrast) -> Contrast:
    return Contrast(
        one.estimates + two.estimates,
        np.concatenate([one.coefficients, -two.coefficients]),
        one.constant - two.constant,
    )


def _unjudged(test, shown: dict, lack: Missing) -> Unjudged:
    return Unjudged(shown, test.text, test.relation, reason=str(lack))


def _compared(test, shown: dict, found: Contrast, boundary: float, margin: float) -> Compared:
    parts = {id(estimate): estimate for estimate in found.estimates}.values()
    compared = Compared(
        shown,
        test.text,
        test.relation,
        boundary=boundary,
        estimate=found.value,
        trials=math.ceil(found.rows / found.points),
        failed=sum(estimate.failed for estimate in parts),
        unconverged=sum(estimate.unconverged for estimate in parts),
        contrast=found,
        margin=margin,
    )
    compared.judge()
    return compared
