"""greedyexp from Python: one fit with ``solve``, one experiment with ``run``."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Literal

import numpy as np
import pandas as pd

from greedyexp.core import registry, shipped
from greedyexp.core.errors import ConfigError, DataError
from greedyexp.core.parts import Algorithm
from greedyexp.core.signals import Interrupted
from greedyexp.estimates.path import Path
from greedyexp.problems.chains import as_chains, chain_weights
from greedyexp.problems.checks import far_from_centred
from greedyexp.problems.problem import Problem, as_problem
from greedyexp.protocols import fitting
from greedyexp.protocols.contracts import check_iteration
from greedyexp.protocols.fitting import run_until_converged


@dataclass(frozen=True)
class Solution:
    """One fitted estimate and how it was reached.

    Parameters
    ----------
    coef : array (p,) for one task, (p, r) for r tasks
        The estimate.
    support : array
        Indices of nonzero coefficients: (k,) for one task, (k, 2) of feature and task for several.
    objective : float
        What the algorithm minimises, at ``coef``; nan for an algorithm that returns one estimate
        and so does not say.
    history : DataFrame
        One row for each point of the path: its tuning values, ``support_size``, ``objective``,
        ``converged``; ``chosen`` marks the point of ``coef``; and what else the algorithm tells of
        each, such as ``gap`` and ``radius`` of ``forward_greedy``. Of an algorithm that tells what
        it did, such as ``foba_gdt``, one row for each of its steps. Of an iterative method one row
        for each iteration looked at: ``iteration``, ``objective``, ``support_size``.
    converged : bool
        Whether the estimate carries the algorithm's certificate.
    message : str
        What a user should know; empty when there is nothing to say.
    dense : array (q,)
        Coefficients of the loss that are in every model: the intercept where there is one; of
        chains of r classes the weights to start with each (r), to end with each (r), and to go
        from one to the next (r r, row by row).
    classes : tuple of str
        The labels of chains, in the order of the columns of ``coef``; empty for other data.
    """

    coef: np.ndarray
    support: np.ndarray
    objective: float
    history: pd.DataFrame
    converged: bool
    message: str
    dense: np.ndarray = field(default_factory=lambda: np.zeros(0))
    classes: tuple[str, ...] = ()

    @property
    def intercept(self) -> float:
        """What is added to every prediction; 0 without an intercept, and for chains."""
        return 0.0 if self.classes or not len(self.dense) else float(self.dense[0])

    @property
    def transitions(self) -> np.ndarray | None:
        """Weights (r, r) of going from one class to the next along a chain; None without chains."""
        return chain_weights(self.dense, len(self.classes)).transition if self.classes else None


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
        An algorithm: ``greedyexp list algorithms``.
    X : array (n, p), or list of r arrays (n_j, p)
        Designs, or sparse arrays for an algorithm that takes them; used as given, neither centred
        nor scaled.
    y : array (n,), array (n, r), or list of r arrays (n_j,)
        Responses; with ``chains`` the labels (n,) of words, whole numbers or texts.
    tuning : {"end", "cv", "theory"}
        Which point of the path is returned: its end (the point that the stopping parameters
        name), the least cross-validated prediction error, or the point that theory prescribes.
        An algorithm that returns one estimate and an iterative method take "end" only.
    folds : int, at least 2
        Folds of the cross-validation.
    seed : int, at least 0
        Shuffles the folds, and starts the stream of an algorithm that draws at random.
    noise_std : float, at least 0, optional
        Standard deviation of the noise, which tuning by theory needs.
    chains : array (c,) of int, optional
        For ``loss="crf"``: the rows of X are words of c chains, one after the other, of so many
        words each. The coefficients are (p, r) then, a column for each class.
    iterations : int, at least 1, optional
        Most iterations of an iterative method; 10 000 by default.
    tol : float > 0, optional
        Where an iterative method ends, looked at after 1, 2, 4, ... iterations: at a duality gap of
        this part of the objective at zero, or, without a penalty, where no |x_i^T (y - X b)| is
        more than this part of ||x_i|| ||y||; 1e-10 by default. ``iterations`` and ``tol`` of
        other algorithms are parameters like any other.
    **params
        The algorithm's own parameters: ``greedyexp show NAME``.

    Returns
    -------
    Solution

    Raises
    ------
    ConfigError
        Unknown algorithm, parameter or tuning, a value out of range, an algorithm that needs more
        than arrays and their noise level, or one that computes a constant.
    DataError
        Arrays that do not fit together, that the algorithm cannot take, whose squares overflow or
        vanish, or for which the memory does not suffice.

    Warns
    -----
    UserWarning
        When no intercept is fitted to a numeric response and the data are far from centred: the
        mean of a response exceeds its standard deviation, or that of a feature three times its
        own. A nonzero constant column acts as an intercept. ``message`` repeats the warning.
    """
    from greedyexp.experiment.parameters import Parameters

    part = registry.find("algorithm", name)
    if part.yields == "constant":
        raise ConfigError(
            f"algorithm '{name}' computes a constant, which is no solution.",
            remedy="Run an experiment with 'protocol: constants'.",
        )
    _refuse_settings(part, tuning, folds, seed, noise_std)
    iterates = part.yields == "iterates"
    if not iterates:
        limits = {"iterations": iterations, "tol": tol}
        params.update({key: value for key, value in limits.items() if value is not None})
    values = Parameters(part).read_all({key: _plain(value) for key, value in params.items()})
    traits = (*part.fixed_requirements, *part.requirements_of(values))
    if "chains" in traits:
        problem = _chained(X, y, chains)
    elif chains is not None:
        raise ConfigError("chains are for a model of them.", remedy="Give loss='crf'.")
    else:
        problem = as_problem(X, y, noise_std=noise_std)
    _refuse_missing_traits(part, values, traits, problem, tuning)
    off_centre = _off_centre(values, problem)
    if off_centre:
        warnings.warn(off_centre, UserWarning, stacklevel=2)
    if iterates:
        found = _settled(part, problem, values, iterations, tol)
        return _saying(found, off_centre)
    path, chosen = _fitted(part, problem, values, tuning, folds, np.random.default_rng(seed))
    found = _solution(path, chosen, problem)
    untuned = _untuned(part, path, problem, params) if tuning == "end" else ""
    return _saying(found, untuned, off_centre)


