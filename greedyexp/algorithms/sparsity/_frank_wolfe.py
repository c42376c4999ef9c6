"""Forward greedy selection over an l1 ball: every point of a path from one run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np

from greedyexp.algorithms._equal_columns import EqualColumns, equal_columns, equalise
from greedyexp.algorithms.sparsity._risk import StepGrid
from greedyexp.core.errors import ConfigError
from greedyexp.estimates.path import Path
from greedyexp.kernels.frank_wolfe import on_losses, on_quadratic
from greedyexp.kernels.gram_rows import BATCH, gram_rows
from greedyexp.kernels.linear_algebra import transposed_product
from greedyexp.losses.loss import Loss
from greedyexp.losses.population import PopulationSquaredLoss
from greedyexp.losses.squared import SquaredLoss
from greedyexp.problems.checks import require_memory
from greedyexp.problems.moments import Moments, SpreadMoments
from greedyexp.problems.problem import Problem
from greedyexp.problems.radius import LARGEST_RADIUS, SMALLEST_RADIUS
from greedyexp.theory.sparsity_bounds import smoothness_of_risk
from greedyexp.theory.theorems import Reference

# An l1 norm above the radius by less than this fraction of it is rounding.
_NORM_ROUNDING = 1e-9
# Up to this number of features the Gram matrix of the sample is formed; with more, the rows of the
# features in use.
MOST_KEPT = 2048

# ``rows``, ``scale``, ``bump`` and ``cross`` of ``kernels.frank_wolfe.on_quadratic``.
Form = tuple[Any, np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Answers:
    """The answers of a run to the m points of a grid.

    Parameters
    ----------
    coef : array (m, d)
    steps : int array (m,)
        Number of steps made.
    gap : array (m,)
        Duality gap.
    reached : bool array (m,)
        Whether the gap is at most the requested accuracy; True if none is requested. For the
        accuracy 0, whether the run reached the limit of precision.
    asked : StepGrid
        The points of the grid.
    stuck : int, optional
        Number of steps after which a further step changes no digit; None if there is no such
        number.
    """

    coef: np.ndarray
    steps: np.ndarray
    gap: np.ndarray
    reached: np.ndarray
    asked: StepGrid
    stuck: int | None

    @classmethod
    def joined(cls, answers: Sequence[Answers], order: np.ndarray, asked: StepGrid) -> Answers:
        """Return the answers of several runs, in the order of the points of a grid."""
        coef, steps, gap, reached = (
            np.concatenate([getattr(own, name) for own in answers])[order]
            for name in ("coef", "steps", "gap", "reached")
        )
        stuck = [own.stuck for own in answers if own.stuck is not None]
        return cls(coef, steps, gap, reached, asked, max(stuck, default=None))

    def path(self, loss: Loss, objective: np.ndarray, facts: dict[str, np.ndarray]) -> Path:
        """Return the answers as a path."""
        return Path(
            self.coef[:, :, None],
            grid=self.asked.grid,
            objective=objective,
            converged=self.reached,
            message=self.remarks,
            loss=loss,
            facts=facts,
        )

    def values(self, value: Callable[[np.ndarray], float]) -> np.ndarray:
        """Return the value of a function at each point, (m,); it is called once for each state."""
        _, first, place = np.unique(self.steps, return_index=True, return_inverse=True)
        return np.array([value(self.coef[index]) for index in first])[place]

    @property
    def remarks(self) -> str:
        """Remarks for the user on points that are not converged; empty if there are none.

        Without a grid of the user only the last point is checked, the end of the run.
        """
        last = len(self.steps) - 1
        checked = np.arange(0 if self.asked.given else last, last + 1)
        short = checked[~self.reached[checked]]
        if not len(short):
            return ""
        steps, gap = self.steps[short[0]], self.gap[short[0]]
        if len(checked) > 1:
            remark = f"{len(short)} of {len(checked)} points did not reach the requested gap."
        elif self.asked.epsilon[-1] == 0.0:
            remark = (
                f"After all {steps} steps the gap is {gap:.3g}. Give epsilon > 0 to end at an"
                " accuracy."
            )
        else:
            remark = f"After {steps} steps the gap is {gap:.3g}, not as small as requested."
        if self.stuck is not None:
            remark += f" After {self.stuck} steps a further step would change no digit."
        return remark


def follow(loss: Loss, problem: Problem, radius: float, step: str, asked: StepGrid) -> Answers:
    """Run forward greedy selection from zero and return the estimate at each point of a grid.

    Parameters
    ----------
    loss : Loss
        The loss, bound to the rows or the moments of ``problem``.
    problem : Problem
    radius : float > 0
        B1.
    step : {"paper", "line_search"}
    asked : StepGrid
        ``epsilon`` is compared with the duality gap of ``loss``.

    Raises
    ------
    ConfigError
        If the radius, or its square times the smoothness, overflows.
    """
    if not SMALLEST_RADIUS <= radius <= LARGEST_RADIUS:
        raise ConfigError(
            f"radius must be between {SMALLEST_RADIUS:g} and {LARGEST_RADIUS:g}, but is {radius:g}."
        )
    if not np.isfinite(4.0 * smoothness_of_risk(loss) * radius**2):
        raise ConfigError(
            "the smoothness of the risk times the square of the radius is too large to compute"
            " with.",
            remedy="Use smaller units, a smaller beta or a smaller radius.",
        )
    walk = Walk(loss, problem, radius, step == "line_search")
    coef = np.zeros((len(asked), loss.size))
    steps, gap = np.zeros(len(asked), dtype=np.int64), np.zeros(len(asked))
    reached = np.zeros(len(asked), dtype=bool)
    waiting = np.arange(len(asked))
    while len(waiting):
        walk.advance(int(asked.steps[waiting].min()), float(asked.epsilon[waiting].max()))
        done = walk.ended | (asked.steps[waiting] <= walk.steps)
        done |= walk.reached(asked.epsilon[waiting])
        here, waiting = waiting[done], waiting[~done]
        target = asked.epsilon[here]
        coef[here], steps[here], gap[here] = walk.coef, walk.steps, walk.gap
        exact = (target == 0.0) & walk.ended
        reached[here] = ~asked.asks[here] | (walk.gap <= target) | exact
    kept = asked.until(walk.steps)
    if not asked.given:
        # The last estimate answers the last point, even if several points lie beyond the end.
        last = np.append(np.arange(len(kept) - 1), len(asked) - 1)
        coef, steps, gap, reached = (values[last] for values in (coef, steps, gap, reached))
    return Answers(coef, steps, gap, reached, kept, walk.steps if walk.ended else None)


def in_ball(path: Path, reference: Reference) -> bool:
    """Return whether the theorems apply to a reference: it must be in the ball of the path."""
    return reference.l1_norm <= float(path.facts["radius"][0]) * (1.0 + _NORM_ROUNDING)


class _RowLoss(Protocol):
    """A loss of single rows: its code in ``kernels.scalar_losses``, and its responses."""

    kind: int
    responses: np.ndarray


class Walk:
    """A run over an l1 ball that can be continued to a number of steps or to a gap.

    Pauses do not affect the steps. For a quadratic risk the gradient is updated in each step, for
    any other risk the predictions.

    Parameters
    ----------
    loss : Loss
        A loss without dense coefficients, bound to the rows or the moments of ``problem``.
    problem : Problem
    radius : float > 0
    exact : bool
        Whether steps go to the minimum along their direction.
    """

    gap: float

    def __init__(self, loss: Loss, problem: Problem, radius: float, exact: bool):
        settings = radius, smoothness_of_risk(loss), exact
        form = _quadratic(loss, problem)
        if form is not None:
            self._run = on_quadratic(*form, *settings)
        else:
            by_rows = cast(_RowLoss, loss)
            rows = by_rows.responses, by_rows.kind, loss.beta, loss.ridge
            self._run = on_losses(problem.X[0].T, *rows, *settings)

    def advance(self, until: int, target: float) -> None:
        """Make steps up to number ``until``, or until the gap is at most a positive ``target``."""
        self._run.advance(until, target)
        # The gradient is computed afresh from the coefficients.
        self.gap = max(self._run.fresh_gap(), 0.0)

    def reached(self, targets: np.ndarray) -> np.ndarray:
        """Return for each target whether a run with it would have ended here."""
        close = self._run.gap <= targets + self._run.doubt
        return (targets > 0.0) & close & (self.gap <= targets)

    @property
    def steps(self) -> int:
        """Number of steps made."""
        return self._run.steps

    @property
    def ended(self) -> bool:
        """Whether the gap is zero, or a further step would change no digit."""
        return self._run.ended

    @property
    def coef(self) -> np.ndarray:
        """The present coefficients, a new array (d,)."""
        return self._run.coef.copy()


def _quadratic(loss: Loss, problem: Problem) -> Form | None:
    """Return the form of a quadratic risk; None for others."""
    if isinstance(loss, PopulationSquaredLoss):
        return _moments(loss.moments, loss.ridge)
    if isinstance(loss, SquaredLoss) and loss.size > MOST_KEPT:
        return _rows(problem.X[0], problem.y[0], loss.ridge)
    if isinstance(loss, SquaredLoss):
        # Copies, since entries of equal columns are overwritten.
        rows, cross = np.array(problem.gram[0]), np.array(problem.correlation[0])
        return _matrix(rows, cross, loss.ridge, equal_columns(problem.X[0].T))
    return None


def _rows(X: np.ndarray, y: np.ndarray, ridge: float) -> Form:
    """Return the form of the sample with rows on demand, where equal columns have equal numbers."""
    n, d = X.shape
    require_memory(
        8.0 * d * (n + BATCH),
        f"rows of the Gram matrix of {d} features",
        "Use fewer features or samples.",
    )
    return gram_rows(X, n + BATCH), np.ones(d), np.full(d, ridge), transposed_product(X, y) / n


def _moments(moments: Moments, ridge: float) -> Form:
    if isinstance(moments, SpreadMoments):
        return moments.u[None, :], moments.u, moments.alpha + ridge, moments.cross
    rows = np.stack([moments.column(j) for j in range(moments.size)])
    # Features with equal moments are equal with probability one.
    return _matrix(rows, np.array(moments.cross), ridge, equal_columns(rows))


def _matrix(rows: np.ndarray, cross: np.ndarray, ridge: float, equal: EqualColumns) -> Form:
    """Return the form of a matrix E[x x^T], where copies get the numbers of their originals.

    Derivatives of different columns are compared exactly. A relative tolerance would be harmful:
    near the minimum the derivatives of all features in use agree to any tolerance, and a step
    towards one that is not the largest need not lower the risk.
    """
    equalise(rows, equal)
    cross[equal.copies] = equal.signs * cross[equal.originals]
    d = len(cross)
    return rows, np.ones(d), np.full(d, ridge), cross
