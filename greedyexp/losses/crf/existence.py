"""Whether a chain model without a ridge has a minimum.

It has none when some change of the parameters makes the labelling that was seen no less likely than
any other, and than some more likely: along it the loss falls for ever. A chain may start, end and
move as it likes, so that what was never seen is such a change by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from greedyexp.losses._quasi_newton import Descent, descend

if TYPE_CHECKING:
    from greedyexp.losses.crf.crf import CrfLoss
    from greedyexp.losses.crf.reduced import Reduced

# Log odds below this leave a gradient that no tolerance takes for zero.
DEEP = 5.0
# Part of the gradient to which a minimiser is followed, and the steps that may take.
FURTHER = 1e-2
STEPS = 20
# Log odds by which a minimiser may move on the way. Where there is none they move by 4.6.
MOVED = 1.0
# Log odds from which on directions are looked for in which the loss is flat, the step in log odds
# that tells, and the part of the largest curvature that is none.
FAR = 20.0
STEP = 1e-3
FLAT = 1e-9
# Multiple of the tolerance that no gauge, but for rounding, leaves of the gradient.
STEEPER = 1e3
# Missing things that a message names.
NAMED = 4

ENDING = "so that without a ridge no minimum exists. Give a ridge above zero."


def unseen(loss: CrfLoss) -> str:
    """A sentence on classes, starts, ends and moves that no labelling has; empty without any."""
    r = loss.shape[1]
    if loss.ridge > 0.0 or r == 1:
        return ""
    starts, ends = loss.observed[loss.size :][: 2 * r].reshape(2, r)
    moves = loss.observed[loss.size + 2 * r :].reshape(r, r)
    seen = np.bincount(loss.labels, minlength=r) > 0
    said = [f"class {k} never occurs" for k in np.flatnonzero(~seen)]
    said += [f"no chain starts with class {k}" for k in np.flatnonzero(seen & (starts == 0))]
    said += [f"no chain ends with class {k}" for k in np.flatnonzero(seen & (ends == 0))]
    if loss.chains.max() > 1:
        absent = (moves == 0) & seen & seen[:, None]
        said += [f"class {k} never follows class {j}" for j, k in np.argwhere(absent)]
    more = [f"{len(said) - NAMED} more of this kind"] if len(said) > NAMED else []
    return f"{', '.join(said[:NAMED] + more)}, {ENDING}" if said else ""


def separating(loss: CrfLoss, function: Reduced) -> str:
    """A sentence on free coefficients that tell a class by their sign alone; empty without any."""
    if loss.ridge > 0.0 or loss.shape[1] == 1:
        return ""
    said = []
    for feature, column in function.selected():
        i, k = divmod(feature, loss.shape[1])
        signed = np.where(loss.labels == k, column, -column)
        if signed.any() and ((signed >= 0.0).all() or (signed <= 0.0).all()):
            said.append(f"feature {i} separates class {k} from the others")
    return f"{', '.join(said)}, {ENDING}" if said else ""


def growing(loss: CrfLoss, function: Reduced, found: Descent, tolerance: float) -> str:
    """A sentence when weights grow for as long as the minimum is looked for; empty otherwise.

    A gradient within the tolerance says nothing where log odds may change at will and leave it
    there. At a minimiser they stay when the gradient is made smaller still; where there is none
    they move by the logarithm of that.
    """
    if loss.ridge > 0.0 or function.odds(found.x) < DEEP:
        return ""
    if found.converged:
        target = FURTHER * min(tolerance, np.abs(found.gradient).max(initial=0.0))
        further = descend(function, found.x, target, found.inverse.copy(), STEPS)
        if function.odds(further.x - found.x) < MOVED and not _beyond(function, found, tolerance):
            return ""
    return (
        "the weights grow for as long as a minimum is looked for, so that without a ridge none "
        "seems to exist. Give a ridge above zero."
    )


def _beyond(function: Reduced, found: Descent, tolerance: float) -> bool:
    """Whether the gradient is flat only because the weights went so far.

    Some parameters can be traded for each other, and the loss is flat in these directions
    everywhere. In others it is flat far out alone: without its part in all flat directions the
    point has a gradient again.
    """
    if function.odds(found.x) < FAR:
        return False
    sizes = function.sizes()
    rows = [
        (function(found.x + move)[1] - found.gradient) / (STEP * sizes)
        for move in np.diag(STEP / sizes)
    ]
    # Each difference is orthogonal to what can be traded, which the symmetric part would not keep.
    _, values, vectors = np.linalg.svd(np.array(rows))
    flat = vectors[values <= FLAT * values[0]]
    back = found.x - flat.T @ (flat @ (found.x * sizes)) / sizes
    return bool(np.abs(function(back)[1]).max() > STEEPER * tolerance)
