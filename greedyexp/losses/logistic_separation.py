"""Whether columns separate two classes, which leaves the logistic loss without a minimum."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

# Weights this small relative to the largest are the rounding of a linear program.
NO_WEIGHT = 1e-9
# Margins below zero by this part of the largest are rounding errors of their sums.
MARGIN_ROUNDING = 1e-12


def separating_direction(signed: np.ndarray) -> tuple[np.ndarray | None, bool]:
    """Weights v with v @ signed >= 0 and not all zero, with few nonzero ones.

    The linear program minimises sum |v_j| over those of mean margin one (after Konis, 2007).

    Parameters
    ----------
    signed : array (k, n)
        Columns of the design times the labels -1 and 1.

    Returns
    -------
    direction : array (k,) or None
        A combination of columns that is nonnegative on the class 1 and nonpositive on the class
        -1 in every sample and not zero throughout, to the solver's tolerance of 1e-7; None when
        there is none.
    certain : bool
        Whether it is one, or there is none, up to the rounding of sums.
    """
    sizes = np.abs(signed).max(axis=1, initial=0.0)
    used = np.flatnonzero(sizes > 0)
    if not len(used):
        return None, True
    atoms = signed[used] / sizes[used, None]
    both = np.vstack([atoms, -atoms])
    found = linprog(
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
    """Columns that separate together and of which none can be spared, some of those in use.

    Parameters
    ----------
    signed : array (k, n)
    direction : array (k,)
        One that separates.
    """
    held = [int(place) for place in np.flatnonzero(direction)]
    for place in tuple(held):
        others = [other for other in held if other != place]
        if separating_direction(signed[others])[0] is not None:
            held = others
    return held