def _fitted(
    part: Algorithm, problem: Problem, values: dict, tuning: str, folds: int, rng
) -> tuple[Path, int]:
    """A path and the point of it that the tuning chooses."""
    try:
        if tuning == "cv":
            return fitting.cross_validated(part, problem, values, folds=folds, rng=rng)
        if tuning == "theory":
            grid = fitting.prescribed(part, problem, values)
            return fitting.fit(part, problem, values, grid=grid, rng=rng), 0
        path = fitting.fit(part, problem, values, rng=rng)
    except MemoryError as error:
        raise DataError(
            f"the memory does not suffice ({error}).", remedy="Use fewer features, tasks or points."
        ) from None
    return path, len(path) - 1


def _off_centre(values: dict, problem: Problem) -> str:
    """A warning about data far from centred without an intercept; empty for other data."""
    numeric = values.get("loss", "squared") in ("squared", "absolute")
    if problem.chains is not None or values.get("intercept") or not numeric:
        return ""
    what = far_from_centred(problem.X, problem.y)
    other = " or give intercept=True" if "intercept" in values else ""
    return what and (
        f"No intercept is fitted, but {what}. Centre the response and the features{other}."
    )


def _untuned(part: Algorithm, path: Path, problem: Problem, given: dict) -> str:
    """A remark if the caller did not say where the path ends; otherwise empty."""
    stops = part.stops
    if not stops or len(path) < 2:
        return ""
    names = " or ".join(stops)
    if not any(given.get(name) is not None for name in stops):
        cv = "" if problem.chains is not None else "use tuning='cv' or "
        remedy = f"{cv}give {names}."
        return "The path was not tuned: this is its last point. " + remedy[0].upper() + remedy[1:]
    for name, values in path.grid.items():
        count = len(np.unique(values))
        if name not in stops and given.get(name) is None and count > 1:
            return f"{name} was not tuned: this is the last of {count} values."
    return ""


def _saying(found: Solution, *more: str) -> Solution:
    """The solution with texts added to its message."""
    return replace(found, message=" ".join(text for text in (found.message, *more) if text))


def _refuse_settings(part: Algorithm, tuning, folds, seed, noise_std) -> None:
    if tuning not in fitting.TUNINGS:
        known = ", ".join(fitting.TUNINGS)
        raise ConfigError(f"tuning must be one of {known}, but is {tuning!r}.")
    if tuning == "oracle":
        raise ConfigError(
            "tuning 'oracle' needs the true coefficients, which solve() does not accept.",
            remedy="Use tuning='end', 'cv' or 'theory'.",
        )
    if tuning != "end" and not part.takes_grid:
        raise ConfigError(
            f"algorithm '{part.name}' has no path to tune.", remedy="Use tuning='end'."
        )
    for name, value, least in (("folds", folds, 2), ("seed", seed, 0)):
        _refuse_count(name, value, least)
    if noise_std is not None and not (_is_number(noise_std) and 0 <= noise_std < np.inf):
        raise ConfigError(f"noise_std must be a number of at least 0, but is {noise_std!r}.")


def _refuse_count(name: str, value, least: int) -> None:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < least:
        raise ConfigError(f"{name} must be a whole number of at least {least}, but is {value!r}.")


