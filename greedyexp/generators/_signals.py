"""Laws of the nonzero coefficients, shared by the synthetic generators."""

from __future__ import annotations

from typing import Literal

import numpy as np

Values = Literal["sign", "gaussian"]


def draw_values(rng: np.random.Generator, law: Values, size: int) -> np.ndarray:
    """Nonzero coefficients: +-1 with equal probability, or standard normal, shape (size,)."""
    if law == "sign":
        return rng.choice([-1.0, 1.0], size=size)
    return rng.standard_normal(size)
