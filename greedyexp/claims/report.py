"""Verdicts as text and as the contents of ``claims.json``."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from greedyexp.claims.decisions import Compared, Counts, JudgedTest, Verdict
from greedyexp.claims.entries import Claim
from greedyexp.claims.evaluation import JudgedClaim
from greedyexp.claims.judging import Verdicts
from greedyexp.core.stored import load_json, read_stored
from greedyexp.experiment.parameters import refuse_other
from greedyexp.stats.level import ALPHA, percent
from greedyexp.stats.multiplicity import Looks

_Count = Annotated[int, Field(ge=0, lt=2**63)]


class _StoredClaim(BaseModel):
    id: str
    verdict: Verdict
    reason: str


class _StoredLooks(BaseModel):
    taken: _Count
    trials: list[_Count]


class _StoredVerdicts(BaseModel):
    """What a run prints of its verdicts."""

    looks: _StoredLooks | None = None
    claims: list[_StoredClaim]


def stored_verdicts(path: Path) -> dict[str, Any]:
    """Return the contents of a ``claims.json``.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it lacks what a run prints.
    """
    contents: dict[str, Any] = load_json(read_stored(path))
    refuse_other(_StoredVerdicts, contents)
    return contents


# What is recorded of each comparison.
NUMBERS = ("estimate", "boundary", "low", "high", "confidence", "p", "p_adjusted")
COUNTS = ("trials", "failed", "unconverged", "needed_trials")


def record(
    config: Mapping[str, Any],
    profile: str,
    found: Verdicts,
    digests: Mapping[str, str],
) -> dict[str, Any]:
    """Return the contents of ``claims.json``, which depend only on table and configuration.

    Computed numbers have 8 digits (``JudgedTest.round``).

    Parameters
    ----------
    config : mapping
        The resolved experiment.
    profile : str
    found : Verdicts
    digests : mapping of str to str
        Digests of the settings and the table.
    """
    return {
        "experiment": config["name"],
        "profile": profile,
        "paper": config.get("paper"),
        "trials": config["trials"],
        "digests": dict(digests),
        **({"looks": _looks_record(found.looks, found.taken)} if found.looks else {}),
        "claims": [_claim_record(one) for one in found.judged],
        "readings": config.get("readings") or [],
    }


def as_json(contents: Mapping[str, Any]) -> str:
    """Return the text of ``claims.json``, with floats by ``repr`` and never nan or infinity."""
    return json.dumps(contents, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _looks_record(looks: Looks, taken: int) -> dict[str, Any]:
    """Return the rule, and for each look its trials per point and its error probability."""
    each = range(1, taken + 1)
    return {
        "rule": "Holm's method at each look; look k is at 2^(k-1) times the first number of trials"
        " and spends 5% / 2^k",
        "taken": taken,
        "trials": [looks.trials(look) for look in each],
        "alpha": [ALPHA * looks.share(look) for look in each],
    }


def looks_sentence(contents: Mapping[str, Any]) -> str:
    """Return how verdicts at several looks came about, from the contents of ``claims.json``.

    The sentence is empty if the number of trials was fixed.
    """
    looks = contents.get("looks")
    if not looks:
        return ""
    if not looks["taken"] or not looks["trials"]:
        return "The trials of the first look are not finished, so no claim is decided."
    at = f"at {_listed(looks['trials'])} trial{'s' if looks['trials'][-1] > 1 else ''} per point"
    bound = "the probability of a wrong decision in a figure is at most 5% for all looks together"
    if looks["taken"] == 1:
        return f"The claims were judged once, {at}; {bound}."
    return (
        f"The claims were judged {looks['taken']} times, {at}, and trials continued where they were"
        f" open; {bound}."
    )


def _listed(numbers: Sequence[int]) -> str:
    *first, last = map(str, numbers)
    return f"{', '.join(first)} and {last}" if first else last


def _statement(claim: Claim) -> dict[str, Any]:
    return {
        **{key: getattr(claim, key) for key in ("id", "quote", "place", "figure")},
        "test": [test.text for test in claim.tests],
        **{key: getattr(claim, key) for key in ("where", "margin", "note")},
        **({"exhaustive": True} if claim.exhaustive else {}),
    }


def _claim_record(judged: JudgedClaim) -> dict[str, Any]:
    trials = [test.trials for test in judged.tests if test.trials is not None]
    return {
        **_statement(judged.claim),
        "verdict": judged.verdict.value,
        "reason": reason(judged),
        "trials": min(trials, default=None),
        "tests": [_test_record(test) for test in judged.tests],
    }


def _test_record(test: JudgedTest) -> dict[str, Any]:
    numbers = {key: getattr(test, key) for key in NUMBERS}
    odd = {k: repr(v) for k, v in numbers.items() if v is not None and not math.isfinite(v)}
    finite = {k: None if k in odd or v is None else float(v) for k, v in numbers.items()}
    return {
        "group": {key: _json_value(value) for key, value in test.group.items()},
        "test": test.text,
        **finite,
        "not_finite": odd,
        "verdict": test.verdict.value,
        **({} if test.look is None else {"look": test.look}),
        **{key: getattr(test, key) for key in COUNTS},
        **({"runs": test.runs} if test.failed else {}),
        "sentence": sentence(test),
    }


def _json_value(value: Any) -> Any:
    """Return a swept value; infinity becomes text because JSON has none."""
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value


def sentence(test: JudgedTest) -> str:
    """Describe one test: estimate, interval, verdict, and trials needed if inconclusive."""
    where = group_words(test.group)
    head = f"{where}: " if where else ""
    if test.evidence is None:
        return f"{head}{test.reason}."
    when = f" at look {test.look}" if test.decided and test.look is not None else ""
    parts = [f"{head}{_estimate_words(test, test.evidence)}: {test.verdict}{when}."]
    if outcome_words(test):
        parts.append(f"Among its rows: {outcome_words(test)}.")
    wanted = decider(test)
    return " ".join([*parts, wanted] if wanted else parts)


def group_words(group: Mapping[str, Any]) -> str:
    """Return ``p = 128, kappa = 0.3``, with ``p = 128 to 256`` for a step."""
    return ", ".join(
        f"{name} = {' to '.join(map(str, value)) if isinstance(value, list) else value}"
        for name, value in group.items()
    )


def _estimate_words(test: JudgedTest, evidence: Compared | Counts) -> str:
    """Return ``-0.93 [-1.02, -0.85] at 99.2%, against 0, 100 trials per point``."""
    assert test.confidence is not None
    level = percent(test.confidence)
    if isinstance(evidence, Counts) and evidence.exhaustive:
        return (
            f"it holds in {evidence.held} of {evidence.replicates} data sets, which are all that"
            " the claim is about"
        )
    if isinstance(evidence, Counts):
        lost = f" and runs failed in {evidence.lost}" if evidence.lost else ""
        splits = "; where replicates resample one data set, this is about its splits only"
        return (
            f"{evidence.violations} of {evidence.replicates} replicates violate it{lost}, a rate of"
            f" at most {number_words(test.high)} at {level}{splits if test.resampled else ''}"
        )
    if evidence.contrast.as_if_fixed:
        level += ", as if results had not decided the number of trials"
    trials = "trial" if test.trials == 1 else "trials"
    return (
        f"{number_words(test.estimate)} {interval_words(test)} at {level}, against"
        f" {number_words(test.boundary)}, {test.trials} {trials} per point{splits_words(test)}"
    )


def splits_words(test: JudgedTest) -> str:
    """Return what follows a number of trials that are splits of one data set, or else nothing."""
    return ", which resample one data set" if test.resampled else ""


def outcome_words(test: JudgedTest) -> str:
    """Return ``2 of 40 failed, 1 not converged``, or an empty text if there are none."""
    counts = ((test.failed, f"of {test.runs} failed"), (test.unconverged, "not converged"))
    return ", ".join(f"{count} {words}" for count, words in counts if count)


def interval_words(test: JudgedTest) -> str:
    """Return ``[-1.02, no upper limit]``."""
    low = "no lower limit" if test.low == -math.inf else number_words(test.low)
    high = "no upper limit" if test.high == math.inf else number_words(test.high)
    return f"[{low}, {high}]"


def number_words(value: float | None) -> str:
    """Return a number with four digits, or words if it is not finite."""
    if value is None or math.isnan(value):
        return "undetermined"
    if math.isinf(value):
        return "infinity" if value > 0 else "minus infinity"
    return f"{value:.4g}"


def decider(test: JudgedTest) -> str:
    """Return a sentence on the trials that would decide an inconclusive test."""
    if test.verdict is not Verdict.INCONCLUSIVE or test.p is None:
        return ""
    if test.needed_trials is None:
        return test.obstacle
    return f"About {test.needed_trials} trials per point would decide it."


def weakest(judged: JudgedClaim) -> JudgedTest | None:
    """Return the test behind the verdict: the clearest refutation or the least certain test."""
    tests = [test for test in judged.tests if test.verdict is judged.verdict]
    if judged.verdict is Verdict.REFUTED:
        return min(tests, key=lambda test: (not test.violated, _p_value(test)))
    if judged.verdict is Verdict.SUPPORTED:
        return max(tests, key=_p_value)
    return max(tests, key=_doubt, default=None)


def _p_value(test: JudgedTest) -> float:
    return 0.0 if test.p is None else test.p


def _doubt(test: JudgedTest) -> tuple[bool, float, float]:
    """Return a sort key by answer, number of trials needed and p-value."""
    needed = math.inf if test.needed_trials is None else test.needed_trials
    return (test.p is not None, needed, _p_value(test))


def reason(judged: JudgedClaim) -> str:
    """Return why a claim has its verdict."""
    verdict, count = judged.verdict, len(judged.tests)
    if verdict is Verdict.SUPPORTED:
        return "The test holds." if count == 1 else f"All {count} tests hold."
    test = weakest(judged)
    if test is None:
        return "There is nothing to test."
    if count == 1:
        return sentence(test)
    share = sum(one.verdict is verdict for one in judged.tests)
    words = "refuted" if verdict is Verdict.REFUTED else "undecided"
    return f"{share} of {count} tests {'is' if share == 1 else 'are'} {words}; {sentence(test)}"