def _is_number(value) -> bool:
    known = isinstance(value, (int, float, np.integer, np.floating))
    return known and not isinstance(value, bool)


def _chained(X, y, chains) -> Problem:
    if chains is None:
        raise ConfigError(
            "a model of chains needs their lengths.",
            remedy="Give the number of words in each as chains.",
        )
    return as_chains(X, y, chains)


def _refuse_missing_traits(
    part: Algorithm, values: dict, traits: tuple[str, ...], problem: Problem, tuning: str
) -> None:
    from greedyexp.config.rules import parameter_instead

    if problem.sparse_design and not part.takes_sparse:
        raise DataError(
            f"algorithm '{part.name}' takes no sparse design.", remedy="Give X.toarray()."
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
            remedy = parameter_instead(part, values, trait)
            what = "the true coefficients" if remedy else f"data with the trait '{trait}'"
            raise ConfigError(
                f"algorithm '{part.name}' needs {what}, which solve() does not accept.",
                remedy=remedy or "Run an experiment on generated data.",
            )


def _plain(value):
    """Arrays and scalars of NumPy as lists and numbers of Python."""
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def _solution(path: Path, chosen: int, problem: Problem) -> Solution:
    coef = path.coef[chosen]
    single = coef.shape[1] == 1
    points = {
        **path.grid,
        "support_size": (path.coef != 0).sum(axis=(1, 2)),
        "objective": path.objective,
        "converged": path.converged,
        "chosen": np.arange(len(path)) == chosen,
    }
    points |= {name: told for name, told in path.facts.items() if name not in points}
    return Solution(
        coef=coef[:, 0] if single else coef,
        support=np.flatnonzero(coef[:, 0]) if single else np.argwhere(coef),
        objective=float(path.objective[chosen]),
        history=pd.DataFrame(points if path.history is None else path.history),
        converged=bool(path.converged[chosen]),
        message=path.message,
        dense=np.zeros(0) if path.dense is None else path.dense[chosen],
        classes=() if problem.chains is None else problem.class_names,
    )


def _settled(
    part: Algorithm, problem: Problem, values: dict, iterations: int | None, tol: float | None
) -> Solution:
    """Iterate until a certificate is reached, or the iterations are spent."""
    iterations = 10_000 if iterations is None else iterations
    tol = 1e-10 if tol is None else tol
    _refuse_count("iterations", iterations, 1)
    if not (_is_number(tol) and 0 < tol < np.inf):
        raise ConfigError(f"tol must be a number of more than 0, but is {tol!r}.")
    way = check_iteration(part, part.function(problem, **values), problem.n_features)
    found = run_until_converged(way, problem, iterations=int(iterations), tol=tol)
    coef, converged = way.coef, found.distance <= tol
    said = [way.trouble] if way.trouble else []
    if not converged:
        left = "duality gap" if way.lam > 0 else "correlation of a feature with the residual"
        said.append(
            f"After {way.iteration} iterations the {left} is {found.distance:.1e}, above tol ="
            f" {tol:g}."
        )
    history = pd.DataFrame(
        {
            "iteration": found.iteration,
            "objective": found.objective,
            "support_size": found.support_size,
        }
    )
    return Solution(coef, np.flatnonzero(coef), way.objective, history, converged, " ".join(said))


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
    """Run an experiment, or what is missing of it, and return its tidy table.

    Parameters
    ----------
    source : path, str or dict
        A YAML experiment, the name of a shipped one, or the contents of one.
    profile : {"smoke", "quick", "paper", "deep"}
    out : path
        The experiment writes to ``out/<name>/<profile>/``; overrides and ``tag`` name the folder as
        on the command line.
    jobs : int, optional
        Worker processes; all usable cores by default.
    engine : {"processes", "serial"}
    overrides, only : str or sequence of str
        As ``--set`` and ``--only`` on the command line: one text, or one for each option.
    trials, seed : int, optional
        Replace the experiment's own.
    tag : str, optional
        As ``--tag``: names the results folder ``<profile>+<tag>``.
    force : bool
        Compute everything again.

    Returns
    -------
    DataFrame
        As in the CSV: for each replicate and algorithm one row, or as many as its protocol records.

    Raises
    ------
    KeyboardInterrupt
        When Ctrl-C ended the run. What is finished is kept, in the CSV too, and the same call
        continues. SIGTERM and SIGHUP end a run in the same way and are then delivered again, to
        the handler that was there before the call.
    ConfigError, DataError, PluginError, StorageError
        When the experiment, its data, a plugin or the folder cannot be used.
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
    done = runner.run(plan, folder, engine=engine, jobs=jobs, force=force)
    if done.signum is not None:
        if done.signum != signal.SIGINT:
            signal.raise_signal(done.signum)
        raise Interrupted(done.signum)
    return report.read_frame(done.csv)
