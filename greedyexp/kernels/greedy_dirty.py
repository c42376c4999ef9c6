"""One path of the greedy dirty model, Algorithm 1 of Jalali & Sanghavi (2012), in Gram form.

The model adds and removes objects of two classes: single entries and whole rows. The stopping
threshold enters only as the test that ends the run, so one run with a small threshold passes
through the output of every larger threshold: the output for epsilon is the state before the first
forward step whose reward is at most epsilon. These are the states at strict running minima of the
rewards, and only they are recorded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from greedyexp.kernels import native

# Status of a run.
DONE: int = native.greedy_dirty.DONE
TOO_LARGE: int = native.greedy_dirty.TOO_LARGE
CYCLE: int = native.greedy_dirty.CYCLE


def path(
    gram: Any,
    correlation: np.ndarray,
    power: np.ndarray,
    capacity: np.ndarray,
    weight: float,
    nu: float,
    per_class: bool,
    stop: float,
    relative_floor: float,
    max_support: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, int, int, float]:
    """Run Algorithm 1 down to the threshold max(stop, relative_floor * first reward).

    Parameters
    ----------
    gram : array (r, p, p), or (1, p, p) shared by all tasks
        Or a list of r, or one, of ``kernels.gram_rows``.
    correlation : array (r, p)
    power : array (r,)
        ||y_j||^2 / n_j.
    capacity : int array (r,)
        Largest support of each task: its number of rows, at most p.
    weight, nu : float
        w and nu of the paper.
    per_class : bool
        One stack of rewards for each class of objects instead of a single one.
    stop : float
        Smallest threshold; the run ends there.
    relative_floor : float
        Threshold as a part of the first reward; zero for none.
    max_support : int
        The run ends before the first state with more nonzero entries.

    Returns
    -------
    epsilon : array (m,)
        Smallest threshold whose output is the recorded state, decreasing.
    loss : array (m,)
    ends : int array (m + 1,)
        State k has the entries ``ends[k]:ends[k + 1]`` of the next two arrays.
    entries : int array
        feature * r + task of the selected coefficients, increasing within a state.
    values : array
        Coefficients.
    status : int
        DONE; TOO_LARGE if ``max_support`` ended the run; CYCLE if the run returned to an earlier
        state or took 100 steps for each possible entry. After CYCLE the last state is not the
        output of any threshold.
    skipped : int
        Number of best entries that were rejected because they lie in the span of their support.
    smallest : float
        Smallest squared sine of the angle between an added column and the span of the others.
    """
    return native.greedy_dirty.path(
        gram,
        correlation,
        power,
        capacity,
        weight,
        nu,
        per_class,
        stop,
        relative_floor,
        max_support,
    )
