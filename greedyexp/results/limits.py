"""A straight line through estimates with intervals, and where it meets 0."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from greedyexp.stats.contrasts import combined_interval, line_weights


class Limit(NamedTuple):
    """The value of a fitted line at 0.

    Parameters
    ----------
    estimate, low, high : float
        With its 95% interval; nan and an infinite interval when there are no two points to fit.
    slope : float
        nan in that case.
    misfit : float
        Sum of squared residuals over squared standard errors, divided by what a straight line is
        expected to leave: near 1 for a line that fits, larger for one that does not; nan for
        fewer than three points, or when an interval has no length.
    points : int
        How many were fitted.
    """

    estimate: float
    low: float
    high: float
    slope: float
    misfit: float
    points: int


def limit_at_zero(place, estimate, low, high, *, confidence: float = 0.95) -> Limit:
    """Least squares of independent estimates against ``place``, extrapolated to 0.

    Those with an infinite interval are left out, the others count alike (``line_weights``), as in
    the ``limit`` of a claim. The intercept is a fixed linear combination of the estimates, whose
    interval follows from theirs.

    Parameters
    ----------
    place : array_like, shape (k,)
        Where the estimates were made.
    estimate, low, high : array_like, shape (k,)
        Estimates and their intervals.
    confidence : float in (0, 1)
        Of these intervals, from which standard errors follow; they enter the misfit alone.
    """
    place, estimate, low, high = (np.asarray(v, dtype=float) for v in (place, estimate, low, high))
    bounded = np.isfinite(estimate) & np.isfinite(low) & np.isfinite(high)
    place, estimate, low, high = (v[bounded] for v in (place, estimate, low, high))
    k = len(place)
    try:
        intercept, slope = line_weights(place)
    except ValueError:
        return Limit(np.nan, -np.inf, np.inf, np.nan, np.nan, k)
    value, lower, upper = combined_interval(intercept, estimate, low, high, np.eye(k))
    error = (high - low) / (2 * ndtri(0.5 + confidence / 2))
    misfit = _misfit(np.eye(k) - intercept - np.outer(place, slope), estimate, error)
    return Limit(value, lower, upper, float(slope @ estimate), misfit, k)


def _misfit(residual: np.ndarray, estimate: np.ndarray, error: np.ndarray) -> float:
    """Chi-square of the residuals, a linear map of the estimates, over its expectation."""
    if len(estimate) < 3 or not np.all(error > 0):
        return float("nan")
    expected = np.sum((residual * error / error[:, None]) ** 2)
    return float(np.sum((residual @ estimate / error) ** 2) / expected)
