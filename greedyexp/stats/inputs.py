"""What the statistics check about their arguments."""

from __future__ import annotations

import numpy as np


def checked_confidence(confidence: float) -> float:
    """The confidence level as a float.

    Raises
    ------
    ValueError
        When it does not lie strictly between 0 and 1.
    """
    if not 0 < confidence < 1:
        raise ValueError("confidence must lie strictly between 0 and 1.")
    return float(confidence)


def checked_counts(successes, trials) -> tuple[np.ndarray, np.ndarray]:
    """Successes and trials as float arrays of one shape.

    Raises
    ------
    ValueError
        When they do not broadcast together, or not 0 <= successes <= trials < infinity.
    """
    successes, trials = np.broadcast_arrays(
        np.asarray(successes, dtype=float), np.asarray(trials, dtype=float)
    )
    if not np.all((successes >= 0) & (successes <= trials) & (trials < np.inf)):
        raise ValueError("successes must lie between 0 and trials.")
    return successes, trials
