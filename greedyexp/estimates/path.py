"""What an algorithm returns: estimates along a grid of tuning parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from greedyexp.losses.loss import Loss


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
    loss : Loss, optional
        What was minimised, bound to the rows fitted to.
    dense : array (m, q), optional
        The coefficients of the loss that are in every model.
    facts : dict of str to array (m,)
        What else is known of each estimate, such as how many features were removed on the way.
    history : dict of str to array, optional
        What the algorithm did, one entry of each array for each of its steps.
    """

    coef: np.ndarray
    grid: dict[str, np.ndarray]
    objective: np.ndarray
    converged: np.ndarray
    message: str = ""
    loss: Loss | None = None
    dense: np.ndarray | None = None
    facts: dict[str, np.ndarray] = field(default_factory=dict)
    history: dict[str, np.ndarray] | None = None

    def __len__(self) -> int:
        return len(self.coef)

    @property
    def params(self) -> np.ndarray:
        """Each estimate as ``loss`` takes it, (m, p r + q)."""
        coef = self.coef.reshape(len(self), -1)
        return coef if self.dense is None else np.column_stack([coef, self.dense])

    def take(self, index: Sequence[int] | np.ndarray) -> Path:
        """The estimates at these places, in this order, with what is known of them."""
        index = np.asarray(index)
        return replace(
            self,
            coef=self.coef[index],
            grid={name: values[index] for name, values in self.grid.items()},
            objective=self.objective[index],
            converged=self.converged[index],
            dense=None if self.dense is None else self.dense[index],
            facts={name: values[index] for name, values in self.facts.items()},
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
