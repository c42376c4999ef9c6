"""Intervals for trials whose number or position depended on earlier results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import scipy

from greedyexp.stats.crossing import Crossing, crossing
from greedyexp.stats.direction import UNCLEAR, Direction, misfit
from greedyexp.stats.level import LEVEL
from greedyexp.stats.proportions import (
    checked_confidence,
    confidence_sequence,
    wilson,
)
from greedyexp.stats.rising import enclosing_step, logistic_fits, rising_interval


def anytime_confidence(confidence: float) -> float:
    """Return the nominal confidence for a likelihood-ratio interval computed after every batch.

    By Ville's inequality the likelihood ratio of two fixed hypotheses ever exceeds 1 / alpha with
    probability at most alpha under the first. The interval from this bound rejects where twice the
    log ratio exceeds 2 log(1 / alpha). A chi-square variable with one degree of freedom stays below
    that value with the probability returned, 0.9856 for 0.95. The inequality does not cover
    likelihoods maximised over parameters; the tests simulate the coverage for crossings.

    Parameters
    ----------
    confidence : float in (0, 1)
        1 - alpha, the coverage wanted.
    """
    return float(scipy.special.erf(np.sqrt(-np.log1p(-checked_confidence(confidence)))))


def nominal_confidence(confidence: float, *, sequential: bool) -> float:
    """Return the confidence to request so that the interval of a crossing has the given coverage.

    Parameters
    ----------
    confidence : float in (0, 1)
    sequential : bool
        True if the number of trials depended on results.
    """
    return anytime_confidence(confidence) if sequential else confidence


def located_crossing(
    x,
    successes,
    trials,
    direction: Direction | None,
    *,
    sequential: bool,
    level: float = 0.5,
    confidence: float = LEVEL,
) -> Crossing:
    """Estimate a crossing with an interval that is valid for the data and their placement.

    There is no crossing, but a ``misfit``, if the direction is unknown or the data contradict it.

    The interval is that of a logistic curve if the data support one (``logistic_fits``). Its
    coverage is then approximate. Otherwise the interval is ``rising_interval``, which assumes only
    the direction and covers at least so often for points chosen in advance. The estimate is
    that of the logistic curve in both cases, or the nearest end of an interval that does not
    contain it. An exact interval always contains the two points that enclose the crossing.

    Parameters
    ----------
    x, successes, trials : array_like, shape (k,)
    direction : {"rising", "falling"} or None
        How success changes with x, as declared or by ``direction_of``; None if it is unknown.
    sequential : bool
        True if the placement of the trials depended on results. The trials are then near the
        crossing, and the curve is fitted to all of them (``placed_crossing``).
    level, confidence : float in (0, 1)
    """
    locate = crossing_locator(x, successes, trials, direction, sequential=sequential, level=level)
    return locate(confidence)


def crossing_locator(
    x, successes, trials, direction: Direction | None, *, sequential: bool, level: float = 0.5
) -> Callable[[float], Crossing]:
    """Return ``located_crossing`` as a function of the confidence.

    What does not depend on the confidence is computed once.
    """
    wrong = UNCLEAR if direction is None else misfit(x, successes, trials, direction, level)
    if wrong:
        return lambda _: Crossing(np.nan, -np.inf, np.inf, 0.0, level, misfit=wrong)
    falls = direction == "falling"
    given = (-np.asarray(x, dtype=float) if falls else x, successes, trials)
    fitted = partial(placed_crossing if sequential else crossing, *given, level=level)
    first = fitted()
    logistic = logistic_fits(first, *given, sequential=sequential)
    step = enclosing_step(*given, level=level)

    def rising(confidence: float) -> Crossing:
        ends = rising_interval(*given, level=level, confidence=confidence, sequential=sequential)
        low, high = min(ends[0], step[0]), max(ends[1], step[1])
        # The estimate remains nan if the data do not determine one.
        estimate = float(np.clip(first.estimate, low, high))
        return replace(first, estimate=estimate, low=low, high=high, step=step)

    def locate(confidence: float) -> Crossing:
        at_level = fitted(confidence=confidence) if logistic else rising(confidence)
        return at_level.mirrored() if falls else at_level

    return locate


def placed_crossing(
    x, successes, trials, *, level: float = 0.5, confidence: float = LEVEL
) -> Crossing:
    """Fit a logistic curve to trials that were placed near its crossing by earlier results.

    All trials are fitted. The interval uses ``anytime_confidence`` and assumes a logistic curve.

    Parameters
    ----------
    x, successes, trials : array_like, shape (k,)
    level, confidence : float in (0, 1)
    """
    nominal = anytime_confidence(confidence)
    return crossing(x, successes, trials, level=level, confidence=nominal, whole=True)


def proportion_interval(
    successes, trials, *, sequential: bool, confidence: float = LEVEL
) -> tuple[np.ndarray, np.ndarray]:
    """Return Wilson's interval, or a confidence sequence if ``sequential``.

    Parameters
    ----------
    successes, trials : array_like of counts, broadcast together
    sequential : bool
        True if the number of trials depended on results: Wilson's interval would then miss the
        true value too often.
    confidence : float in (0, 1)

    Returns
    -------
    low, high : arrays
    """
    method = confidence_sequence if sequential else wilson
    return method(successes, trials, confidence=confidence)
