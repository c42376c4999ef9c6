"""Covariance of the variables of a sample without a response."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Covariance:
    """The covariance of a sample of v variables.

    Parameters
    ----------
    matrix : array (v, v)
        Covariance with denominator n, so that it is that of the sample itself.
    n_samples : int
        n, the number of rows.
    """

    matrix: np.ndarray
    n_samples: int

    @property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """The two variables of each of the d = v (v - 1) / 2 pairs, first (0, 1), then (0, 2)."""
        return np.triu_indices(len(self.matrix), 1)
