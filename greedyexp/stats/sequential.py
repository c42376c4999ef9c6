"""Intervals that stay valid under optional stopping."""

from __future__ import annotations

import numpy as np
from scipy.special import betaln, erf, xlog1py, xlogy

from greedyexp.stats.crossing import Crossing, crossing
from greedyexp.stats.inputs import checked_confidence, checked_counts
from greedyexp.stats.proportions import wilson


def anytime_confidence(confidence: float) -> float:
    """Nominal confidence at which a likelihood-ratio interval survives looking after every batch.

    By Ville's inequality the likelihood ratio of two fixed hypotheses ever exceeds 1 / alpha with
    probability at most alpha under the first. The interval that this bound gives rejects where
    twice the log ratio exceeds 2 log(1 / alpha); a chi-square variable with one degree of freedom
    stays below that with the probability returned, 0.9856 for 0.95. With the likelihood maximised
    over parameters the bound is no theorem; the coverage of crossings found by results is
    simulated in the tests.

    Parameters
    ----------
    confidence : float in (0, 1)
        1 - alpha, the coverage wanted.
    """
    return float(erf(np.sqrt(-np.log1p(-checked_confidence(confidence)))))


def nominal_confidence(confidence: float, *, sequential: bool) -> float:
    """The confidence to ask of the interval of a crossing so that it holds with the one given.

    Parameters
    ----------
    confidence : float in (0, 1)
    sequential : bool
        Whether results decided how many trials there are.
    """
    return anytime_confidence(confidence) if sequential else confidence


def located_crossing(
    x, successes, trials, *, sequential: bool, level: float = 0.5, confidence: float = 0.95
) -> Crossing:
    """A crossing with the fit and the interval that suit how the trials came about.

    Parameters
    ----------
    x, successes, trials : array_like, shape (k,)
    sequential : bool
        Whether results placed the trials: they are then near the crossing, all of them are fitted,
        and the interval is that of ``anytime_confidence``.
    level, confidence : float in (0, 1)
    """
    nominal = nominal_confidence(confidence, sequential=sequential)
    return crossing(x, successes, trials, level=level, confidence=nominal, whole=sequential)


def proportion_interval(
    successes, trials, *, sequential: bool, confidence: float = 0.95
) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's interval or, where results decided how many trials there are, one that allows it.

    Parameters
    ----------
    successes, trials : array_like of counts, broadcast together
    sequential : bool
        Wilson's interval misses too often then; ``confidence_sequence`` does not.
    confidence : float in (0, 1)

    Returns
    -------
    low, high : arrays
    """
    method = confidence_sequence if sequential else wilson
    return method(successes, trials, confidence=confidence)


def confidence_sequence(
    successes, trials, *, confidence: float = 0.95
) -> tuple[np.ndarray, np.ndarray]:
    """Interval for a Bernoulli probability that may be looked at after every trial.

    The interval holds every p with m / (p^s (1 - p)^f) < 1 / (1 - confidence), where s and f count
    successes and failures and m = B(1 + s, 1 + f) is the likelihood of the sequence under a
    uniform prior on p. If p is the true probability this ratio is a nonnegative martingale that
    starts at 1, whatever rule decides when to stop. By Ville's inequality the chance that it ever
    reaches 1 / (1 - confidence), that is that any of the intervals misses p, is at most
    1 - confidence.

    Parameters
    ----------
    successes, trials : array_like of counts, broadcast together
        0 <= successes <= trials. No trials give the interval [0, 1].
    confidence : float in (0, 1)
        Least probability that all intervals of the sequence hold p.

    Returns
    -------
    low, high : arrays
        0 <= low <= successes/trials <= high <= 1, the ends rounded outward.

    References
    ----------
    Robbins (1970), Statistical methods related to the law of the iterated logarithm.
    """
    successes, trials = checked_counts(successes, trials)
    bar = -np.log1p(-checked_confidence(confidence))
    failures = trials - successes
    mixture = betaln(1 + successes, 1 + failures)

    def rejected(p):
        # The limit at p = 0 or 1 is finite only for an outcome that never occurred.
        return mixture - xlogy(successes, p) - xlog1py(failures, -p) >= bar

    share = np.divide(successes, trials, out=np.full(trials.shape, 0.5), where=trials > 0)
    low = _last_rejected(rejected, share, 0.0)
    high = _last_rejected(rejected, share, 1.0)
    return low, high


def _last_rejected(rejected, inside: np.ndarray, limit: float) -> np.ndarray:
    """Where rejection begins between a point inside and a limit; the limit where it never does."""
    outside = np.full(inside.shape, limit)
    # The ratio is convex in p, so that rejection changes once on either side.
    with np.errstate(divide="ignore"):
        open_end = ~rejected(outside)
        for _ in range(60):
            middle = (inside + outside) / 2
            out = rejected(middle)
            outside = np.where(out, middle, outside)
            inside = np.where(out, inside, middle)
    return np.where(open_end, limit, outside)
