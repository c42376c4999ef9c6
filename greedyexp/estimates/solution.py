"""The result of ``greedyexp.solve``."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from greedyexp.problems.chains import chain_weights

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Solution:
    """A fitted estimate and the path that leads to it.

    Parameters
    ----------
    coef : array (p,) for one task, (p, r) for r tasks
        The estimate.
    support : array
        Indices of nonzero coefficients: (k,) for one task, (k, 2) of feature and task for several.
    objective : float
        Minimised function at ``coef``; nan for an algorithm that returns only coefficients.
    columns : dict of str to array
        Columns of ``history``.
    converged : bool
        True if the estimate meets the certificate of the algorithm.
    message : str
        Remarks for the user; may be empty.
    dense : array (q,)
        Coefficients of the loss that every model has: the intercept, if any; for chains of r
        classes the weights of first labels (r), of last labels (r) and of transitions (r r, row by
        row).
    classes : tuple of str
        Labels of chains, in the order of the columns of ``coef``; empty for other data.
    feature_names : tuple of p str
        Names of the columns of a DataFrame; empty for other data.
    """

    coef: np.ndarray
    support: np.ndarray
    objective: float
    columns: dict[str, np.ndarray] = field(repr=False)
    converged: bool
    message: str
    dense: np.ndarray = field(default_factory=lambda: np.zeros(0))
    classes: tuple[str, ...] = ()
    feature_names: tuple[str, ...] = ()

    @cached_property
    def history(self) -> pd.DataFrame:
        """The path as a table.

        It has one row for each point: its tuning values, ``support_size``, ``objective``,
        ``converged``, ``chosen`` (True for the point of ``coef``) and further columns of the
        algorithm, such as ``gap`` of ``forward_greedy``. Algorithms that report steps, such as
        ``foba_gdt``, have one row for each step; iterative methods have ``iteration``,
        ``objective`` and ``support_size`` for each recorded iteration.
        """
        # The import and the table take longer than a small fit.
        import pandas as pd

        return pd.DataFrame(self.columns)

    @property
    def intercept(self) -> float | np.ndarray:
        """The intercept, (r,) for r tasks; 0 for chains and for models without an intercept."""
        if self.classes or not len(self.dense):
            return 0.0
        return float(self.dense[0]) if self.coef.ndim == 1 else self.dense

    @property
    def transitions(self) -> np.ndarray | None:
        """Weights (r, r) of transitions between the classes of a chain; None without chains."""
        return chain_weights(self.dense, len(self.classes)).transition if self.classes else None
