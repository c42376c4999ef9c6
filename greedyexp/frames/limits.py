"""A straight line through estimates with intervals, and where it meets 0."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from greedyexp.stats.contrast import combination


class Limit(NamedTuple):
    """The value of a fitted line at 0.

    Parameters
    ----------
    estimate, low, high : float
        With its 95% interval; nan and an infinite interval when there are no two points to fit.
    slope : float
        nan in that case.
    misfit : float
        Chi-square per degree of freedom: near 1 for a line that fits, larger for one that does
        not; nan for fewer than three points.
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
    """Weighted least squares of independent estimates against ``place``, extrapolated to 0.

    An estimate weighs by the square of the inverse of its interval's length; those with an
    infinite one are left out. The intercept is a fixed linear combination of the estimates, whose
    interval follows from theirs.

    Parameters
    ----------
    place : array_like, shape (k,)
        Where the estimates were made.
    estimate, low, high : array_like, shape (k,)
        Estimates and their intervals.
    confidence : float in (0, 1)
        Of the likelihood-ratio intervals, from which standard errors follow.
    """
    place, estimate, low, high = (np.asarray(v, dtype=float) for v in (place, estimate, low, high))
    bounded = np.isfinite(estimate) & np.isfinite(low) & np.isfinite(high)
    place, estimate, low, high = (v[bounded] for v in (place, estimate, low, high))
    k = len(place)
    if len(np.unique(place)) < 2:
        return Limit(np.nan, -np.inf, np.inf, np.nan, np.nan, k)
    error = np.maximum(
        (high - low) / (2 * ndtri(0.5 + confidence / 2)), np.finfo(float).tiny ** 0.25
    )
    design = np.column_stack([np.ones(k), place]) / error[:, None]
    # Rows: how intercept and slope are made of the estimates.
    intercept, slope = np.linalg.pinv(design) / error
    value, lower, upper = combination(intercept, estimate, low, high, np.eye(k))
    residual = (estimate - value - slope @ estimate * place) / error
    misfit = float(residual @ residual / (k - 2)) if k > 2 else np.nan
    return Limit(value, lower, upper, float(slope @ estimate), misfit, k)
