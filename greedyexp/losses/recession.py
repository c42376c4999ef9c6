"""Directions along which a loss falls forever. A loss with such a direction has no minimum."""

from __future__ import annotations

import numpy as np
import scipy

# Weights smaller than this fraction of the largest are rounding errors of the linear program.
NO_WEIGHT = 1e-9
# Negative margins smaller than this fraction of the largest are rounding errors.
MARGIN_ROUNDING = 1e-12
# Largest number of features listed in a message.
NAMED = 6


def separating_direction(signed: np.ndarray) -> tuple[np.ndarray | None, bool]:
    """Return sparse weights v, not all zero, with v @ signed >= 0.

    A linear program minimises sum |v_j| subject to a mean margin of one (after Konis, 2007).

    Parameters
    ----------
    signed : array (k, n)
        Columns of the design times the labels -1 and 1.

    Returns
    -------
    direction : array (k,) or None
        Weights of a combination of columns that is nonnegative on class 1, nonpositive on class -1,
        and not zero everywhere, up to the solver's tolerance of 1e-7; None if there is none.
    certain : bool
        Whether the answer is correct up to rounding.
    """
    sizes = np.abs(signed).max(axis=1, initial=0.0)
    used = np.flatnonzero(sizes > 0)
    if not len(used):
        return None, True
    atoms = signed[used] / sizes[used, None]
    both = np.vstack([atoms, -atoms])
    found = scipy.optimize.linprog(
        np.ones(len(both)),
        A_ub=-both.T,
        b_ub=np.zeros(signed.shape[1]),
        A_eq=both.mean(axis=1)[None],
        b_eq=[1.0],
    )
    if found.x is None:
        return None, True
    weights = found.x[: len(used)] - found.x[len(used) :]
    weights[np.abs(weights) <= NO_WEIGHT * np.abs(weights).max()] = 0.0
    margins = weights @ atoms
    direction = np.zeros(len(signed))
    direction[used] = weights / sizes[used]
    return direction, bool(margins.min() >= -MARGIN_ROUNDING * np.abs(margins).max())


def needed(signed: np.ndarray, direction: np.ndarray) -> list[int]:
    """Return a minimal set of columns, among those in use, that still separates the classes.

    Parameters
    ----------
    signed : array (k, n)
    direction : array (k,)
        Weights that separate the classes.
    """
    held = [int(place) for place in np.flatnonzero(direction)]
    for place in tuple(held):
        others = [other for other in held if other != place]
        if separating_direction(signed[others])[0] is not None:
            held = others
    return held


def direction_of_fall(
    rows: np.ndarray, up: np.ndarray, down: np.ndarray
) -> tuple[np.ndarray | None, bool]:
    """Return weights v, not all zero, along which no loss of a sample ever rises.

    Parameters
    ----------
    rows : array (k, n)
        Columns of the design.
    up, down : bool arrays (n,)
        Whether the loss of each sample falls forever as its prediction goes to infinity, and to
        minus infinity. The predictions of samples with neither must stay.

    Returns
    -------
    direction, certain
        As ``separating_direction`` returns them.
    """
    free = up | down
    sizes = np.abs(rows).max(axis=1, initial=0.0)
    scaled = rows / np.where(sizes > 0, sizes, 1.0)[:, None]
    basis = np.eye(len(rows)) if free.all() else scipy.linalg.null_space(scaled[:, ~free].T)
    found, certain = separating_direction((basis.T @ scaled[:, free]) * np.where(up[free], 1, -1))
    if found is None:
        return None, certain
    return basis @ found / np.where(sizes > 0, sizes, np.inf), certain
