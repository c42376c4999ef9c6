"""The core of ``solve``: from an algorithm, its settings and a checked problem to a solution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Annotated, Any

import numpy as np
from pydantic import Field, TypeAdapter

from greedyexp.core import registry
from greedyexp.core.blas import threads_for, usable_cores
from greedyexp.core.errors import ConfigError, DataError, did_you_mean
from greedyexp.core.parts import Algorithm
from greedyexp.estimates.path import Path
from greedyexp.estimates.profiles import Profiles
from greedyexp.estimates.solution import Solution
from greedyexp.estimates.sparse import SparseEstimates
from greedyexp.experiment.parameters import BadValue, Parameters, read_value
from greedyexp.losses.binding import minimises_squares
from greedyexp.problems.problem import Problem
from greedyexp.problems.scaling import scaled
from greedyexp.protocols import fitting
from greedyexp.protocols.contracts import check_iteration
from greedyexp.protocols.fitting import Prepare, run_until_converged
from greedyexp.protocols.information import least_criterion

# Settings of a fit that are not parameters of an algorithm, and their defaults.
SETTINGS: dict[str, tuple[Any, Any]] = {
    "folds": (Annotated[int, Field(ge=2, description="folds of the cross-validation")], 5),
    "seed": (
        Annotated[int, Field(ge=0, description="seed of the folds and of random draws")],
        0,
    ),
    "noise_std": (
        Annotated[float | None, Field(ge=0, description="standard deviation of the noise")],
        None,
    ),
    "intercept": (
        Annotated[bool, Field(description="fit an intercept, which is not penalised")],
        False,
    ),
    "standardize": (
        Annotated[bool, Field(description="divide the columns by their standard deviations")],
        False,
    ),
    "iterations": (Annotated[int, Field(ge=1, description="maximum number of iterations")], 10_000),
    "tol": (
        Annotated[
            float, Field(gt=0, description="distance from optimality at which iterations end")
        ],
        1e-10,
    ),
    "n_jobs": (
        Annotated[
            int | None,
            Field(ge=-1, description="threads over the tasks of algorithms that can; -1 for all"),
        ],
        None,
    ),
}

# With more tasks, a solution of tuning "end" has no profiles along the path: nobody could tell them
# apart, and they may take more memory than the solution.
_MANY_TASKS = 32

# Settings that an algorithm may have as parameters of its own.
_PASSED_ON = ("intercept", "standardize", "iterations", "tol")


@dataclass(frozen=True)
class Request:
    """A fit that is asked for, with validated settings.

    Parameters
    ----------
    part : Algorithm
    values : dict
        All parameters of the algorithm.
    given : dict
        Those that the caller gave.
    tuning : {"end", "cv", "ebic_robust", "theory"}
    settings : dict
        Values of ``SETTINGS``.
    weighted : bool
        Whether the rows of the problem have weights.
    """

    part: Algorithm
    values: dict[str, Any]
    given: dict[str, Any]
    tuning: str
    settings: dict[str, Any]
    weighted: bool = False

    @classmethod
    def of(
        cls, name: str, params: Mapping[str, Any], *, tuning: str = "end", **settings: Any
    ) -> Request:
        """Validate parameters and settings; settings in ``_PASSED_ON`` may be None.

        Those of them that are parameters of the algorithm are given to it.

        Raises
        ------
        ConfigError
            If an algorithm, parameter, tuning or setting is unknown or out of range.
        """
        if not isinstance(name, str):
            raise ConfigError(f"the algorithm must be given by its name, but is {name!r}.")
        part = registry.find("algorithm", name)
        if part.yields == "constant":
            raise ConfigError(
                f"algorithm '{name}' computes a constant, not a solution.",
                remedy="Run an experiment with 'protocol: constants'.",
            )
        _refuse_tuning(part, tuning)
        read, given = Parameters(part), dict(params)
        asked = {k: v for k, v in settings.items() if v is not None or k not in _PASSED_ON}
        for key in _PASSED_ON:
            # An algorithm that does not iterate refuses these two if it has no such parameter.
            limit = key in ("iterations", "tol") and part.yields != "iterates"
            if key in asked and (limit or key in read.names):
                given[key] = asked.pop(key)
        values = read.read_all({key: plain(value) for key, value in given.items()})
        part.packages_of(values)
        whole = _settings(asked)
        squares = minimises_squares(values)
        if whole["intercept"] and not squares:
            raise ConfigError(
                f"algorithm '{name}' fits no intercept with loss '{values['loss']}'.",
                remedy="Centre the features.",
            )
        if tuning == "ebic_robust" and not squares:
            raise ConfigError(
                f"tuning 'ebic_robust' compares least-squares fits, but the loss is"
                f" {values['loss']!r}.",
                remedy="Use another tuning.",
            )
        return cls(part, values, given, tuning, whole)

    @property
    def traits(self) -> tuple[str, ...]:
        """Traits that a problem must have."""
        return (*self.part.fixed_requirements, *self.part.requirements_of(self.values))

    def fit(self, problem: Problem, splits: Sequence[fitting.Split] | None = None) -> Solution:
        """Return the estimate for a problem that has the traits.

        Parameters
        ----------
        problem : Problem
        splits : sequence of (array, array), optional
            Training rows and held-out rows of each fold of a cross-validation, in place of
            ``folds`` folds of equal size.

        Raises
        ------
        ConfigError, DataError
            If the parameters are impossible for the problem, or the data are not accepted.
        """
        if problem.sparse_design and not self.part.takes_sparse:
            raise DataError(
                f"algorithm '{self.part.name}' does not accept a sparse design.",
                remedy="Give X.toarray().",
            )
        with threads_for(max(X.shape[0] * X.shape[1] for X in problem.designs)):
            if self.part.yields == "iterates":
                return self._iterated(problem)
            path, chosen = self._path(problem, splits)
        found = _solution(path, chosen, problem)
        return with_remarks(found, self._untuned(path, problem) if self.tuning == "end" else "")

    @property
    def _prepare(self) -> Prepare | None:
        """The change of the columns and rows that the settings ask for."""
        centre, scale = self.settings["intercept"], self.settings["standardize"]
        changed = centre or scale or self.weighted
        return partial(scaled, centre=centre, scale=scale) if changed else None

    def with_weights(self) -> Request:
        """Return the request for a problem whose rows have weights.

        An intercept is then fitted by centring, also if the algorithm has one of its own, since the
        rows of that would have no weights.

        Raises
        ------
        ConfigError
            If the algorithm does not minimise the squared loss, or the tuning or ``standardize``
            takes no weights.
        """
        if self.settings["standardize"] or self.tuning not in ("end", "cv"):
            raise ConfigError("weights are for tuning 'end' or 'cv' without standardize.")
        if not minimises_squares(self.values):
            raise ConfigError(
                f"algorithm '{self.part.name}' takes no weights with loss '{self.values['loss']}'."
            )
        values, settings = dict(self.values), dict(self.settings)
        if "intercept" in values:
            settings["intercept"], values["intercept"] = values["intercept"], False
        return replace(self, values=values, settings=settings, weighted=True)

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(self.settings["seed"])

    def _path(self, problem: Problem, splits: Sequence[fitting.Split] | None) -> tuple[Path, int]:
        """Return a path and the index of the tuned point."""
        # Creating a generator takes a noticeable part of the time of a small fit.
        rng = self._rng() if self.part.takes_rng else None
        threads = threads_of(self.settings["n_jobs"])
        common: dict[str, Any] = {"prepare": self._prepare, "n_jobs": threads}
        fit = partial(fitting.fit, self.part, problem, self.values, rng=rng, **common)
        if self.tuning == "end" and problem.n_tasks > _MANY_TASKS:
            fit = partial(fit, end=True)
        try:
            if self.tuning == "cv":
                return fitting.cross_validated(
                    self.part,
                    problem,
                    self.values,
                    folds=splits or self.settings["folds"],
                    rng=self._rng(),
                    **common,
                )
            if self.tuning == "theory":
                prepared = self._prepare(problem)[0] if self._prepare else problem
                return fit(grid=fitting.prescribed(self.part, prepared, self.values)), 0
            path = fit()
            if self.tuning == "ebic_robust" and len(path):
                prepared = self._prepare(problem)[0] if self._prepare else problem
                return path, least_criterion(path, prepared)
        except MemoryError as error:
            raise DataError(
                f"there is not enough memory ({error}).",
                remedy="Use fewer features, tasks or points.",
            ) from None
        return path, len(path) - 1

    def _untuned(self, path: Path, problem: Problem) -> str:
        """Return a remark if the caller did not determine the end of the path, otherwise ''."""
        stops = self.part.stops
        if not stops or len(path) < 2:
            return ""
        if not any(self.given.get(name) is not None for name in stops):
            splits = problem.chains is None and problem.covariance is None
            give = "Use tuning='cv' or give" if splits else "Give"
            names = " or ".join(stops)
            return f"The path was not tuned: this is its last point. {give} {names}."
        for name, values in path.grid.items():
            count = len(np.unique(values))
            if name not in stops and self.given.get(name) is None and count > 1:
                return f"{name} was not tuned: this is the last of {count} values."
        return ""

    def _iterated(self, problem: Problem) -> Solution:
        """Iterate until the certificate or the maximum number of iterations is reached."""
        iterations, tol = self.settings["iterations"], self.settings["tol"]
        names, prepare = problem.feature_names, self._prepare
        problem, scaling = prepare(problem) if prepare else (problem, None)
        made = self.part.function(problem, **self.values)
        way = check_iteration(self.part, made, problem.n_features)
        found = run_until_converged(way, problem, iterations=iterations, tol=tol)
        coef, converged, dense = way.coef[:, None], found.distance <= tol, np.zeros(0)
        if scaling is not None:
            coef = scaling.original(coef)
            dense = scaling.intercepts(coef) if scaling.centred else dense
        remarks = [way.trouble] if way.trouble else []
        if not converged:
            left = "duality gap" if way.lam > 0 else "correlation of a feature with the residual"
            remarks.append(
                f"After {way.iteration} iterations the {left} is {found.distance:.1e}, above tol ="
                f" {tol:g}."
            )
        return Solution(
            estimate=SparseEstimates.of(coef[None]),
            objective=way.objective,
            columns={
                "iteration": found.iteration,
                "objective": found.objective,
                "support_size": found.support_size,
            },
            converged=converged,
            message=" ".join(remarks),
            dense=dense,
            feature_names=names,
        )


def with_remarks(found: Solution, *more: str) -> Solution:
    """Return the solution with texts added to its message."""
    return replace(found, message=" ".join(text for text in (found.message, *more) if text))


def threads_of(n_jobs: int | None) -> int:
    """Return the number of threads that ``n_jobs`` means: None is 1, -1 all usable processors.

    Raises
    ------
    ConfigError
        If it is zero.
    """
    if n_jobs == 0:
        raise ConfigError("n_jobs must be at least 1, or -1 for all processors, but is 0.")
    if n_jobs == -1:
        return usable_cores()
    return n_jobs or 1


def _refuse_tuning(part: Algorithm, tuning) -> None:
    if tuning == "oracle":
        raise ConfigError(
            "tuning 'oracle' needs the true coefficients, which solve() does not accept.",
            remedy="Use tuning='end', 'cv', 'ebic_robust' or 'theory'.",
        )
    if tuning not in fitting.TUNINGS:
        raise ConfigError(
            f"there is no tuning {tuning!r}.",
            remedy=did_you_mean(str(tuning).lower(), ("end", "cv", "ebic_robust", "theory")),
        )
    if tuning != "end" and not part.takes_grid:
        raise ConfigError(
            f"algorithm '{part.name}' has no path to tune.", remedy="Use tuning='end'."
        )


def _settings(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return all settings; those asked for are validated like the parameters of an algorithm."""
    values = {}
    for name, (_, default) in SETTINGS.items():
        if name not in asked:
            values[name] = default
            continue
        try:
            values[name] = read_value(_setting_adapter(name), plain(asked[name]), name)
        except BadValue as error:
            _, message, remedy = error.found[0]
            raise ConfigError(message, remedy=remedy or None) from None
    return values


@cache
def _setting_adapter(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(SETTINGS[name][0])


def plain(value: Any) -> Any:
    """Convert arrays and scalars of NumPy to lists and numbers of Python."""
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def _solution(path: Path, chosen: int, problem: Problem) -> Solution:
    points = {
        **path.grid,
        "support_size": path.sparse.sizes,
        "objective": path.objective,
        "converged": path.converged,
        "chosen": np.arange(len(path)) == chosen,
    }
    points |= {name: column for name, column in path.facts.items() if name not in points}
    return Solution(
        estimate=path.sparse.take([chosen]),
        objective=float(path.objective[chosen]),
        columns=points if path.history is None else path.history,
        converged=bool(path.converged[chosen]),
        message=path.message,
        dense=np.zeros(0) if path.dense is None else path.dense[chosen],
        classes=() if problem.chains is None else problem.class_names,
        feature_names=problem.feature_names,
        profiles=Profiles(path.grid, path.sparse, chosen),
        paired=problem.covariance is not None,
    )
