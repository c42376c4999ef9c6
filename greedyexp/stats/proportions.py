"""Intervals for proportions."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from greedyexp.stats.inputs import checked_confidence, checked_counts


def wilson(successes, trials, *, confidence: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's score interval for a binomial proportion.

    Parameters
    ----------
    successes, trials : array_like of counts, broadcast together
        0 <= successes <= trials. No trials give the interval [0, 1]: nothing is known.
    confidence : float in (0, 1)
        Nominal coverage.

    Returns
    -------
    low, high : arrays
        0 <= low <= successes/trials <= high <= 1.

    References
    ----------
    Wilson (1927), Probable inference, the law of succession, and statistical inference.
    """
    successes, trials = checked_counts(successes, trials)
    z2 = ndtri(0.5 + checked_confidence(confidence) / 2) ** 2
    failures = trials - successes
    centre = successes + z2 / 2
    half = np.sqrt(
        z2
        * (
            np.divide(
                successes * failures,
                trials,
                where=trials > 0,
                out=np.zeros(trials.shape),
            )
            + z2 / 4
        )
    )
    low = (centre - half) / (trials + z2)
    high = (centre + half) / (trials + z2)
    # With 0 or all successes one end is exactly 0 or 1; rounding must not cross it.
    return np.where(successes == 0, 0.0, low), np.where(failures == 0, 1.0, high)
