"""Forward greedy runs on smoothed losses, one for each accuracy of the loss as it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greedyexp.algorithms._step_grid import StepGrid
from greedyexp.algorithms.sparsity._frank_wolfe import Answers, follow, remarks
from greedyexp.estimates.path import Path
from greedyexp.losses.loss import Loss
from greedyexp.losses.risk import bind_risk
from greedyexp.problems.problem import Problem
from greedyexp.theory.sparsity_smoothing import READINGS, certified_error

# The Lipschitz constant of the absolute and of the hinge loss.
RHO = 1.0


@dataclass(frozen=True)
class SmoothedRuns:
    """Runs on one problem.

    Parameters
    ----------
    problem : Problem
    name : {"absolute", "hinge"}
    ridge : float >= 0
    radius : float > 0
    step : {"paper", "line_search"}
    reading : {"corrected", "2009", "2008"}
    """

    problem: Problem
    name: str
    ridge: float
    radius: float
    step: str
    reading: str

    def loss(self, epsilon: float) -> Loss:
        """The loss smoothed for an accuracy."""
        beta = READINGS[self.reading].sharpness * RHO**2 / epsilon
        return bind_risk(self.name, self.problem, ridge=self.ridge, beta=beta)

    def path(self, asked: StepGrid, epsilon: float) -> Path:
        """The path with these points.

        Parameters
        ----------
        asked : StepGrid
            With accuracies > 0 in all; one for all points that are not given.
        epsilon : float
            What the loss of the path is smoothed for.
        """
        places = [np.flatnonzero(asked.epsilon == value) for value in np.unique(asked.epsilon)]
        runs = [self._run(asked.only(own)) for own in places]
        if asked.given:
            order = np.argsort(np.concatenate(places))
            grid = asked.grid
        else:
            ((answers, _),) = runs
            order = np.arange(len(answers.points))
            grid = answers.asked.grid
        points = [point for answers, _ in runs for point in answers.points]
        facts = {
            name: np.concatenate([facts[name] for _, facts in runs])[order] for name in runs[0][1]
        }
        stuck = [answers.stuck for answers, _ in runs if answers.stuck is not None]
        return Path(
            coef=np.stack([points[place].coef for place in order])[:, :, None],
            grid=grid,
            objective=facts["risk"],
            converged=np.array([points[place].reached for place in order]),
            message=remarks(points, asked, max(stuck, default=None)),
            loss=self.loss(epsilon),
            facts=facts,
        )

    def _run(self, asked: StepGrid) -> tuple[Answers, dict[str, np.ndarray]]:
        """The answers for points of one accuracy, and the facts of each."""
        epsilon = float(asked.epsilon[0])
        loss, share = self.loss(epsilon), READINGS[self.reading].share
        answers = follow(loss, self.problem, self.radius, self.step, asked.scaled(share))
        steps = np.array([point.steps for point in answers.points])
        gap = np.array([point.gap for point in answers.points])
        return answers, {
            "steps": steps,
            "gap": gap + certified_error(RHO, loss.beta),
            "smoothed_gap": gap,
            "smoothed_risk": answers.values(loss.value),
            "risk": answers.values(loss.unsmoothed),
            "beta": np.full(len(gap), loss.beta),
            "radius": np.full(len(gap), self.radius),
        }
