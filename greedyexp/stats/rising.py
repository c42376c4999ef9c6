"""Where a rising success probability crosses a level, without a model of the curve."""

from __future__ import annotations

import numpy as np
import scipy

from greedyexp.stats.crossing import Crossing, checked_points, fitted_range, rising_shares
from greedyexp.stats.level import LEVEL
from greedyexp.stats.proportions import checked_confidence

# A logistic curve is given up if deviations as large as the observed ones have a smaller
# probability. Giving up too often makes intervals wider, and too rarely makes them wrong.
_MISFIT = 0.05


def rising_interval(
    x,
    successes,
    trials,
    *,
    level: float = 0.5,
    confidence: float = LEVEL,
    sequential: bool = False,
) -> tuple[float, float]:
    """Return an interval for the crossing that assumes only that success rises with x.

    A tau is rejected if the points above it have too few successes for a probability of at least
    ``level``, or those below it too many for one of at most ``level``. The points above are tested
    in groups: the nearest one, the nearest two, four, and so on. The groups share the error
    probability in the proportions 1/2, 1/4, 1/8, ... The interval extends to the points that
    enclose all tau that are not rejected. It is therefore never shorter than a step between two
    points, however many trials there are.

    Each test is exact, and so the coverage of the interval is at least ``confidence`` for every
    rising curve and any number of trials. The test is binomial for fixed numbers of trials. If
    these depended on results, it is the likelihood ratio of a mixture over probabilities on the
    wrong side of the level, which is valid at any stopping time (Ville's inequality). This holds
    for points chosen in advance; for points chosen by results the coverage is simulated.

    Parameters
    ----------
    x : array_like, shape (k,)
        Positions of the trials, in any order; repeated values are allowed.
    successes, trials : array_like of counts, shape (k,)
    level, confidence : float in (0, 1)
    sequential : bool
        True if the number of trials depended on results.

    Returns
    -------
    low, high : float
        Values of x, or infinite where the data give no limit.

    Raises
    ------
    ValueError
        If x is not finite, counts are impossible, or a level is outside (0, 1).

    References
    ----------
    Robbins (1970), Statistical methods related to the law of the iterated logarithm, Annals of
    Mathematical Statistics 41 (mixtures of likelihood ratios).
    """
    x, successes, trials = checked_points(x, successes, trials, level)
    error = (1 - checked_confidence(confidence)) / 2
    above = _p_values(successes, trials, level, sequential) <= error
    below = _p_values((trials - successes)[::-1], trials[::-1], 1 - level, sequential) <= error
    # Every gap between points up to the first one that is not rejected is on the wrong side.
    first, last = (int(np.argmin(np.append(rejected, False))) for rejected in (above, below))
    low = x[first - 1] if first else -np.inf
    high = x[len(x) - last] if last else np.inf
    # Data that fall may reject every tau.
    return float(min(low, high)), float(max(low, high))


def logistic_fits(fit: Crossing, x, successes, trials, *, sequential: bool = False) -> bool:
    """Return True if the data support a logistic curve near the crossing.

    Three conditions must hold. The two points that enclose the crossing lie on the rise: their
    shares of successes are in the range to which a curve is fitted, 0.2 to 0.8 for level 0.5.
    Otherwise the place of the crossing between them would follow from the assumed shape alone. The
    points with a fitted probability in this range agree with the curve in Pearson's test. Finally,
    exact tests show that success rises from below this range to above it: a curve with a ceiling
    near the level looks logistic in few trials.

    Parameters
    ----------
    fit : Crossing
        The fit to these trials.
    x, successes, trials : array_like, shape (k,)
    sequential : bool
        True if the number of trials depended on results.
    """
    x, successes, trials = checked_points(x, successes, trials, fit.level)
    if not fit.regular:
        return False
    bottom, top = fitted_range(fit.level)
    share = rising_shares(successes, trials)
    before, after = share[share < fit.level], share[share > fit.level]
    enclosed = len(before) > 0 and len(after) > 0 and bottom < before[-1] and after[0] < top
    if not enclosed or _misfit_p(fit, x, successes, trials) < _MISFIT:
        return False
    return all(rise_shown(x, successes, trials, level=fit.level, sequential=sequential))


def enclosing_step(x, successes, trials, *, level: float = 0.5) -> tuple[float, float]:
    """Return the last point below the crossing and the first above it, by increasing shares.

    They are infinite where no share is on that side of the level.
    """
    x, successes, trials = checked_points(x, successes, trials, level)
    if not len(x):
        return -np.inf, np.inf
    share = rising_shares(successes, trials)
    below, above = x[share < level], x[share > level]
    return float(max(below, default=-np.inf)), float(min(above, default=np.inf))


def rise_shown(
    x, successes, trials, *, level: float = 0.5, sequential: bool = False
) -> tuple[bool, bool]:
    """Return whether success is shown to be below the fitted range somewhere, and above it.

    Each is shown if ``rising_interval`` has an end for the limit of the range.
    """
    given, (bottom, top) = (x, successes, trials), fitted_range(level)
    start, _ = rising_interval(*given, level=bottom, sequential=sequential)
    _, limit = rising_interval(*given, level=top, sequential=sequential)
    return bool(np.isfinite(start)), bool(np.isfinite(limit))


def _p_values(successes, trials, level: float, sequential: bool) -> np.ndarray:
    """Return p-values, shape (k,), of a probability of at least the level from each point on."""
    count = len(trials)
    wins, made = (np.append(0, np.cumsum(one)) for one in (successes, trials))
    start = np.arange(count)
    logs, size = np.full(count, -np.inf), 1
    while size < 2 * count:
        end = np.minimum(start + size, count)
        won, tried = wins[end] - wins[start], made[end] - made[start]
        # The group that reaches the last point has the shares of all larger ones.
        share = np.where(start + size < count, 1 / (2 * size), 1 / size)
        new = start + size // 2 < count
        if sequential:
            found = np.logaddexp(logs, np.log(share) + log_evidence(won, tried - won, level))
        else:
            p = scipy.special.bdtr(won, tried.astype(int), level)
            with np.errstate(divide="ignore"):
                found = np.maximum(logs, np.log(share) - np.log(p))
        logs = np.where(new, found, logs)
        size *= 2
    return np.exp(-np.maximum(logs, 0.0))


def log_evidence(won, lost, level: float) -> np.ndarray:
    """Return the log likelihood ratio of a uniform mixture below the level to the level itself."""
    with np.errstate(divide="ignore"):
        mixture = scipy.special.betaln(won + 1, lost + 1) + np.log(
            scipy.special.betainc(won + 1, lost + 1, level)
        )
    evidence: np.ndarray = mixture - (won + 1) * np.log(level) - lost * np.log1p(-level)
    return evidence


def _misfit_p(fit: Crossing, x, successes, trials) -> float:
    """Return the p-value of Pearson's chi-square of the points in the fitted range."""
    p = fit.probability(x)
    bottom, top = fitted_range(fit.level)
    used = (bottom < p) & (p < top) & (fit.near[0] <= x) & (x <= fit.near[1])
    if used.sum() <= 2:
        return 1.0
    terms = (successes - trials * p)[used] ** 2 / (trials * p * (1 - p))[used]
    return float(scipy.special.chdtrc(used.sum() - 2, terms.sum()))
