"""Run an iteration, record it, and measure its rate of convergence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from greedyexp.estimates.iteration import Iteration

# The rate of a run is measured down to this fraction of the first gap.
DEPTH = 1e-12


@dataclass(frozen=True)
class Stop:
    """A point of a run: the number of iterations and the objective."""

    iteration: int
    objective: float


@dataclass(frozen=True)
class Course:
    """The record of one run.

    Parameters
    ----------
    recorded : array (m,) of int
        The recorded iterations, as far as the run went.
    objective, support_size, l1_norm : arrays (m,)
        Objective, number of nonzero coefficients and l1 norm at each.
    coef : array (m, p)
        The estimate at each; (0, p) if estimates were not kept.
    hits : tuple of Stop or None
        The first iterate at or below each target; None if there is none.
    end : Stop
        The last iterate.
    last_outside : int
        Value of ``Iteration.last_outside`` at the last recorded iteration, even if the run is
        longer.
    trouble : str
        Why the run ended early; empty if it did not.
    """

    recorded: np.ndarray
    objective: np.ndarray
    support_size: np.ndarray
    l1_norm: np.ndarray
    coef: np.ndarray
    hits: tuple[Stop | None, ...]
    end: Stop
    last_outside: int = -1
    trouble: str = ""


def drive(
    iteration: Iteration,
    schedule: np.ndarray,
    targets: Sequence[float],
    *,
    iterations: int,
    keep_coef: bool = False,
) -> Course:
    """Run an iteration, record it on a schedule, and find when it reaches targets.

    Other iterations are not stored. The run ends with the schedule. If targets are left by then, it
    continues up to ``iterations``.

    Parameters
    ----------
    schedule : array (m,) of int
        Iterations to record, increasing.
    targets : sequence of float
        Values of the objective, in any order.
    """
    order = sorted(range(len(targets)), key=lambda t: -targets[t])
    hits: list[Stop | None] = [None] * len(targets)
    seen: list[tuple] = []
    kept, trouble, last_outside = [], "", -1
    legs = [(int(at), True) for at in schedule]
    if not len(schedule) or schedule[-1] < iterations:
        legs.append((iterations, False))
    for until, recorded in legs:
        while order and _reach(iteration, until, targets[order[0]]):
            hits[order.pop(0)] = Stop(iteration.iteration, iteration.objective)
        if not order:
            if not recorded:
                break
            iteration.advance(until)
        if iteration.iteration < until:
            trouble = f"the method stopped by itself after {iteration.iteration} iterations"
            break
        if recorded:
            coef = iteration.coef
            seen.append((iteration.objective, np.count_nonzero(coef), np.abs(coef).sum()))
            kept.extend([coef] if keep_coef else [])
            last_outside = iteration.last_outside
    objective, size, l1_norm = np.array(seen, dtype=float).reshape(-1, 3).T
    return Course(
        recorded=schedule[: len(seen)],
        objective=objective,
        support_size=size.astype(int),
        l1_norm=l1_norm,
        coef=np.array(kept).reshape(len(kept), len(iteration.coef)),
        hits=tuple(hits),
        end=Stop(iteration.iteration, iteration.objective),
        last_outside=last_outside,
        trouble=iteration.trouble or trouble,
    )


def _reach(iteration: Iteration, until: int, target: float) -> bool:
    """Advance to the target, at most to ``until``; return True if the target is reached."""
    iteration.advance(until, target)
    # A method that stopped earlier has reached the target up to rounding.
    early = iteration.iteration < until and not iteration.trouble
    return early or iteration.objective <= target


def contraction(
    make: Callable[[], Iteration], first: float, end: Stop, value: float
) -> float | None:
    """Return the mean factor of the gap per iteration over the second half of a run.

    The result is None if the gap at the start or halfway is not positive. A second run finds the
    gap halfway, since the length of the first run was not known in advance.

    Parameters
    ----------
    make : callable
        Returns a new run at iteration 0.
    first : float
        Objective at iteration 0.
    end : Stop
        The first iterate with a gap of ``DEPTH`` times the first gap, or the end of the run.
    value : float
        The optimum.
    """
    if first <= value or end.iteration == 0:
        return None
    again = make()
    again.advance(end.iteration // 2)
    before, after = again.objective - value, end.objective - value
    if not before > 0:
        return None
    return (max(after, 0.0) / before) ** (1 / (end.iteration - again.iteration))
