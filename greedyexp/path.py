"""What an algorithm returns: estimates along a grid of tuning parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Path:
    """m estimates, one for each point of a tuning grid.

    Parameters
    ----------
    coef : array (m, p, r)
        Estimates; exact zeros outside the support.
    grid : dict of str to array (m,)
        The tuning parameters of each estimate, as the algorithm's ``grid`` argument takes them
        back: ``{"lam": ...}``, ``{"epsilon": ..., "w": ...}``.
    objective : array (m,)
        What the algorithm minimises, at each estimate.
    converged : array of bool (m,)
        Whether the estimate carries the algorithm's certificate.
    message : str
        What a user should know of the run; empty when there is nothing to say.
    """

    coef: np.ndarray
    grid: dict[str, np.ndarray]
    objective: np.ndarray
    converged: np.ndarray
    message: str = ""

    def __len__(self) -> int:
        return len(self.coef)

    def point(self, index: int) -> dict[str, float]:
        """The tuning parameters of one estimate."""
        return {name: float(values[index]) for name, values in self.grid.items()}
