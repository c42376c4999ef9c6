"""What became of a test or a claim, in a sentence."""

from __future__ import annotations

import math

from greedyexp.claims.decisions import Bounded, Tested, Verdict
from greedyexp.claims.evaluation import Judged


def sentence(test: Tested) -> str:
    """One test: estimate, interval, verdict, and what would decide it."""
    where = group_words(test.group)
    head = f"{where}: " if where else ""
    if test.p is None:
        return f"{head}{test.reason}."
    parts = [f"{head}{estimate_words(test)}: {test.verdict}."]
    if lost_words(test):
        parts.append(f"Among its rows: {lost_words(test)}.")
    wanted = decider(test)
    return " ".join([*parts, wanted] if wanted else parts)


def group_words(group: dict) -> str:
    """``p = 128, kappa = 0.3``; a step of a monotone relation as ``p = 128 to 256``."""
    return ", ".join(
        f"{name} = {' to '.join(map(str, value)) if isinstance(value, list) else value}"
        for name, value in group.items()
    )


def estimate_words(test: Tested) -> str:
    """``-0.93 [-1.02, -0.85] at 99.2%, against 0, 100 trials a point``."""
    level = f"{confidence_words(test.confidence)}"
    if isinstance(test, Bounded):
        return (
            f"{test.violations} of {test.replicates} replicates violate it, a rate of at most"
            f" {number_words(test.high)} at {level}"
        )
    return (
        f"{number_words(test.estimate)} {interval_words(test)} at {level}, against"
        f" {number_words(test.boundary)}, {trials_words(test)}"
    )


def lost_words(test: Tested) -> str:
    """``2 failed, 1 not converged``; empty when there are none."""
    counts = ((test.failed, "failed"), (test.unconverged, "not converged"))
    return ", ".join(f"{number} {words}" for number, words in counts if number)


def trials_words(test: Tested) -> str:
    """``100 trials per point``."""
    return f"{test.trials} {'trial' if test.trials == 1 else 'trials'} per point"


def interval_words(test: Tested) -> str:
    """``[-1.02, no upper limit]``."""
    low = "no lower limit" if test.low == -math.inf else number_words(test.low)
    high = "no upper limit" if test.high == math.inf else number_words(test.high)
    return f"[{low}, {high}]"


def confidence_words(confidence: float) -> str:
    """``95%``, ``99.92%``: as many digits as tell it from 100%."""
    digits = 0
    while digits < 8 and abs(round(100 * confidence, digits) - 100 * confidence) > 1e-9 + 0.1 * (
        100 - 100 * confidence
    ):
        digits += 1
    return f"{100 * confidence:.{digits}f}%"


def number_words(value: float | None) -> str:
    """Four digits; words where there is no number."""
    if value is None or math.isnan(value):
        return "undetermined"
    if math.isinf(value):
        return "infinity" if value > 0 else "minus infinity"
    return f"{value:.4g}"


def decider(test: Tested) -> str:
    """What would decide an inconclusive test."""
    if test.verdict is not Verdict.INCONCLUSIVE or test.p is None:
        return ""
    if test.needed_trials is None:
        return test.obstacle
    return f"About {test.needed_trials} trials per point would decide it."


def weakest(judged: Judged) -> Tested | None:
    """The test that the verdict hangs on: the clearest refutation, or what is least decided."""
    tests = [test for test in judged.tests if test.verdict is judged.verdict]
    if judged.verdict is Verdict.REFUTED:
        return min(tests, key=lambda test: test.p)
    if judged.verdict is Verdict.SUPPORTED:
        return max(tests, key=lambda test: test.p)
    return max(tests, key=_doubt, default=None)


def _doubt(test: Tested) -> tuple:
    """Tests without an answer last, then those that take most trials."""
    needed = math.inf if test.needed_trials is None else test.needed_trials
    return (test.p is not None, needed, test.p or 0.0)


def reason(judged: Judged) -> str:
    """Why a claim has its verdict."""
    verdict, count = judged.verdict, len(judged.tests)
    share = [test for test in judged.tests if test.verdict is verdict]
    if verdict is Verdict.SUPPORTED:
        return "The test holds." if count == 1 else f"All {count} tests hold."
    if not share:
        return "There is nothing to test."
    told = sentence(weakest(judged))
    if count == 1:
        return told
    words = "refuted" if verdict is Verdict.REFUTED else "undecided"
    be = "is" if len(share) == 1 else "are"
    return f"{len(share)} of {count} tests {be} {words}; {told}"
