"""The limit of estimates for infinite problems: a line through them, extrapolated to 0."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy

from greedyexp.stats.contrasts import assumed_worst, combined_interval, line_weights
from greedyexp.stats.level import LEVEL


class Limit(NamedTuple):
    """The value of a fitted line at 0.

    Parameters
    ----------
    estimate, low, high : float
        The value and its interval; nan and an infinite interval for fewer than two points.
    slope : float
        Slope of the line; nan for fewer than two points.
    misfit : float
        Sum of squared residuals over squared standard errors, divided by its expectation for a
        straight line: near 1 for a line that fits; nan for fewer than three points, or if an
        interval has no length.
    points : int
        Number of fitted points.
    """

    estimate: float
    low: float
    high: float
    slope: float
    misfit: float
    points: int


def limit_at_zero(
    place: Any,
    estimate: Any,
    low: Any,
    high: Any,
    random: Any = True,
    *,
    confidence: float = LEVEL,
) -> Limit:
    """Extrapolate independent estimates to 0 by least squares.

    Estimates with an infinite interval are left out. The others have equal weights, as in the
    ``limit`` of a claim. The intercept is a fixed linear combination of the estimates, and its
    interval follows from theirs.

    Parameters
    ----------
    place : array_like, shape (k,)
        Abscissas.
    estimate, low, high : array_like, shape (k,)
        Estimates and their intervals.
    random : array_like of bool, shape (k,)
        Estimates with a random error. The errors of others add up.
    confidence : float in (0, 1)
        Confidence level of the intervals. Their lengths give standard errors, which only the misfit
        uses.
    """
    place, estimate, low, high = (np.asarray(v, dtype=float) for v in (place, estimate, low, high))
    bounded = np.isfinite(estimate) & np.isfinite(low) & np.isfinite(high)
    random = np.broadcast_to(random, place.shape)
    place, estimate, low, high, random = (v[bounded] for v in (place, estimate, low, high, random))
    k = len(place)
    try:
        intercept, slope = line_weights(place)
    except ValueError:
        return Limit(np.nan, -np.inf, np.inf, np.nan, np.nan, k)
    correlation = assumed_worst(np.eye(k), intercept, np.outer(random, random))
    value, lower, upper = combined_interval(intercept, estimate, low, high, correlation)
    error = (high - low) / (2 * scipy.special.ndtri(0.5 + confidence / 2))
    misfit = _misfit(np.eye(k) - intercept - np.outer(place, slope), estimate, error)
    return Limit(value, lower, upper, float(slope @ estimate), misfit, k)


def _misfit(residual: np.ndarray, estimate: np.ndarray, error: np.ndarray) -> float:
    """Return chi-square of the residuals, a linear map of the estimates, over its expectation."""
    if len(estimate) < 3 or not np.all(error > 0):
        return float("nan")
    expected = np.sum((residual * error / error[:, None]) ** 2)
    return float(np.sum((residual @ estimate / error) ** 2) / expected)
