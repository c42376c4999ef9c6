"""Paths from arrays of coefficients."""

import numpy as np

from greedyexp.estimates.path import Path


def path_of_coef(coef) -> Path:
    """A path of one estimate (p, r), or of several (m, p, r), without tuning parameters."""
    coef = np.asarray(coef, dtype=float)
    coef = coef[None] if coef.ndim == 2 else coef
    return Path(coef, {}, np.zeros(len(coef)), np.ones(len(coef), dtype=bool))
