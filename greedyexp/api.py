"""greedyexp from Python: one fit with ``solve``, one experiment with ``run``."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field, TypeAdapter

from greedyexp.core import registry, shipped
from greedyexp.core.errors import ConfigError, DataError, did_you_mean
from greedyexp.core.parts import Algorithm
from greedyexp.core.signals import Interrupted
from greedyexp.estimates.path import Path
from greedyexp.estimates.solution import Solution
from greedyexp.experiment.parameters import BadValue, Parameters, read_value
from greedyexp.problems.chains import as_chains
from greedyexp.problems.checks import far_from_centred
from greedyexp.problems.problem import Problem, as_problem
from greedyexp.protocols import fitting
from greedyexp.protocols.contracts import check_iteration
from greedyexp.protocols.fitting import run_until_converged

if TYPE_CHECKING:
    import pandas as pd

# Arguments of `solve` that are not parameters of an algorithm.
_SETTINGS: dict[str, Any] = {
    "folds": Annotated[int, Field(ge=2)],
    "seed": Annotated[int, Field(ge=0)],
    "noise_std": Annotated[float, Field(ge=0)] | None,
    "iterations": Annotated[int, Field(ge=1)],
    "tol": Annotated[float, Field(gt=0)],
}


def solve(
    name: str,
    X,
    y,
    *,
    tuning: Literal["end", "cv", "theory"] = "end",
    folds: int = 5,
    seed: int = 0,
    noise_std: float | None = None,
    chains=None,
    iterations: int | None = None,
    tol: float | None = None,
    **params,
) -> Solution:
    """Fit one algorithm to arrays.

    Parameters
    ----------
    name : str
        Name of an algorithm; ``greedyexp list algorithms`` prints all.
    X : array (n, p), or list of r arrays (n_j, p)
        Designs, or sparse arrays if the algorithm takes them. They are not centred or scaled.
    y : array (n,), array (n, r), or list of r arrays (n_j,)
        Responses; with ``chains``, the labels (n,) of the words, integers or strings.
    tuning : {"end", "cv", "theory"}
        Point of the path to return: the end (determined by the stopping parameters), the point
        with the smallest cross-validated prediction error, or the point prescribed by theory.
        Algorithms without a path and iterative methods accept only "end".
    folds : int, at least 2
        Folds of the cross-validation.
    seed : int, at least 0
        Seed of the folds and of algorithms that draw at random.
    noise_std : float, at least 0, optional
        Standard deviation of the noise; required for ``tuning="theory"``.
    chains : array (c,) of int, optional
        For ``loss="crf"``: lengths of the c chains. The rows of X are their words, one chain after
        another, and the coefficients have shape (p, r), with one column for each class.
    iterations : int, at least 1, optional
        Maximum number of iterations of an iterative method; 10 000 by default.
    tol : float > 0, optional
        Tolerance of an iterative method, checked after 1, 2, 4, ... iterations: the duality gap
        relative to the objective at zero or, without a penalty, the largest |x_i^T (y - X b)|
        relative to ||x_i|| ||y||; 1e-10 by default. ``iterations`` and ``tol`` of other algorithms
        are ordinary parameters.
    **params
        Parameters of the algorithm; ``greedyexp show NAME`` prints them.

    Returns
    -------
    Solution

    Raises
    ------
    ConfigError
        If an algorithm, parameter or tuning is unknown, a value is out of range, or the algorithm
        computes a constant or needs more than arrays and a noise level.
    DataError
        If arrays have inconsistent shapes, are not accepted by the algorithm, have squares that
        overflow or vanish, or do not fit in memory.

    Warns
    -----
    UserWarning
        If no intercept is fitted to a numeric response and the data are far from centred: the mean
        of a response exceeds its standard deviation, or the mean of a feature three times its
        standard deviation. A nonzero constant column counts as an intercept. The ``message`` of
        the solution contains the warning, too.
    """
    part = registry.find("algorithm", name)
    if part.yields == "constant":
        raise ConfigError(
            f"algorithm '{name}' computes a constant, not a solution.",
            remedy="Run an experiment with 'protocol: constants'.",
        )
    _refuse_tuning(part, tuning)
    folds, seed, noise_std = _settings(folds=folds, seed=seed, noise_std=noise_std)
    iterates = part.yields == "iterates"
    if not iterates:
        limits = {"iterations": iterations, "tol": tol}
        params.update({key: value for key, value in limits.items() if value is not None})
    values = Parameters(part).read_all({key: _plain(value) for key, value in params.items()})
    traits = (*part.fixed_requirements, *part.requirements_of(values))
    if "chains" in traits:
        problem = _chained(X, y, chains)
    elif chains is not None:
        raise ConfigError("'chains' requires a model of chains.", remedy="Give loss='crf'.")
    else:
        problem = as_problem(X, y, noise_std=noise_std)
    _refuse_missing_traits(part, values, traits, problem, tuning)
    off_centre = _off_centre(values, problem)
    if off_centre:
        warnings.warn(off_centre, UserWarning, stacklevel=2)
    if iterates:
        found = _iterated(part, problem, values, iterations, tol)
        return _with_remarks(found, off_centre)
    path, chosen = _fitted(part, problem, values, tuning, folds, np.random.default_rng(seed))
    found = _solution(path, chosen, problem)
    untuned = _untuned(part, path, problem, params) if tuning == "end" else ""
    return _with_remarks(found, untuned, off_centre)


def _fitted(
    part: Algorithm, problem: Problem, values: dict, tuning: str, folds: int, rng
) -> tuple[Path, int]:
    """Return a path and the index of the tuned point."""
    try:
        if tuning == "cv":
            return fitting.cross_validated(part, problem, values, folds=folds, rng=rng)
        if tuning == "theory":
            grid = fitting.prescribed(part, problem, values)
            return fitting.fit(part, problem, values, grid=grid, rng=rng), 0
        path = fitting.fit(part, problem, values, rng=rng)
    except MemoryError as error:
        raise DataError(
            f"there is not enough memory ({error}).", remedy="Use fewer features, tasks or points."
        ) from None
    return path, len(path) - 1


def _off_centre(values: dict, problem: Problem) -> str:
    """Return a warning if data are far from centred and no intercept is fitted, otherwise ''."""
    numeric = values.get("loss", "squared") in ("squared", "absolute")
    if problem.chains is not None or values.get("intercept") or not numeric:
        return ""
    fault = far_from_centred(problem.X, problem.y, problem.columns)
    if not fault:
        return ""
    other = " or give intercept=True" if "intercept" in values else ""
    return f"No intercept is fitted, but {fault}. Centre the response and the features{other}."


def _untuned(part: Algorithm, path: Path, problem: Problem, given: dict) -> str:
    """Return a remark if the caller did not determine the end of the path, otherwise ''."""
    stops = part.stops
    if not stops or len(path) < 2:
        return ""
    if not any(given.get(name) is not None for name in stops):
        give = "Use tuning='cv' or give" if problem.chains is None else "Give"
        names = " or ".join(stops)
        return f"The path was not tuned: this is its last point. {give} {names}."
    for name, values in path.grid.items():
        count = len(np.unique(values))
        if name not in stops and given.get(name) is None and count > 1:
            return f"{name} was not tuned: this is the last of {count} values."
    return ""


def _with_remarks(found: Solution, *more: str) -> Solution:
    """Return the solution with texts added to its message."""
    return replace(found, message=" ".join(text for text in (found.message, *more) if text))


def _refuse_tuning(part: Algorithm, tuning) -> None:
    if tuning == "oracle":
        raise ConfigError(
            "tuning 'oracle' needs the true coefficients, which solve() does not accept.",
            remedy="Use tuning='end', 'cv' or 'theory'.",
        )
    if tuning not in fitting.TUNINGS:
        raise ConfigError(
            f"there is no tuning {tuning!r}.",
            remedy=did_you_mean(str(tuning).lower(), ("end", "cv", "theory")),
        )
    if tuning != "end" and not part.takes_grid:
        raise ConfigError(
            f"algorithm '{part.name}' has no path to tune.", remedy="Use tuning='end'."
        )


def _settings(**given) -> Iterator[Any]:
    """Yield the settings, validated like the parameters of an algorithm."""
    for name, value in given.items():
        try:
            yield read_value(_setting_adapter(name), _plain(value), name)
        except BadValue as error:
            _, message, remedy = error.found[0]
            raise ConfigError(message, remedy=remedy or None) from None


@cache
def _setting_adapter(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(_SETTINGS[name])


def _chained(X, y, chains) -> Problem:
    if chains is None:
        raise ConfigError(
            "a model of chains needs their lengths.",
            remedy="Give the number of words in each chain as 'chains'.",
        )
    return as_chains(X, y, chains)


def _refuse_missing_traits(
    part: Algorithm, values: dict, traits: tuple[str, ...], problem: Problem, tuning: str
) -> None:
    if problem.sparse_design and not part.takes_sparse:
        raise DataError(
            f"algorithm '{part.name}' does not accept a sparse design.", remedy="Give X.toarray()."
        )
    if "multi_task" in traits and problem.n_tasks == 1:
        raise DataError(
            f"algorithm '{part.name}' needs several tasks but the data have one.",
            remedy="Give X and y as lists of arrays, or y as an (n, r) array.",
        )
    if "noise_std" in traits and problem.noise_std is None:
        raise ConfigError(
            f"algorithm '{part.name}' needs the noise level.", remedy="Give noise_std."
        )
    if tuning == "theory" and "truth" in part.theory_requires:
        raise ConfigError(
            f"tuning 'theory' of algorithm '{part.name}' needs the true coefficients, which"
            " solve() does not accept.",
            remedy="Give its stopping parameters and use tuning='end'.",
        )
    for trait in traits:
        if trait not in ("multi_task", "noise_std", "chains"):
            # Only this message needs the configuration layer, which takes long to import.
            from greedyexp.config.rules import parameter_instead

            remedy = parameter_instead(part, values, trait)
            what = "the true coefficients" if remedy else f"data with the trait '{trait}'"
            raise ConfigError(
                f"algorithm '{part.name}' needs {what}, which solve() does not accept.",
                remedy=remedy or "Run an experiment on generated data.",
            )


def _plain(value):
    """Convert arrays and scalars of NumPy to lists and numbers of Python."""
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def _solution(path: Path, chosen: int, problem: Problem) -> Solution:
    coef = path.coef[chosen]
    single = coef.shape[1] == 1
    points = {
        **path.grid,
        "support_size": path.support_sizes,
        "objective": path.objective,
        "converged": path.converged,
        "chosen": np.arange(len(path)) == chosen,
    }
    points |= {name: column for name, column in path.facts.items() if name not in points}
    return Solution(
        coef=coef[:, 0] if single else coef,
        support=np.flatnonzero(coef[:, 0]) if single else np.argwhere(coef),
        objective=float(path.objective[chosen]),
        columns=points if path.history is None else path.history,
        converged=bool(path.converged[chosen]),
        message=path.message,
        dense=np.zeros(0) if path.dense is None else path.dense[chosen],
        classes=() if problem.chains is None else problem.class_names,
    )


def _iterated(
    part: Algorithm, problem: Problem, values: dict, iterations: int | None, tol: float | None
) -> Solution:
    """Iterate until the certificate or the maximum number of iterations is reached."""
    iterations, tol = _settings(
        iterations=10_000 if iterations is None else iterations, tol=1e-10 if tol is None else tol
    )
    way = check_iteration(part, part.function(problem, **values), problem.n_features)
    found = run_until_converged(way, problem, iterations=iterations, tol=tol)
    coef, converged = way.coef, found.distance <= tol
    remarks = [way.trouble] if way.trouble else []
    if not converged:
        left = "duality gap" if way.lam > 0 else "correlation of a feature with the residual"
        remarks.append(
            f"After {way.iteration} iterations the {left} is {found.distance:.1e}, above tol ="
            f" {tol:g}."
        )
    columns = {
        "iteration": found.iteration,
        "objective": found.objective,
        "support_size": found.support_size,
    }
    return Solution(
        coef, np.flatnonzero(coef), way.objective, columns, converged, " ".join(remarks)
    )


def run(
    source: str | FilePath | dict,
    *,
    profile: str = "quick",
    out: str | FilePath = "results",
    jobs: int | None = None,
    engine: str = "processes",
    overrides: str | Sequence[str] = (),
    only: str | Sequence[str] = (),
    trials: int | None = None,
    seed: int | None = None,
    tag: str | None = None,
    force: bool = False,
) -> pd.DataFrame:
    """Run an experiment, or its missing replicates, and return the tidy table.

    Parameters
    ----------
    source : path, str or dict
        A YAML file, the name of a shipped experiment, or the settings.
    profile : {"smoke", "quick", "paper", "deep"}
    out : path
        Results go to ``out/<name>/<profile>/``; overrides and ``tag`` change the name of the folder
        as on the command line.
    jobs : int, optional
        Worker processes; all usable cores by default.
    engine : {"processes", "serial"}
    overrides, only : str or sequence of str
        Like ``--set`` and ``--only`` on the command line: one string, or one for each option.
    trials, seed : int, optional
        Replace the settings of the experiment.
    tag : str, optional
        Name the results folder ``<profile>+<tag>``, like ``--tag``.
    force : bool
        Compute everything again.

    Returns
    -------
    DataFrame
        The rows of the CSV: one for each replicate and algorithm, or several if the protocol
        records several.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C. Finished replicates are kept, also in the CSV, and the same call continues
        the run. SIGTERM and SIGHUP end a run in the same way and are then delivered to the handler
        that was installed before the call.
    ConfigError, DataError, PluginError, StorageError
        If the experiment, its data, a plugin or the folder cannot be used.
    """
    from greedyexp import config as experiment
    from greedyexp import report, runner

    if not isinstance(source, dict):
        source = shipped.locate(str(source))
    plan = experiment.load(
        source,
        profile=profile,
        overrides=[overrides] if isinstance(overrides, str) else overrides,
        only=[only] if isinstance(only, str) else only,
        trials=_plain(trials),
        seed=_plain(seed),
        tag=tag,
    )
    folder = FilePath(out) / plan.subfolder
    options = runner.RunOptions(engine=engine, jobs=jobs, force=force)
    done = runner.run(plan, folder, options)
    if done.signum is not None:
        if done.signum != signal.SIGINT:
            signal.raise_signal(done.signum)
        raise Interrupted(done.signum)
    return report.read_frame(done.csv)
