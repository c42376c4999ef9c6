"""What is told of a minimiser over an l1 ball."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from greedyexp.core.errors import ConfigError


@dataclass(frozen=True)
class BallMinimum:
    """A point of the ball and how far its risk may be above the minimum.

    Parameters
    ----------
    params : array (d,)
        w with ||w||_1 <= radius, exact zeros where a coefficient is not in use.
    value : float
        R(w).
    gap : float
        At least R(w) - min R >= 0, but for rounding.
    converged : bool
        Whether the gap is what it is to be.
    message : str
        Why it is not, a sentence; empty when all is well.
    """

    params: np.ndarray
    value: float
    gap: float
    converged: bool
    message: str = ""

    @classmethod
    def judged(cls, params: np.ndarray, value: float, gap: float, allowed: float) -> BallMinimum:
        """With the verdict on the gap against what is allowed of it."""
        said = "" if gap <= allowed else f"The duality gap is {gap:.1e}, above {allowed:.1e}."
        return cls(params, value, gap, not said, said)


def duality_gap(params: np.ndarray, gradient: np.ndarray, radius: float) -> float:
    """<grad R(w), w> + radius ||grad R(w)||_inf >= R(w) - min R over the ball.

    By convexity R(v) >= R(w) + <grad R(w), v - w> for each v of the ball (Shalev-Shwartz, Srebro &
    Zhang 2009, Lemma 5); zero where rounding makes it negative.
    """
    return max(0.0, float(gradient @ params) + radius * float(np.abs(gradient).max()))


def into_ball(w: np.ndarray, radius: float) -> np.ndarray:
    """w, shrunk to ||w||_1 = radius where it is beyond."""
    norm = float(np.abs(w).sum())
    return w if norm <= radius else w * (radius / norm)


def check_radius(radius: float) -> None:
    """Refuse a radius that no ball has.

    Raises
    ------
    ConfigError
    """
    if not (0.0 < radius < math.inf):
        raise ConfigError(f"the radius must be a number > 0, but is {radius!r}.")
