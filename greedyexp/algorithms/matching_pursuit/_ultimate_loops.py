"""What the two inner loops of the ultimate method share: budgets and the outer iteration."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated

import numpy as np
from pydantic import Field

from greedyexp.estimates.iteration import SteppedIteration
from greedyexp.kernels.ultimate_inner import begin
from greedyexp.solvers.gauge import gauge_coordinates

InnerIterations = Annotated[int, Field(ge=1, description="rounds of the first inner loop")]
InnerGrowth = Annotated[
    float, Field(ge=1, description="factor by which the rounds grow from one iteration to the next")
]
MaxInnerIterations = Annotated[int, Field(ge=1, description="most rounds of an inner loop")]


class InnerLoopIteration(SteppedIteration):
    """The ultimate method with the step left to an inner loop.

    Parameters
    ----------
    task : Task
    lam : float >= 0
    rounds : int >= 1
        Rounds of the first inner loop.
    growth : float >= 1
        Factor by which they grow from one iteration to the next.
    most : int >= 1
        Where growth ends.
    """

    def __init__(self, task, lam, rounds: int, growth: float, most: int):
        super().__init__(task.design, task.response, lam, task.start)
        self._space = gauge_coordinates(task.design, task.response)
        self._rounds, self._growth, self._most = rounds, growth, most

    @abstractmethod
    def solve(self, state, rounds: int) -> np.ndarray:
        """The estimate (p,) after so many rounds."""

    def step(self, coef):
        space = self._space
        slope = space.atoms @ space.gradient(space.point(coef))
        state = begin(space.atoms, coef, slope, self.lam, space.smoothness)
        return self.solve(state, self.budget(self.iteration))

    def budget(self, iteration: int) -> int:
        """Rounds of the inner loop that leads away from an iteration."""
        # The exponent is cut where a power of the growth would overflow.
        grown = self._rounds * self._growth ** min(iteration, _longest(self._growth))
        return int(min(np.ceil(grown), self._most))


def _longest(growth: float) -> float:
    return np.inf if growth == 1.0 else 300.0 / np.log(growth)
