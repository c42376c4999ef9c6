"""One algorithm asked for what it returns after given numbers of steps, and what is seen of it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from greedyexp.core.errors import PluginError
from greedyexp.core.parts import Algorithm
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem
from greedyexp.protocols.tuning import fit
from greedyexp.theory.theorems import Reference


def search_steps(steps: int, fine: int, resolution: int) -> np.ndarray:
    """Numbers of steps at which accuracies are sought.

    Parameters
    ----------
    steps : int >= 1
        The last.
    fine : int >= 0
        Every one up to here.
    resolution : int >= 1
        Beyond, so many for each factor of ten, equally spaced in the logarithm.

    Returns
    -------
    array (m,) of int
        Increasing, 0 and ``steps`` among them.
    """
    every = np.arange(min(fine, steps) + 1)
    first = max(fine, 1)
    count = int(np.ceil(resolution * np.log10(max(steps / first, 1.0)))) + 1
    spaced = np.minimum(np.rint(np.geomspace(first, max(steps, first), count)), steps)
    return np.union1d(np.append(every, steps), spaced.astype(np.int64))


@dataclass(frozen=True)
class Runner:
    """An algorithm on a problem.

    Parameters
    ----------
    part : Algorithm
        It has a parameter ``steps``.
    problem : Problem
    params : dict
        Its parameters; ``steps`` is the budget.
    rng : Generator
        Every path begins with this stream, which stays where it is.
    """

    part: Algorithm
    problem: Problem
    params: dict
    rng: np.random.Generator

    @property
    def certifies(self) -> bool:
        """Whether it ends by itself when a certificate says that it is accurate enough."""
        return "epsilon" in self.params

    def after(self, steps: np.ndarray, epsilon: np.ndarray | None = None) -> Seen:
        """What it returns when told so many steps, and such an accuracy where it takes one.

        Parameters
        ----------
        steps : int array (m,)
        epsilon : array (m,), optional
            The parameter of the algorithm when None.

        Raises
        ------
        PluginError
            When the path has other points or its loss is not given.
        """
        grid = {"steps": np.asarray(steps, dtype=np.int64)}
        if self.certifies:
            own = np.full(len(steps), float(self.params["epsilon"]))
            grid["epsilon"] = own if epsilon is None else np.asarray(epsilon, dtype=float)
        rng = copy.deepcopy(self.rng)
        path = fit(self.part, self.problem, self.params, grid=grid, rng=rng)
        if path.loss is None:
            raise PluginError(
                f"algorithm '{self.part.name}' does not say what it minimised.",
                remedy="Give the loss in the path: Path(..., loss=...).",
            )
        return Seen(path, grid["steps"])

    def doubts(self, seen: Seen, places: Sequence[int] | None = None) -> list[str]:
        """Why estimates cannot be taken at their word; empty when they can.

        An algorithm that takes an accuracy gives its certificate, ``Seen.gap``, with every
        estimate, so an estimate after too few steps for the accuracy is no reason for doubt.

        Parameters
        ----------
        seen : Seen
        places : sequence of int, optional
            Of the estimates; all when None.
        """
        if self.certifies:
            return []
        converged = seen.path.converged if places is None else seen.path.converged[places]
        short = int((~converged).sum())
        if not short:
            return []
        said = f"{short} of {len(converged)} estimates lack their certificate"
        return [f"{said}: {seen.path.message}".rstrip(": .")]

    def said(self, seen: Seen) -> str:
        """What a user should know of a run without doubts."""
        # That an accuracy was not reached is what empty cells say.
        return "" if self.certifies else seen.path.message


@dataclass(frozen=True)
class Seen:
    """Estimates after numbers of steps.

    Parameters
    ----------
    path : Path
        m estimates, with the loss that was minimised.
    asked : int array (m,)
        The steps that each was told.
    """

    path: Path
    asked: np.ndarray

    @cached_property
    def steps(self) -> np.ndarray:
        """The steps made, (m,) of int: fewer than asked for where the run ended by itself."""
        return np.asarray(self.path.facts.get("steps", self.asked)).astype(np.int64)

    @property
    def counted(self) -> np.ndarray:
        """The steps that bounds of the excess are taken at, (m,) of int.

        A run that its certificate ended stays where it is, while bounds go on to fall.
        """
        return np.minimum(self.asked, self.steps)

    @cached_property
    def features(self) -> np.ndarray:
        """Nonzero coefficients, (m,) of int."""
        return np.count_nonzero(self.path.coef, axis=(1, 2))

    @cached_property
    def l1_norm(self) -> np.ndarray:
        """||w||_1, (m,)."""
        return np.array([np.abs(coef).sum() for coef in self.path.coef])

    @property
    def risk(self) -> np.ndarray:
        """R, (m,): of the loss before it was smoothed where the algorithm tells that."""
        return np.asarray(self.path.facts.get("risk", self.path.objective), dtype=float)

    @property
    def gap(self) -> np.ndarray:
        """The certificate of each estimate, (m,); nan without one."""
        return np.asarray(self.path.facts.get("gap", np.full(len(self.path), np.nan)), dtype=float)

    @cached_property
    def smoothed(self) -> np.ndarray:
        """R of the loss of the path, (m,)."""
        if "risk" not in self.path.facts:
            return np.asarray(self.path.objective, dtype=float)
        return np.array([self.path.loss.value(params) for params in self.path.params])

    @cached_property
    def original(self) -> np.ndarray:
        """R of that loss before it was smoothed, (m,)."""
        if "risk" in self.path.facts:
            return self.risk
        return np.array([self.path.loss.unsmoothed(params) for params in self.path.params])

    def excess(self, reference: Reference, original: bool) -> np.ndarray:
        """R(w) - R(wbar), (m,)."""
        return self.original - reference.original if original else self.smoothed - reference.value
