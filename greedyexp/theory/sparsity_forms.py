"""Functions of k and of epsilon that promises are made of, and what is refused of their values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# A number of steps that is whole but for its rounding, relative, is whole.
WHOLE = 1e-12


def excess_of(form: Callable[[np.ndarray], np.ndarray], *, start: int = 1) -> Callable:
    """A bound at k >= start as a checked function of any k >= 0, infinite before."""

    def excess(k) -> np.ndarray:
        k = np.asarray(k, dtype=float)
        if not (k >= 0.0).all():
            raise ValueError("steps must be >= 0.")
        return np.where(k >= start, form(np.maximum(k, start)), np.inf)

    return excess


def steps_of(form: Callable[[np.ndarray], np.ndarray]) -> Callable:
    """A number of steps, rounded up, as a checked function of epsilon > 0."""

    def steps(epsilon) -> np.ndarray:
        epsilon = np.asarray(epsilon, dtype=float)
        if not (epsilon > 0.0).all():
            raise ValueError("epsilon must be > 0.")
        return np.ceil(form(epsilon) * (1.0 - WHOLE))

    return steps


def no_promise(values) -> np.ndarray:
    """Infinity, whatever is asked."""
    return np.full(np.shape(values), np.inf)


def check_positive(**values: float) -> None:
    """Raise ValueError, with a sentence, unless all values are > 0."""
    for name, value in values.items():
        if not value > 0.0:
            raise ValueError(f"{name} must be > 0, but is {value!r}.")


def check_reading(reading: str, known: tuple[str, ...]) -> None:
    """Raise ValueError, with a sentence, unless the reading is known."""
    if reading not in known:
        raise ValueError(f"there is no reading '{reading}': use {', '.join(known)}.")
