"""Runs of the trajectory protocol on methods whose way is known."""

from __future__ import annotations

import numpy as np

from greedyexp.core.parts import Algorithm
from greedyexp.estimates.iteration import Iteration, SteppedIteration
from greedyexp.problems.problem import as_problem
from greedyexp.protocols.base import Setup
from greedyexp.protocols.trajectory.trajectory import trajectory
from greedyexp.theory.convergence_rates import GapBound

SETUP = Setup("none", 2, (), np.random.default_rng(0))


class Shrinking(Iteration):
    """a_k = 1 - c^k in every coordinate, on the design I sqrt(n) and y = sqrt(n): gap c^(2k) p / 2.

    Counts its steps. From ``spoiled`` on every step makes the estimate infinite, or, with
    ``stuck``, there are no further steps. With ``found`` it begins at the optimum.
    """

    def __init__(self, p, c, spoiled=np.inf, stuck=np.inf, trouble="", found=False):
        self.p, self.c, self.spoiled, self.stuck, self.said = p, c, spoiled, stuck, trouble
        self.found = found

    @property
    def coef(self):
        if self.iteration >= self.spoiled:
            return np.full(self.p, np.inf)
        return np.full(self.p, 1 - (0.0 if self.found else self.c**self.iteration))

    @property
    def objective(self):
        with np.errstate(over="ignore"):
            return float(((self.coef - 1) ** 2).sum() / 2)

    def advance(self, until, target=-np.inf):
        while self.iteration < until and not self.objective <= target:
            if self.iteration >= self.stuck:
                self.trouble = self.said
                return
            self.iteration += 1

    def watch(self, inside):
        raise AssertionError("nobody asked for local bounds")


def shrinking_problem(p=3):
    """Its optimum is all ones, with value zero."""
    return as_problem(np.sqrt(p) * np.eye(p), np.full(p, np.sqrt(p)))


class Proximal(SteppedIteration):
    """Plain proximal gradient."""

    def step(self, coef):
        n = len(self.response)
        scale = np.linalg.norm(self.design, 2) ** 2 / n
        moved = coef - self.design.T @ (self.design @ coef - self.response) / (n * scale)
        return np.sign(moved) * np.maximum(np.abs(moved) - self.lam / scale, 0)


def proximal(problem, *, lam):
    return Proximal(problem.X[0], problem.y[0], lam)


def follow(problem, function, params=None, *, declared=None, **asked):
    part = Algorithm("tried", function, **(declared or {}))
    return trajectory(problem, part, params or {}, SETUP, **asked)


def of_kind(outcome, record):
    return [row for row in outcome.rows if row["record"] == record]


def gaussian_problem(n, p, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    truth = np.zeros(p)
    truth[rng.choice(p, 4, replace=False)] = rng.choice([-1.0, 1.0], 4)
    return as_problem(X, X @ truth + 0.5 * rng.standard_normal(n))


def halving(problem, best, *, support=None, **_):
    """A bound with the rate 1/2, on a support 1 - |S| / 1000."""
    if support is not None:
        assert np.array_equal(support, np.flatnonzero(best.coef))
        return GapBound(rate=1 - len(support) / 1000, power=2)
    return GapBound(rate=0.5)
