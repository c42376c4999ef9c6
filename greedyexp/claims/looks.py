"""Verdicts if trials continue where claims are open: the same tests, decided look by look.

All that is needed is in the table. Look k uses the first n_k replicates (``stats.looks``). A test
takes part if every arm whose rows it uses has so many replicates, whatever made them. So a run and
everyone who reads its table later find the same verdicts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from greedyexp.claims.decisions import MOST_TRIALS, AnsweredTest, JudgedTest, Verdict
from greedyexp.claims.evaluation import JudgedClaim, families, tested_claims
from greedyexp.claims.language import Claim
from greedyexp.claims.setting import Setting
from greedyexp.claims.table import Table, arms_of
from greedyexp.stats.looks import Looks
from greedyexp.stats.multiplicity import ALPHA

if TYPE_CHECKING:
    import pandas as pd

# Claim, test and group, which identify a test at all looks.
_Name: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True)
class Verdicts:
    """The verdicts on the claims of one table.

    Parameters
    ----------
    judged : list of JudgedClaim
        Each test as of the look that decided it, otherwise as of its last look.
    looks : Looks or None
        None if the number of trials was fixed.
    taken : int
        Number of looks.
    """

    judged: list[JudgedClaim]
    looks: Looks | None = None
    taken: int = 0

    def open_arms(self, most: int) -> frozenset[int]:
        """Return the arms that need more trials, for at most so many trials of each.

        These are the arms of the undecided tests of the last look that later looks may decide
        (``decidable``). If they cannot decide all undecided tests of a claim, it will not be
        supported, and only its tests that point at a refutation are continued.
        """
        assert self.looks is not None
        last = self.looks.up_to(most)
        arms: set[int] = set()
        for claim in self.judged:
            if claim.verdict is not Verdict.INCONCLUSIVE:
                continue
            undecided = [test for test in claim.tests if test.verdict is Verdict.INCONCLUSIVE]
            open_tests = [test for test in undecided if self._open(test, last)]
            if len(open_tests) < len(undecided):
                open_tests = [test for test in open_tests if test.refuting]
            arms.update(*(test.arms for test in open_tests))
        return frozenset(arms)

    def _open(self, test: JudgedTest, last: int) -> bool:
        if not isinstance(test, AnsweredTest) or test.look != self.taken:
            return False
        assert self.looks is not None
        level = 1 - (1 - test.confidence) * 0.5 ** (last - self.taken)
        return test.decidable(self.looks.trials(last), level)


def evaluate_looks(
    claims: Sequence[Claim],
    frame: pd.DataFrame,
    setting: Setting,
    looks: Looks,
    arms: np.ndarray | None = None,
    before: Verdicts | None = None,
) -> Verdicts:
    """Judge claims at all looks for which a table has the trials.

    Holm's method and the errors that the looks may spend bound the probability that a true
    hypothesis among the tests of one figure is rejected by 5%, as far as each test has its level;
    see ``stats.looks`` for the proof. A test that no number of
    trials decides counts in all looks.

    A violation refutes a relation in all data sets at any look, also if it was supported before.
    Such a decision cannot be wrong, needs no error probability, and leaves none to other tests.

    Parameters
    ----------
    claims : sequence of Claim
    frame : DataFrame
        The tidy table.
    setting : Setting
    looks : Looks
    arms : array of int, shape (n,), optional
        The arm of each row, as in ``Table``.
    before : Verdicts, optional
        Those of the first looks at these rows, which are not repeated.
    """
    arms = arms_of(frame, setting) if arms is None else arms
    replicate = frame["replicate"].to_numpy(dtype=int)
    found = before or Verdicts([], looks)
    last = dict(_named(found.judged))
    for look in _looks_of(replicate, looks, found.taken + 1):
        here = replicate < looks.trials(look)
        table = Table(frame[here].reset_index(drop=True), setting, arms=arms[here])
        complete = _complete_arms(arms[here], replicate[here], looks.trials(look))
        judged = tested_claims(claims, table)
        for family in families(judged):
            _decide(_named(family), last, complete, look, looks)
        found = Verdicts(
            [replace(one, tests=[last[name] for name, _ in _named([one])]) for one in judged],
            looks,
            look if complete else found.taken,
        )
    return found


def _looks_of(replicate: np.ndarray, looks: Looks, look: int) -> Iterator[int]:
    """Yield a look and all later ones that have rows; the last one may lack replicates."""
    most = int(replicate.max(initial=0)) + 1
    yield look
    while looks.trials(look) < most:
        look += 1
        yield look


def _complete_arms(arms: np.ndarray, replicate: np.ndarray, trials: int) -> frozenset[int]:
    """Return the arms with so many replicates."""
    pairs = np.unique(np.column_stack([arms, replicate]), axis=0)
    arms, counts = np.unique(pairs[:, 0], return_counts=True)
    return frozenset(arms[counts == trials].tolist())


def _named(judged: Sequence[JudgedClaim]) -> list[tuple[_Name, JudgedTest]]:
    return [
        ((one.claim.id, test.text, json.dumps(test.group, default=str)), test)
        for one in judged
        for test in one.tests
    ]


def _takes_part(test: JudgedTest, complete: frozenset[int]) -> bool:
    return isinstance(test, AnsweredTest) and test.arms <= complete


def _rejected(test: JudgedTest) -> bool:
    """Return True if the p-value of a test decided it.

    A relation that is violated sometimes may still have a rate above ``RARE``: its hypothesis may
    be true, and must not make the levels of the others less strict.
    """
    return test.decided and not test.violated


def _decide(
    named: Sequence[tuple[_Name, JudgedTest]],
    last: dict[_Name, JudgedTest],
    complete: frozenset[int],
    look: int,
    looks: Looks,
) -> None:
    """Decide the tests of one figure at one look; record them in ``last``."""
    rejected = np.array([name in last and _rejected(last[name]) for name, _ in named])
    p_values = np.ones(len(named))
    for place, (_, test) in enumerate(named):
        if _takes_part(test, complete) and not test.violated:
            p_values[place] = test.p
    found = looks.decide(look, p_values, rejected, ALPHA)
    for place, (name, test) in enumerate(named):
        violated = test.violated
        part = _takes_part(test, complete)
        if not (violated or (part and not rejected[place])):
            if name not in last:
                last[name] = test if test.p is None else _waiting(test, looks.trials(look))
            continue
        adjusted, level = float(found.adjusted[place]), float(found.levels[place])
        test.decide(1.0 if violated else adjusted, level, ALPHA)
        test.look = look
        if not test.decided:
            test.expected = _expected(test, level, look, looks)
        elif name in last and last[name].verdict is test.verdict:
            test.look = last[name].look
        test.round()
        last[name] = test


def _expected(test: JudgedTest, level: float, look: int, looks: Looks) -> float:
    """Return the trials of the first later look that would decide a test, as ``expected``."""
    assert isinstance(test, AnsweredTest)
    while True:
        look, level = look + 1, (1 + level) / 2
        needed, trials = test.needed(level), looks.trials(look)
        if not math.isfinite(needed):
            return needed
        if needed <= trials or trials > MOST_TRIALS:
            return trials


def _waiting(test: JudgedTest, trials: int) -> JudgedTest:
    """Return a test that has had no look yet."""
    reason = f"there was no look yet: the first one needs {trials} trials per point"
    return JudgedTest(group=test.group, text=test.text, relation=test.relation, reason=reason)
