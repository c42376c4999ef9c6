"""The verdicts on the claims of a run, from its table.

If trials continue where claims are open, the same tests are decided look by look. All that is
needed is in the table. Look k uses the first n_k replicates (``stats.multiplicity``). A test takes
part if every arm whose rows it uses has so many replicates, whatever made them. So a run and
everyone who reads its table later find the same verdicts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from greedyexp.claims.decisions import MOST_TRIALS, JudgedTest, Verdict
from greedyexp.claims.entries import BadClaim, Claim, compile_claim
from greedyexp.claims.evaluation import JudgedClaim, tested_claims
from greedyexp.claims.setting import Setting, setting_of
from greedyexp.claims.table import Table
from greedyexp.core.errors import ConfigError
from greedyexp.core.registry import lookup
from greedyexp.experiment.design import Design
from greedyexp.experiment.messages import dotted
from greedyexp.experiment.parameters import BadValue, model_adapter, read_value
from greedyexp.experiment.settings import ClaimEntry
from greedyexp.stats.level import ALPHA
from greedyexp.stats.multiplicity import Looks, holm

# Number of a look, its table, and the arms with all its trials; all arms if None.
_Stage: TypeAlias = "tuple[int, Table, frozenset[int] | None]"


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
        trials, share = self.looks.trials(last), 0.5 ** (last - self.taken)
        arms: set[int] = set()
        for claim in self.judged:
            if claim.verdict is not Verdict.INCONCLUSIVE:
                continue
            undecided = [test for test in claim.tests if not test.decided]
            continued = []
            for test in undecided:
                if test.evidence is not None and test.look == self.taken:
                    assert test.confidence is not None
                    if test.evidence.decidable(trials, 1 - (1 - test.confidence) * share):
                        continued.append((test, test.evidence))
            whole = len(continued) == len(undecided)
            arms.update(*(test.arms for test, why in continued if whole or why.refuting))
        return frozenset(arms)


def judge(
    design: Design,
    frame: pd.DataFrame,
    arms: np.ndarray | None = None,
    before: Verdicts | None = None,
) -> Verdicts:
    """Judge the claims of a run, at several looks if the claims decide on the number of trials.

    Parameters
    ----------
    design : Design
        The settings of the run, with its claims.
    frame : DataFrame
        The tidy table.
    arms : array of int, shape (n,), optional
        The arm of each row, as in ``claims.table.Table``.
    before : Verdicts, optional
        Those of earlier looks at the rows.

    Raises
    ------
    ConfigError
        If a claim cannot be read.
    """
    return evaluate_claims(*read_for(design, frame), design.looks, arms, before)


def read_for(design: Design, frame: pd.DataFrame) -> tuple[list[Claim], pd.DataFrame, Setting]:
    """Return the claims of a run, its table with all columns, and its names; see ``judge``."""
    # A table without data, of an unfinished run or of failures only, lacks facts.
    parts = filter(None, (lookup("generator", name) for name in design.generators))
    columns = list(dict.fromkeys([*frame, *(fact for part in parts for fact in part.facts)]))
    setting = setting_of(design, design.measured, columns)
    entries = design.settings.get("claims") or []
    if not isinstance(entries, list):
        raise ConfigError("claims must be a list.")
    claims = [_claim(entry, index, setting, design.family) for index, entry in enumerate(entries)]
    return claims, frame.reindex(columns=columns), setting


def _claim(entry: Any, index: int, setting: Setting, family: str) -> Claim:
    """Compile a claim of ``config.yaml``, which may have been edited since the run."""
    try:
        return compile_claim(
            read_value(model_adapter(ClaimEntry), entry, "a claim"), setting, family
        )
    except BadValue as error:
        keys, message, remedy = error.found[0]
        wrong = ConfigError(message, remedy=remedy or None)
    except BadClaim as error:
        keys, wrong = error.keys, ConfigError(error.message, remedy=error.remedy)
    wrong.place = dotted(("claims", index, *keys))
    raise wrong from None


def evaluate_claims(
    claims: Sequence[Claim],
    frame: pd.DataFrame,
    setting: Setting,
    looks: Looks | None = None,
    arms: np.ndarray | None = None,
    before: Verdicts | None = None,
) -> Verdicts:
    """Judge claims with the data of a tidy table, at all looks for which it has the trials.

    Holm's method bounds the probability that a true hypothesis among the tests of one figure is
    rejected by 5%, as far as each test has its level. With looks, so do the errors that they may
    spend together; see ``stats.multiplicity`` for the proof. Tests without an answer, and those
    that no number of trials decides, are counted, at all looks.

    A violation refutes a relation in all data sets at any look, also if it was supported before.
    Such a decision cannot be wrong, needs no error probability, and leaves none to other tests.

    Parameters
    ----------
    claims : sequence of Claim
    frame : DataFrame
        The tidy table.
    setting : Setting
        The sweeps and algorithms of the run.
    looks : Looks, optional
        By default, the number of trials was fixed.
    arms : array of int, shape (n,), optional
        The arm of each row, as in ``Table``.
    before : Verdicts, optional
        Those of the first looks at these rows, which are not repeated.

    Returns
    -------
    Verdicts
        The judged claims, in the order of ``claims``.
    """
    verdicts = before or Verdicts([], looks)
    whole = Table(frame, setting, arms)
    stages: Iterable[_Stage] = [(0, whole, None)]
    if looks is not None:
        stages = _stages(whole, looks, verdicts.taken + 1)
    for look, table, complete in stages:
        earlier = {_name(one, test): test for one in verdicts.judged for test in one.tests}
        judged = tested_claims(claims, table)
        for figure in dict.fromkeys(one.claim.figure for one in judged):
            family = [one for one in judged if one.claim.figure == figure]
            tests = [test for one in family for test in one.tests]
            last = [earlier.get(_name(one, test)) for one in family for test in one.tests]
            decided = iter(_decided(tests, last, complete, look, looks))
            for one in family:
                one.tests[:] = [next(decided) for _ in one.tests]
        verdicts = Verdicts(judged, looks, look if complete else verdicts.taken)
    return verdicts


def _stages(whole: Table, looks: Looks, look: int) -> Iterator[_Stage]:
    """Yield a look and all later ones that have rows; the last one may lack replicates."""
    replicate = whole.frame["replicate"].to_numpy(dtype=int)
    most, first = int(replicate.max(initial=0)) + 1, look
    while look == first or looks.trials(look - 1) < most:
        rows = np.flatnonzero(replicate < looks.trials(look))
        pairs = np.unique(whole.arms[rows] * most + replicate[rows])
        arms, counts = np.unique(pairs // most, return_counts=True)
        complete = frozenset(arms[counts == looks.trials(look)].tolist())
        yield look, whole.of_rows(rows), complete
        look += 1


def _name(judged: JudgedClaim, test: JudgedTest) -> tuple[str, str, str]:
    """Return claim, test and group, which identify a test at all looks."""
    return judged.claim.id, test.text, json.dumps(test.group, default=str)


def _decided(
    tests: Sequence[JudgedTest],
    earlier: Sequence[JudgedTest | None],
    complete: frozenset[int] | None,
    look: int,
    looks: Looks | None,
) -> list[JudgedTest]:
    """Decide the tests of one figure at one look; return each as of its last look.

    Parameters
    ----------
    earlier : sequence of JudgedTest or None
        Each test as of the last look before.
    complete : frozenset of int or None
        The arms with the trials of the look. A test of other arms waits.
    looks : Looks or None
        None if the number of trials was fixed.
    """
    # A relation that is violated sometimes may still have a rate above ``RARE``: its hypothesis
    # may be true, and must not make the levels of the others less strict.
    rejected = [bool(last and last.decided and not last.violated) for last in earlier]
    evidence = [
        test.evidence if complete is None or test.arms <= complete else None for test in tests
    ]
    p_values = [
        1.0 if found is None or test.violated else found.p
        for test, found in zip(tests, evidence, strict=True)
    ]
    found = looks.decide(look, p_values, rejected) if looks else holm(p_values, ALPHA)
    final = []
    for index, (test, last) in enumerate(zip(tests, earlier, strict=True)):
        if not test.violated and (evidence[index] is None or rejected[index]):
            if looks and test.evidence is not None:
                test = _waiting(test, looks.trials(look))
            final.append(last or test)
            continue
        adjusted, level = float(found.adjusted[index]), float(found.levels[index])
        test.decide(1.0 if test.violated else adjusted, level, ALPHA)
        if looks is not None:
            test.look = look
            if not test.decided:
                test.expected = _expected(test, level, look, looks)
            elif last and last.verdict is test.verdict:
                test.look = last.look
        test.round()
        final.append(test)
    return final


def _expected(test: JudgedTest, level: float, look: int, looks: Looks) -> float:
    """Return the trials of the first later look that would decide a test, as ``expected``."""
    assert test.evidence is not None
    while True:
        look, level = look + 1, (1 + level) / 2
        needed, trials = test.evidence.needed(level), looks.trials(look)
        if not math.isfinite(needed):
            return needed
        if needed <= trials or trials > MOST_TRIALS:
            return trials


def _waiting(test: JudgedTest, trials: int) -> JudgedTest:
    """Return a test that has had no look yet."""
    reason = f"there was no look yet: the first one needs {trials} trials per point"
    return JudgedTest(group=test.group, text=test.text, reason=reason)
