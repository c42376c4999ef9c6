"""How often a bound may still fail when few or no failures were seen."""

from __future__ import annotations

import numpy as np
from scipy.stats import beta

from greedyexp.stats.inputs import checked_confidence, checked_counts


def clopper_pearson_upper(violations, trials, *, confidence: float = 0.95) -> np.ndarray:
    """Exact one-sided upper limit on the probability of a violation.

    After n trials without a violation it is 1 - (1 - confidence)^(1/n), about 3/n at 95%.

    Parameters
    ----------
    violations, trials : array_like of counts, broadcast together
        0 <= violations <= trials. No trials give 1.
    confidence : float in (0, 1)
        Least probability that the limit lies above the truth.

    Returns
    -------
    array
        Upper limits in (0, 1].

    References
    ----------
    Clopper and Pearson (1934), The use of confidence or fiducial limits illustrated in the case
    of the binomial, Biometrika 26.
    """
    violations, trials = checked_counts(violations, trials)
    some = violations < trials
    # The parameters of a beta distribution must be positive where the answer is 1 anyway.
    limit = beta.ppf(
        checked_confidence(confidence), violations + 1, np.where(some, trials - violations, 1.0)
    )
    return np.where(some, limit, 1.0)
