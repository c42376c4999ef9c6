"""What an algorithm returns: estimates along a grid of tuning parameters."""

from __future__ import annotations

from collections.abc import Sequence
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

    def take(self, index: Sequence[int] | np.ndarray) -> Path:
        """The estimates at these places, in this order, with what is known of them."""
        index = np.asarray(index)
        return Path(
            self.coef[index],
            {name: values[index] for name, values in self.grid.items()},
            self.objective[index],
            self.converged[index],
            self.message,
        )


def join(paths: Sequence[Path]) -> Path:
    """One path after the other; all must have the same tuning parameters."""
    if len(paths) == 1:
        return paths[0]
    return Path(
        np.concatenate([path.coef for path in paths]),
        {name: np.concatenate([path.grid[name] for path in paths]) for name in paths[0].grid},
        np.concatenate([path.objective for path in paths]),
        np.concatenate([path.converged for path in paths]),
        " ".join(path.message for path in paths if path.message),
    )
