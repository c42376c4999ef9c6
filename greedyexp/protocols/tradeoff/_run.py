"""Estimates of an algorithm after given numbers of steps."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from greedyexp.core.errors import DataError, PluginError
from greedyexp.core.parts import Algorithm
from greedyexp.estimates.path import Path
from greedyexp.losses.loss import Loss
from greedyexp.problems.problem import Problem
from greedyexp.protocols.fitting import fit, uncertified
from greedyexp.theory.theorems import Reference


def in_unit_box(problem: Problem, features: str) -> tuple[Problem, float]:
    """Return the problem with features in [-1, 1], and the largest divisor of a feature.

    Parameters
    ----------
    problem : Problem
        One task. Moments are always those of features in [-1, 1].
    features : {"refuse", "scale"}
        Reject larger features, or divide each feature by its largest absolute value. The
        coefficients of the truth are multiplied by it, so predictions do not change.

    Raises
    ------
    DataError
        If larger features are to be rejected and there are some.
    """
    X: Any = problem.X[0]
    if not X.shape[0]:
        return problem, 1.0
    is_sparse = bool(scipy.sparse.issparse(X))
    largest = abs(X).max(axis=0)
    sizes = largest.toarray().ravel() if is_sparse else np.asarray(largest)
    factor = float(sizes.max(initial=0.0))
    if features == "refuse":
        if factor > 1.0:
            raise DataError(
                f"a feature has the value {factor:.4g}, and the bounds are for features in"
                " [-1, 1].",
                remedy="Let the protocol scale them by 'features: scale', or scale the data;"
                " generator 'file' standardizes by itself unless 'standardize: false'.",
            )
        return problem, 1.0
    sizes[sizes == 0.0] = 1.0
    if (sizes == 1.0).all():
        return problem, factor
    scaled: Any = scipy.sparse.csr_array(X.multiply(1.0 / sizes)) if is_sparse else X / sizes
    truth = None if problem.truth is None else problem.truth * sizes[:, None]
    boxed = replace(problem, X=(scaled,), truth=truth, X_test=(), y_test=(), moments=None)
    return boxed, factor


def search_steps(steps: int, fine: int, resolution: int) -> np.ndarray:
    """Return the numbers of steps at which accuracies are checked.

    Parameters
    ----------
    steps : int >= 1
        Largest number of steps.
    fine : int >= 0
        Every step up to this one is checked.
    resolution : int >= 1
        Number of later steps to check for each factor of ten, equally spaced in the logarithm.

    Returns
    -------
    array (m,) of int
        Increasing, from 0 to ``steps``.
    """
    every = np.arange(min(fine, steps) + 1)
    first = max(fine, 1)
    count = int(np.ceil(resolution * np.log10(max(steps / first, 1.0)))) + 1
    spaced = np.minimum(np.rint(np.geomspace(first, max(steps, first), count)), steps)
    return np.union1d(np.append(every, steps), spaced.astype(np.int64))


@dataclass(frozen=True)
class Estimates:
    """Estimates after given numbers of steps.

    Parameters
    ----------
    path : Path
        m estimates.
    loss : Loss
        The loss that the algorithm minimised.
    asked : int array (m,)
        The requested number of steps of each estimate.
    """

    path: Path
    loss: Loss
    asked: np.ndarray

    @cached_property
    def steps(self) -> np.ndarray:
        """Actual steps, (m,) of int; fewer than requested if the run ended by itself."""
        return np.asarray(self.path.facts.get("steps", self.asked)).astype(np.int64)

    @property
    def counted(self) -> np.ndarray:
        """The steps at which bounds of the excess are evaluated, (m,) of int.

        A run that ended by its certificate no longer changes, while bounds keep decreasing.
        """
        return np.minimum(self.asked, self.steps)

    @cached_property
    def features(self) -> np.ndarray:
        """Numbers of nonzero coefficients, (m,) of int."""
        return self.path.sparse.sizes

    @cached_property
    def l1_norm(self) -> np.ndarray:
        """||w||_1, (m,)."""
        sparse = self.path.sparse
        return sparse.task_sums(np.abs(sparse.values)).sum(axis=1)

    @property
    def was_smoothed(self) -> bool:
        """True if the algorithm smoothed its loss and reports the risk before smoothing."""
        return "risk" in self.path.facts

    @property
    def risk(self) -> np.ndarray:
        """Risk R of each estimate, (m,); the risk before smoothing if the loss was smoothed."""
        return np.asarray(self.path.facts.get("risk", self.path.objective), dtype=float)

    @property
    def gap(self) -> np.ndarray:
        """The certificate of each estimate, (m,); nan without one."""
        return np.asarray(self.path.facts.get("gap", np.full(len(self.path), np.nan)), dtype=float)

    @cached_property
    def smoothed(self) -> np.ndarray:
        """Risk of the loss that was minimised, (m,)."""
        if not self.was_smoothed:
            return np.asarray(self.path.objective, dtype=float)
        return np.array([self.loss.value(params) for params in self.path.params])

    @cached_property
    def original(self) -> np.ndarray:
        """Risk of the minimised loss before smoothing, (m,)."""
        if self.was_smoothed:
            return self.risk
        return np.array([self.loss.unsmoothed(params) for params in self.path.params])

    def excess(self, reference: Reference, original: bool) -> np.ndarray:
        """Return R(w) - R(wbar), (m,)."""
        return self.original - reference.original if original else self.smoothed - reference.value


@dataclass(frozen=True)
class Runner:
    """An algorithm on a problem.

    Parameters
    ----------
    part : Algorithm
        An algorithm with a parameter ``steps``.
    problem : Problem
    params : dict
        Parameters of the algorithm; ``steps`` is the budget.
    rng : Generator
        Every path starts from a copy of this stream.
    """

    part: Algorithm
    problem: Problem
    params: dict[str, Any]
    rng: np.random.Generator

    @property
    def certifies(self) -> bool:
        """True if the algorithm ends by itself when a certificate shows the accuracy."""
        return "epsilon" in self.params

    def after(self, steps: np.ndarray, epsilon: np.ndarray | None = None) -> Estimates:
        """Return the estimates after these steps, or at these accuracies if reached earlier.

        Parameters
        ----------
        steps : int array (m,)
        epsilon : array (m,), optional
            Accuracies for an algorithm that has a parameter ``epsilon``. By default, use its own
            value.

        Raises
        ------
        PluginError
            If the path does not have the requested points, or has no loss.
        """
        grid = {"steps": np.asarray(steps, dtype=np.int64)}
        if self.certifies:
            own = np.full(len(steps), float(self.params["epsilon"]))
            grid["epsilon"] = own if epsilon is None else np.asarray(epsilon, dtype=float)
        rng = copy.deepcopy(self.rng)
        path = fit(self.part, self.problem, self.params, grid=grid, rng=rng)
        if path.loss is None:
            raise PluginError(
                f"algorithm '{self.part.name}' returned a path without its loss.",
                remedy="Return Path(..., loss=...).",
            )
        return Estimates(path, path.loss, grid["steps"])

    def doubts(self, seen: Estimates) -> list[str]:
        """Return the reasons not to trust estimates.

        An algorithm with an accuracy reports its certificate, ``Estimates.gap``, with every
        estimate. An estimate after too few steps for the accuracy is then no reason for doubt.
        """
        doubts = [] if self.certifies else uncertified(seen.path)
        return [doubt.rstrip(".") for doubt in doubts]

    def remark(self, seen: Estimates) -> str:
        """Return the message of a run without doubts."""
        # Empty cells already show that an accuracy was not reached.
        return "" if self.certifies else seen.path.message


@dataclass(frozen=True)
class FirstRun:
    """The run from which all accuracies are read.

    Parameters
    ----------
    seen : Estimates
        The estimates at the recorded steps and the checked steps, in order. For an algorithm that
        ends by its own certificate: the recorded steps, then one estimate for each accuracy.
    recorded : int array
        Positions of the recorded steps.
    certified : int array or None
        Positions of the accuracies; None for an algorithm without a certificate.
    """

    seen: Estimates
    recorded: np.ndarray
    certified: np.ndarray | None

    def places(self, excess: np.ndarray, epsilons: Sequence[float]) -> list[int | None]:
        """Return the position at which each accuracy was reached; None if it was not."""
        if self.certified is not None:
            return [int(at) if self.seen.path.converged[at] else None for at in self.certified]
        hits = [np.flatnonzero(excess <= epsilon) for epsilon in epsilons]
        return [int(hit[0]) if hit.size else None for hit in hits]


def first_run(
    runner: Runner, recorded: np.ndarray, epsilons: Sequence[float], fine: int, resolution: int
) -> FirstRun:
    """Run an algorithm once through all recorded steps and all accuracies.

    Parameters
    ----------
    recorded : int array
        Increasing.
    fine, resolution : int
        See ``search_steps``.
    """
    budget = runner.params["steps"]
    if runner.certifies:
        own = np.full(len(recorded), float(runner.params["epsilon"]))
        steps = np.append(recorded, np.full(len(epsilons), budget))
        seen = runner.after(steps, np.append(own, epsilons))
        places = np.arange(len(steps))
        return FirstRun(seen, places[: len(recorded)], places[len(recorded) :])
    sought = search_steps(budget, fine, resolution) if len(epsilons) else recorded[:0]
    steps = np.union1d(recorded, sought).astype(np.int64)
    return FirstRun(runner.after(steps), np.searchsorted(steps, recorded), None)
