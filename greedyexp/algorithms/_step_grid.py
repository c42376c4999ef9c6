"""Points of a path by numbers of steps: those asked for, or 0, 1, 2, 4, ... and the end."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from greedyexp.core.errors import ConfigError

# Steps are counted in 64-bit integers, and told in floats.
MOST_STEPS = 2**53


@dataclass(frozen=True)
class StepGrid:
    """For each point the number of steps, and the accuracy, that its answer is told.

    Parameters
    ----------
    steps : int array (m,)
        Most steps, at least 0.
    epsilon : array (m,), optional
        End when a certificate is at or below; None for an algorithm that has no such parameter.
    names : tuple of str
        Which of them the path has in its grid.
    given : bool
        Whether the points were asked for.
    budget : int
        The most steps, at which the accuracy that is a parameter is asked for.
    """

    steps: np.ndarray
    epsilon: np.ndarray | None
    names: tuple[str, ...]
    given: bool
    budget: int

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def grid(self) -> dict[str, np.ndarray]:
        """As ``Path.grid``, arrays (m,) of float."""
        return {name: getattr(self, name).astype(float) for name in self.names}

    @property
    def asks(self) -> np.ndarray:
        """Whether a point is asked for its accuracy, (m,) of bool.

        One with an epsilon of its own is. The parameter is that of the whole run: an estimate
        before its end is unfinished by design.
        """
        return self.steps >= (0 if "epsilon" in self.names else self.budget)

    def until(self, end: int) -> StepGrid:
        """The points of a run that made ``end`` steps in all, unchanged where they were given.

        Of points that were not, those before the end and the end itself.
        """
        if self.given:
            return self
        steps = np.append(self.steps[self.steps < end], end)
        epsilon = None if self.epsilon is None else np.full(len(steps), self.epsilon[0])
        return replace(self, steps=steps, epsilon=epsilon)

    def only(self, places: np.ndarray) -> StepGrid:
        """Some of the points."""
        epsilon = None if self.epsilon is None else self.epsilon[places]
        return replace(self, steps=self.steps[places], epsilon=epsilon)

    def scaled(self, share: float) -> StepGrid:
        """The points with a share of their accuracies to reach; for an algorithm that has them."""
        return replace(self, epsilon=share * self.epsilon)


def step_grid(
    grid: dict[str, np.ndarray] | None, steps: int, epsilon: float | None = None
) -> StepGrid:
    """The points that a path is to have.

    Parameters
    ----------
    grid : dict of arrays (m,), optional
        ``steps``, or ``steps`` and ``epsilon``, which then stand for the parameters of these names;
        0, 1, 2, 4, ... steps and ``steps`` when there is none.
    steps : int >= 1
        The parameter of the algorithm.
    epsilon : float >= 0, optional
        The parameter; None for an algorithm without.

    Raises
    ------
    ConfigError
        When the grid is no grid of this algorithm, or a value is impossible.
    """
    if grid is None:
        if steps > MOST_STEPS:
            raise ConfigError(f"steps is {steps}, but at most 2^53 can be counted.")
        doubling = 2 ** np.arange(int(steps).bit_length(), dtype=np.int64)
        counts = np.unique(np.concatenate(([0], doubling, [steps]))).astype(np.int64)
        given, names = False, ("steps",)
    else:
        known = ("steps",) if epsilon is None else ("steps", "epsilon")
        if "steps" not in grid or not set(grid) <= set(known):
            optional = "" if epsilon is None else ", and may hold values of epsilon"
            raise ConfigError(f"the grid must hold values of steps{optional}.")
        counts = _whole(_values(grid, "steps"))
        given, names = True, tuple(name for name in known if name in grid)
    accuracies = None if epsilon is None else np.full(len(counts), float(epsilon))
    if "epsilon" in names:
        accuracies = _values(grid, "epsilon")
        if len(accuracies) != len(counts):
            raise ConfigError(
                f"the grid holds {len(counts)} values of steps and {len(accuracies)} of epsilon.",
                remedy="Give one of each for every point.",
            )
    return StepGrid(counts, accuracies, names, given, int(steps))


def _values(grid: dict[str, np.ndarray], name: str) -> np.ndarray:
    """Finite numbers >= 0, (m,)."""
    try:
        values = np.atleast_1d(np.asarray(grid[name], dtype=float))
    except (TypeError, ValueError):
        values = np.zeros(0)
    if values.ndim != 1 or not values.size or not (np.isfinite(values) & (values >= 0)).all():
        raise ConfigError(f"the grid of {name} must hold numbers >= 0.")
    return values


def _whole(values: np.ndarray) -> np.ndarray:
    if (values % 1 != 0).any() or (values > MOST_STEPS).any():
        raise ConfigError("the grid of steps must hold whole numbers >= 0, at most 2^53.")
    return values.astype(np.int64)
