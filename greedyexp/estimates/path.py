"""Estimates along a grid of tuning parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from greedyexp.losses.loss import Loss
from greedyexp.problems.checks import require_memory


@dataclass(frozen=True)
class Path:
    """A path of m estimates, one for each point of a tuning grid.

    Parameters
    ----------
    coef : array (m, p, r)
        Estimates, exactly zero outside their supports.
    grid : dict of str to array (m,)
        Tuning parameters of each estimate, in the format of the algorithm's ``grid`` argument, such
        as ``{"lam": ...}`` or ``{"epsilon": ..., "w": ...}``.
    objective : array (m,)
        Objective of the algorithm at each estimate.
    converged : array of bool (m,)
        True where the estimate satisfies the convergence test of the algorithm.
    message : str
        Remarks for the user; empty if there are none.
    loss : Loss, optional
        The minimised loss, bound to the training rows.
    dense : array (m, q), optional
        Dense coefficients of the loss. If the columns were centred, the intercepts of the r tasks.
    facts : dict of str to array (m,)
        Other results of each estimate, such as the number of removed features.
    history : dict of str to array, optional
        Actions of the algorithm, with one array entry per step.
    sizes : int array (m,), optional
        Numbers of nonzero coefficients, if the algorithm knows them; see ``support_sizes``.
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
    sizes: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.coef)

    @property
    def params(self) -> np.ndarray:
        """Estimates in the format of ``loss``, shape (m, p r + q)."""
        coef = self.coef.reshape(len(self), -1)
        return coef if self.dense is None else np.column_stack([coef, self.dense])

    @property
    def support_sizes(self) -> np.ndarray:
        """Numbers of nonzero coefficients, shape (m,)."""
        return np.count_nonzero(self.coef, axis=(1, 2)) if self.sizes is None else self.sizes

    def take(self, index: Sequence[int] | np.ndarray) -> Path:
        """Return the path of the estimates at these indices, in this order.

        Raises
        ------
        DataError
            If there is not enough memory.
        """
        index = np.asarray(index)
        _require_room(len(index), self)
        return replace(
            self,
            coef=self.coef[index],
            grid={name: values[index] for name, values in self.grid.items()},
            objective=self.objective[index],
            converged=self.converged[index],
            dense=None if self.dense is None else self.dense[index],
            facts={name: values[index] for name, values in self.facts.items()},
            sizes=None if self.sizes is None else self.sizes[index],
        )


def join(paths: Sequence[Path]) -> Path:
    """Concatenate paths; all must have the same tuning parameters.

    Raises
    ------
    DataError
        If there is not enough memory.
    """
    if len(paths) == 1:
        return paths[0]
    _require_room(sum(map(len, paths)), paths[0])
    return Path(
        np.concatenate([path.coef for path in paths]),
        {name: np.concatenate([path.grid[name] for path in paths]) for name in paths[0].grid},
        np.concatenate([path.objective for path in paths]),
        np.concatenate([path.converged for path in paths]),
        " ".join(path.message for path in paths if path.message),
    )


def _require_room(count: int, path: Path) -> None:
    """Raise DataError if ``count`` estimates like those of a path do not fit into memory."""
    require_memory(
        8.0 * count * np.prod(path.coef.shape[1:]),
        f"a path of {count} estimates",
        "Give fewer values of the tuning parameters.",
    )
