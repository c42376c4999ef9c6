"""Which iterations of a run are recorded."""

from __future__ import annotations

import numpy as np


def marks(iterations: int, points: int, dense: int) -> np.ndarray:
    """Iterations to stop at, in order.

    Parameters
    ----------
    iterations : int >= 1
        Length of the run.
    points : int >= 0
        So many iterations from 1 to the last, equally spaced in the logarithm; where they round to
        the same number there are fewer.
    dense : int >= 0
        Every iteration up to this one, as far as the run goes.

    Returns
    -------
    array (m,) of int
        With iteration 0 in front; empty when both numbers are 0.
    """
    if not points and not dense:
        return np.zeros(0, dtype=int)
    spaced = np.geomspace(1, iterations, points) if points > 1 else np.full(points, iterations)
    # The end is the last iteration itself, whatever the logarithm rounds it to.
    wanted = np.minimum(np.rint(spaced).astype(int), iterations)
    return np.union1d(np.arange(min(dense, iterations) + 1), wanted)
