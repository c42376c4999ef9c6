"""Estimates along a grid of tuning parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from greedyexp.core.errors import DataError
from greedyexp.estimates.sparse import SparseEstimates
from greedyexp.losses.loss import Loss


@dataclass(frozen=True)
class Path:
    """A path of m estimates, one for each point of a tuning grid.

    Parameters
    ----------
    estimates : array (m, p, r) or SparseEstimates
        Coefficients, exactly zero outside their supports. The support of an estimate in an array
        are its coefficients that are not zero.
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
        Dense coefficients of the loss; without a loss, the intercepts (m, r) of the r tasks.
    facts : dict of str to array (m,)
        Other results of each estimate, such as the number of removed features.
    history : dict of str to array, optional
        Actions of the algorithm, with one array entry per step.
    """

    estimates: np.ndarray | SparseEstimates
    grid: dict[str, np.ndarray]
    objective: np.ndarray
    converged: np.ndarray
    message: str = ""
    loss: Loss | None = None
    dense: np.ndarray | None = None
    facts: dict[str, np.ndarray] = field(default_factory=dict)
    history: dict[str, np.ndarray] | None = None

    def __len__(self) -> int:
        return len(self.estimates)

    @cached_property
    def coef(self) -> np.ndarray:
        """The estimates as a read-only array (m, p, r).

        Raises
        ------
        DataError
            If there is not enough memory.
        """
        given = self.estimates
        array = given.dense() if isinstance(given, SparseEstimates) else given.view()
        array.flags.writeable = False
        return array

    @cached_property
    def sparse(self) -> SparseEstimates:
        """The selected coefficients of the estimates."""
        given = self.estimates
        return given if isinstance(given, SparseEstimates) else SparseEstimates.of(given)

    @property
    def params(self) -> np.ndarray:
        """Estimates in the format of ``loss``, shape (m, p r + q)."""
        coef = self.coef.reshape(len(self), -1)
        return coef if self.dense is None else np.column_stack([coef, self.dense])

    @property
    def intercepts(self) -> np.ndarray | None:
        """The dense coefficients as intercepts (m, r) of the tasks, or None; not for chains."""
        return self.dense if self.dense is not None and self.dense.size else None

    def predictions(self, X: np.ndarray, task: int) -> np.ndarray:
        """Return X b + c for the coefficients b and the intercept c of a task, shape (m, n).

        For a loss of labels these are scores.
        """
        predicted = self.sparse.predictions(X, task)
        if self.intercepts is not None:
            predicted += self.intercepts[:, task, None]
        return predicted

    def row_losses(self, X: Sequence[np.ndarray], y: Sequence[np.ndarray]) -> np.ndarray:
        """Return the loss of each of other rows, (m, n), from the designs and responses of tasks.

        Raises
        ------
        DataError
            If the algorithm names no loss, or its loss is not a sum over single rows.
        """
        if self.loss is None:
            raise DataError("the algorithm names no loss.", remedy="Use test_error.")
        return self.loss.row_losses(X[0], y[0] if len(y) == 1 else np.stack(y, axis=1), self.params)

    def take(self, index: Sequence[int] | np.ndarray) -> Path:
        """Return the path of the estimates at these indices, in this order."""
        index = np.asarray(index, dtype=np.intp)
        return replace(
            self,
            estimates=self.sparse.take(index),
            grid={name: values[index] for name, values in self.grid.items()},
            objective=self.objective[index],
            converged=self.converged[index],
            dense=None if self.dense is None else self.dense[index],
            facts={name: values[index] for name, values in self.facts.items()},
        )


def join(paths: Sequence[Path]) -> Path:
    """Concatenate paths; all must have the same tuning parameters."""
    if len(paths) == 1:
        return paths[0]
    return Path(
        SparseEstimates.join([path.sparse for path in paths]),
        {name: np.concatenate([path.grid[name] for path in paths]) for name in paths[0].grid},
        np.concatenate([path.objective for path in paths]),
        np.concatenate([path.converged for path in paths]),
        " ".join(path.message for path in paths if path.message),
    )
