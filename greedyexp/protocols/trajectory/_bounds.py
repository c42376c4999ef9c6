"""What theorems and predictions say of a run, beside what was measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greedyexp.core.parts import Algorithm
from greedyexp.problems.problem import Problem
from greedyexp.theory.constants import Optimum


@dataclass(frozen=True)
class Bounds:
    """The bounds of one algorithm on one problem; None where there is none to give.

    Parameters
    ----------
    part : Algorithm
        The algorithm, with its ``guarantee`` and its ``prediction``.
    params : dict
        Its parameters.
    problem : Problem
        One task.
    best : Optimum
    first : float
        The gap at iteration 0.
    """

    part: Algorithm
    params: dict
    problem: Problem
    best: Optimum
    first: float

    @property
    def rate(self) -> float | None:
        """The factor of the gap per iteration that random designs of these sizes approach."""
        predict = self.part.prediction
        n, p = self.problem.X[0].shape
        return None if predict is None else predict(n, p)

    def predicted(self, k: np.ndarray) -> np.ndarray | None:
        """gap_0 rate^k."""
        return None if self.rate is None else self.first * self.rate**k

    def proved(self, k: np.ndarray) -> np.ndarray | None:
        """The bound that is proved for every iteration."""
        prove = self.part.guarantee
        if prove is None:
            return None
        return prove(self.problem, self.best, **self.params).bound(k, self.first)

    def proved_locally(
        self, k: np.ndarray, gaps: np.ndarray, last_outside: int
    ) -> np.ndarray | None:
        """The linear bound on the support of the optimum; nan before it holds.

        While every iterate has its nonzero coefficients among those of the optimum, the method
        runs on these columns alone, with the steps that all columns give it.

        Parameters
        ----------
        k : array (m,) of int
            Iterations recorded.
        gaps : array (m,)
            Their gaps.
        last_outside : int
            The last iteration with a nonzero coefficient elsewhere.
        """
        prove = self.part.guarantee
        later = np.flatnonzero(k > last_outside)
        if prove is None or not later.size:
            return None
        inside = np.flatnonzero(self.best.coef)
        factor = prove(self.problem, self.best, support=inside, **self.params).contraction
        if factor is None:
            return None
        bound = np.full(len(k), np.nan)
        bound[later] = gaps[later[0]] * factor ** (k[later] - k[later[0]])
        return bound
