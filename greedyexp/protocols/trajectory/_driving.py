"""Drive an iteration past marks and accuracies; how fast its gap shrank in the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from greedyexp.estimates.iteration import Iteration

# The rate of a run is measured down to this part of the first gap.
DEPTH = 1e-12


@dataclass(frozen=True)
class Stop:
    """Where an iteration stood: how many steps were made, and the objective there."""

    iteration: int
    objective: float


@dataclass(frozen=True)
class Course:
    """What was seen of one run.

    Parameters
    ----------
    marks : array (m,) of int
        The iterations recorded: those asked for, as far as the run went.
    objective, support_size, l1_norm : arrays (m,)
        The objective at each, the number of nonzero coefficients and the sum of their sizes.
    coef : array (m, p)
        The estimate at each; (0, p) when estimates were not kept.
    hits : tuple of Stop or None
        For each target the first iterate at or below it; None where there was none.
    end : Stop
        The last iterate seen.
    last_outside : int
        That of the iteration at the last mark, be the run longer or not; see ``Iteration.watch``.
    trouble : str
        Why the run ended early, a sentence; empty when it did not.
    """

    marks: np.ndarray
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
    marks: np.ndarray,
    targets: Sequence[float],
    *,
    iterations: int,
    keep_coef: bool = False,
) -> Course:
    """Run an iteration from where it stands, stopping at marks and where targets are reached.

    Nothing is kept of iterations that are not marked. The run ends with the last mark, or, while
    there are targets ahead, after ``iterations`` steps at most.

    Parameters
    ----------
    marks : array (m,) of int
        Increasing.
    targets : sequence of float
        Values of the objective, in any order.
    """
    order = sorted(range(len(targets)), key=lambda t: -targets[t])
    hits: list[Stop | None] = [None] * len(targets)
    seen: list[tuple] = []
    kept, trouble, last_outside = [], "", -1
    legs = [(int(mark), True) for mark in marks]
    if not len(marks) or marks[-1] < iterations:
        legs.append((iterations, False))
    for until, marked in legs:
        while order and _reach(iteration, until, targets[order[0]]):
            hits[order.pop(0)] = Stop(iteration.iteration, iteration.objective)
        if not order:
            if not marked:
                break
            iteration.advance(until)
        if iteration.iteration < until:
            trouble = f"the method stopped by itself after {iteration.iteration} iterations"
            break
        if marked:
            coef = iteration.coef
            seen.append((iteration.objective, np.count_nonzero(coef), np.abs(coef).sum()))
            kept.extend([coef] if keep_coef else [])
            last_outside = iteration.last_outside
    objective, size, l1_norm = np.array(seen, dtype=float).reshape(-1, 3).T
    return Course(
        marks=marks[: len(seen)],
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
    """Whether the target is reached by then; the iteration stands there, or at ``until``."""
    iteration.advance(until, target)
    # A method that stopped on the way saw the target reached, if only by its own rounding.
    early = iteration.iteration < until and not iteration.trouble
    return early or iteration.objective <= target


def contraction(
    make: Callable[[], Iteration], first: float, end: Stop, value: float
) -> float | None:
    """Mean factor of the gap per iteration over the second half of a run; None without one.

    A second run finds where the first had half its iterations behind it, which was not known then.

    Parameters
    ----------
    make : callable
        Begins the run anew.
    first : float
        Objective at iteration 0.
    end : Stop
        Where the run was cut: at the first iterate with a gap of ``DEPTH`` of the first, or at
        its end.
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
