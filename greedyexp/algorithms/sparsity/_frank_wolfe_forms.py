"""How forward greedy steps are computed: a quadratic by its gradient, else by its predictions."""

from __future__ import annotations

import numpy as np

from greedyexp.algorithms._equal_columns import EqualColumns, equal_columns, equalise
from greedyexp.kernels import frank_wolfe, frank_wolfe_margins
from greedyexp.losses.loss import Loss
from greedyexp.losses.population import PopulationSquaredLoss
from greedyexp.losses.squared import SquaredLoss
from greedyexp.problems.moments import Moments, SpreadMoments
from greedyexp.problems.problem import Problem
from greedyexp.theory.sparsity_bounds import smoothness_of_risk

# Up to so many features the Gram matrix of the sample is kept.
MOST_KEPT = 2048


class Walk:
    """A run over an l1 ball that goes on until a number of steps or a gap is reached.

    Where it is told to stop leaves no trace in the steps that follow.

    Parameters
    ----------
    loss : Loss
        Without dense coefficients; its own rows or moments are those of ``problem``.
    problem : Problem
    radius : float > 0
    exact : bool
        Whether steps go to the minimum along their direction.
    """

    def __init__(self, loss: Loss, problem: Problem, radius: float, exact: bool):
        settings = radius, smoothness_of_risk(loss), exact
        form = _quadratic(loss, problem)
        if form is not None:
            self._kernel = frank_wolfe
            self._state = frank_wolfe.begin(*form, *settings)
        else:
            self._kernel = frank_wolfe_margins
            atoms = np.ascontiguousarray(problem.X[0].T)
            data = atoms, *equal_columns(atoms), loss.responses, loss.kind, loss.beta, loss.ridge
            self._state = frank_wolfe_margins.begin(*data, *settings)

    def advance(self, until: int, target: float) -> None:
        """Make steps up to number ``until``, none at a gap of at most a positive ``target``."""
        self._kernel.advance(self._state, until, target)
        # Of the gradient computed from the coefficients alone.
        self.gap = max(self._kernel.fresh_gap(self._state), 0.0)

    def reached(self, targets: np.ndarray) -> np.ndarray:
        """Whether a run that is told a target would have ended here, for each of them."""
        kept, doubted, _ = self._state.sizes
        return (targets > 0.0) & (kept <= targets + doubted) & (self.gap <= targets)

    @property
    def steps(self) -> int:
        """How many were made."""
        return int(self._state.counts[frank_wolfe.STEPS])

    @property
    def ended(self) -> bool:
        """Whether the gap is zero, or a step would change no digit."""
        return bool(self._state.counts[frank_wolfe.ENDED])

    @property
    def coef(self) -> np.ndarray:
        """Coefficients now, a new array (d,)."""
        return self._state.coef.copy()


def _quadratic(loss: Loss, problem: Problem) -> tuple | None:
    """``rows``, ``scale``, ``bump`` and ``cross`` of a quadratic risk; None of another."""
    if isinstance(loss, PopulationSquaredLoss):
        return _moments(loss.moments, loss.ridge)
    if isinstance(loss, SquaredLoss) and loss.size <= MOST_KEPT:
        # Copies: the arrays of the problem may be read-only, for which kernels would compile again.
        rows, cross = np.array(problem.gram[0]), np.array(problem.correlation[0])
        return _matrix(rows, cross, loss.ridge, equal_columns(problem.X[0].T))
    return None


def _moments(moments: Moments, ridge: float) -> tuple:
    if isinstance(moments, SpreadMoments):
        return moments.u[None, :], moments.u, moments.alpha + ridge, moments.cross
    rows = np.stack([moments.column(j) for j in range(moments.size)])
    # Features with equal moments are equal with probability one.
    return _matrix(rows, np.array(moments.cross), ridge, equal_columns(rows))


def _matrix(rows: np.ndarray, cross: np.ndarray, ridge: float, equal: EqualColumns) -> tuple:
    """The form of a matrix E[x x^T], where copies get the numbers of their originals.

    Derivatives of different columns are compared exactly. A relative tolerance would do harm: near
    the minimum the derivatives of all features in use agree to any tolerance, and a step towards
    one that is not the largest need not lower the risk.
    """
    equalise(rows, equal)
    cross[equal.copies] = equal.signs * cross[equal.originals]
    d = len(cross)
    return rows, np.ones(d), np.full(d, ridge), cross
