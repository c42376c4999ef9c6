"""greedyexp from Python: one fit with ``solve``, one experiment with ``run``."""

from __future__ import annotations

import re
import signal
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Literal

from greedyexp.core import shipped
from greedyexp.core.errors import ConfigError, DataError, UserError
from greedyexp.core.signals import Interrupted
from greedyexp.estimates.solution import Solution
from greedyexp.losses.binding import loss_of, minimises_squares
from greedyexp.problems.chains import as_chains
from greedyexp.problems.checks import far_from_centred
from greedyexp.problems.frames import from_designs, from_responses
from greedyexp.problems.pairs import as_pairs
from greedyexp.problems.problem import Problem, as_problem
from greedyexp.solving import Request, plain, with_remarks

if TYPE_CHECKING:
    import pandas as pd

# An option of the command line as the place of an error, with its value.
_NAMES = "set|only|trials|seed|tag|until-decided|max-trials|max-time|scheduler|shard"
_OPTION = re.compile(rf"--({_NAMES})\b(?: ([^:]*?))?(?=:|\.?$)")


def solve(
    name: str,
    X,
    y=None,
    *,
    tuning: Literal["end", "cv", "ebic_robust", "theory"] = "end",
    folds: int = 5,
    seed: int = 0,
    noise_std: float | None = None,
    intercept: bool | None = None,
    standardize: bool | None = None,
    chains=None,
    iterations: int | None = None,
    tol: float | None = None,
    n_jobs: int | None = None,
    **params,
) -> Solution:
    """Fit one algorithm to arrays.

    Parameters
    ----------
    name : str
        Name of an algorithm; ``greedyexp list algorithms`` prints all.
    X : array or DataFrame (n, p), or list of r such (n_j, p)
        Designs, or sparse arrays if the algorithm takes them. The names of the columns of a
        DataFrame of pandas or Polars become ``feature_names`` of the solution.
    y : array or Series (n,), array or DataFrame (n, r), or list of r arrays or Series (n_j,)
        Responses; with ``chains``, the labels (n,) of the words, integers or strings. For
        ``loss="logdet"`` there are none: the features are the pairs of columns of X.
    tuning : {"end", "cv", "ebic_robust", "theory"}
        Point of the path to return: the end (determined by the stopping parameters), the point
        with the smallest cross-validated prediction error, the point whose support has the least
        robust extended Bayesian information criterion (Gohain & Jansson 2023, for least squares),
        or the point prescribed by theory.
        Algorithms without a path and iterative methods accept only "end".
    folds : int, at least 2
        Folds of the cross-validation.
    seed : int, at least 0
        Seed of the folds and of algorithms that draw at random.
    noise_std : float, at least 0, optional
        Standard deviation of the noise; required for ``tuning="theory"``.
    intercept : bool, optional
        Fit an intercept for each task, which is not penalised; by default none is fitted.
        Algorithms without one of their own fit least squares to centred columns and a centred
        response, which is the same. In cross-validation, each fold is centred by the rows that are
        fitted.
    standardize : bool, optional
        Divide the columns by their standard deviations for the fit. Penalties, ridges and radii
        apply to the divided columns, but ``coef`` is returned in the original units, for X as it
        was given.
    chains : array (c,) of int, optional
        For ``loss="crf"``: lengths of the c chains. The rows of X are their words, one chain after
        another, and the coefficients have shape (p, r), with one column for each class.
    iterations : int, at least 1, optional
        Maximum number of iterations of an iterative method; 10 000 by default.
    tol : float > 0, optional
        Tolerance of an iterative method, checked after 1, 2, 4, ... iterations: the duality gap
        relative to the objective at zero or, without a penalty, the largest
        ``|x_i^T (y - X b)|`` relative to ``||x_i|| ||y||``; 1e-10 by default. ``iterations`` and
        ``tol`` of other algorithms are ordinary parameters.
    n_jobs : int, optional
        Number of threads for ``omp`` with several tasks; -1 for all processors, 1 by default. The
        solution has the same bits for any number.
    **params
        Parameters of the algorithm; ``greedyexp show NAME`` prints them.

    Returns
    -------
    Solution

    Raises
    ------
    ConfigError
        If an algorithm, parameter or tuning is unknown, a value is out of range, the algorithm
        computes a constant, needs more than arrays and a noise level, or has no intercept for its
        loss.
    DataError
        If arrays have inconsistent shapes, are not accepted by the algorithm, have squares that
        overflow or vanish, or do not fit in memory; if a table holds texts or lacks values; or if a
        sparse design would have to be centred.

    Warns
    -----
    UserWarning
        If no intercept is fitted to a numeric response and the data are far from centred: the mean
        of a response exceeds its standard deviation, or the mean of a feature three times its
        standard deviation. A nonzero constant column counts as an intercept. The ``message`` of
        the solution contains the warning, too.
    """
    request = Request.of(
        name,
        params,
        tuning=tuning,
        folds=folds,
        seed=seed,
        noise_std=noise_std,
        intercept=intercept,
        standardize=standardize,
        iterations=iterations,
        tol=tol,
        n_jobs=n_jobs,
    )
    X, names = from_designs(X)
    if y is None and "covariance" not in request.traits:
        raise ConfigError(f"algorithm '{name}' needs responses.", remedy="Give y.")
    if chains is not None and "chains" not in request.traits:
        raise ConfigError("'chains' requires a model of chains.", remedy="Give loss='crf'.")
    if "covariance" in request.traits:
        _refuse_responses(request, y)
        problem = as_pairs(X, names)
    elif "chains" in request.traits:
        problem = replace(_chained(X, y, chains), feature_names=names)
    else:
        noise = request.settings["noise_std"]
        problem = as_problem(X, from_responses(y), noise_std=noise, feature_names=names)
    _refuse_missing_traits(request, problem)
    found = request.fit(problem)
    off_centre = _off_centre(request, problem, found)
    if off_centre:
        warnings.warn(off_centre, UserWarning, stacklevel=2)
    return with_remarks(found, off_centre)


def _off_centre(request: Request, problem: Problem, found: Solution) -> str:
    """Return a warning if data are far from centred and no intercept is fitted, otherwise ''."""
    values = request.values
    loss = loss_of(values)
    # A plugin may have losses of its own.
    unknown = "loss" in values and (loss is None or loss.fixed_requirements)
    # Other packages have parameters of their own for an intercept.
    fitted = request.settings["intercept"] or values.get("intercept") or len(found.dense)
    if problem.chains is not None or fitted or unknown:
        return ""
    fault = far_from_centred(problem.X, problem.at_hand, problem.columns, problem.feature_names)
    if not fault:
        return ""
    possible = "intercept" in values or (minimises_squares(values) and not problem.sparse_design)
    other = " or give intercept=True" if possible else ""
    return f"No intercept is fitted, but {fault}. Centre the response and the features{other}."


def _refuse_responses(request: Request, y) -> None:
    """Raise ConfigError for responses or settings that a graph of variables does not have."""
    if y is not None:
        raise ConfigError("a graph of variables has no responses.", remedy="Leave y out.")
    asked = [name for name in ("standardize", "intercept") if request.settings[name]]
    if request.tuning in ("cv", "ebic_robust"):
        asked.append(f"tuning '{request.tuning}'")
    if asked:
        raise ConfigError(f"{asked[0]} is for data with responses.", remedy="Leave it out.")


def _chained(X, y, chains) -> Problem:
    if chains is None:
        raise ConfigError(
            "a model of chains needs their lengths.",
            remedy="Give the number of words in each chain as 'chains'.",
        )
    return as_chains(X, y, chains)


def _refuse_missing_traits(request: Request, problem: Problem) -> None:
    part, traits, tuning = request.part, request.traits, request.tuning
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
        # The loss itself says which data it takes.
        of_loss = ("two_values", "counts", "classes", "rows", "covariance")
        if trait not in ("multi_task", "noise_std", "chains", *of_loss):
            # Only this message needs the configuration layer, which takes long to import.
            from greedyexp.config.rules import parameter_instead

            remedy = parameter_instead(part, request.values, trait)
            what = "the true coefficients" if remedy else f"data with the trait '{trait}'"
            raise ConfigError(
                f"algorithm '{part.name}' needs {what}, which solve() does not accept.",
                remedy=remedy or "Run an experiment on generated data.",
            )


def run(
    source: str | FilePath | dict,
    *,
    profile: str = "quick",
    out: str | FilePath = "results",
    jobs: int | None = None,
    engine: str = "processes",
    scheduler: str | None = None,
    cluster: str | FilePath | None = None,
    overrides: str | Sequence[str] = (),
    only: str | Sequence[str] = (),
    trials: int | None = None,
    seed: int | None = None,
    tag: str | None = None,
    until_decided: bool = False,
    max_trials: int | None = None,
    max_time: str | None = None,
    shard: str | None = None,
    force: bool = False,
    progress: bool = True,
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
    engine : {"processes", "serial", "dask"}
    scheduler : str, optional
        With the engine ``dask``, the address of a scheduler, such as ``tcp://host:8786``, or its
        scheduler file. The default is a cluster on this machine.
    cluster : path, optional
        With the engine ``dask``, a YAML file that describes a cluster to start.
    overrides, only : str or sequence of str
        Like ``--set`` and ``--only`` on the command line: one string, or one for each option.
    trials, seed : int, optional
        Replace the settings of the experiment.
    tag : str, optional
        Name the results folder ``<profile>+<tag>``, like ``--tag``.
    until_decided : bool
        Double the trials where claims are open, until all are decided, like ``--until-decided``.
    max_trials : int, optional
        With ``until_decided``, the largest number of trials of a point; by default 16 times that of
        the experiment.
    max_time : str, optional
        With ``until_decided``, the time after which the run stops, such as ``"90s"``, ``"30m"`` or
        ``"2h"``. The same call continues it.
    shard : str, optional
        The part of the experiment to compute, such as ``"3/16"`` for the third of sixteen, in the
        folder ``<profile>.shard-03-of-16``. ``greedyexp merge`` unites all parts.
    force : bool
        Compute everything again.
    progress : bool
        Show a bar in a notebook or terminal, or lines elsewhere, and at the end how many replicates
        are done and where the results are.

    Returns
    -------
    DataFrame
        The rows of the CSV: one for each replicate and algorithm, or several if the protocol
        records several. ``attrs["columns"]`` describes each column by its kind, a sentence and
        where it comes from, and ``attrs["folder"]`` is the run folder, which ``greedyexp.open``
        takes for figures and verdicts.

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

    if not isinstance(out, (str, PathLike)):
        raise ConfigError(f"out must be the path of a folder, but is {out!r}.")
    if not isinstance(source, dict):
        source = shipped.locate(str(source))
    with _arguments_for_options():
        plan = experiment.load(
            source,
            profile=profile,
            overrides=[overrides] if isinstance(overrides, str) else overrides,
            only=[only] if isinstance(only, str) else only,
            trials=plain(trials),
            seed=plain(seed),
            tag=tag,
            until_decided=until_decided,
            max_trials=plain(max_trials),
        )
        options = runner.RunOptions.of(
            engine=engine,
            jobs=jobs,
            scheduler=scheduler,
            cluster=None if cluster is None else FilePath(cluster),
            shard=shard,
            max_time=max_time,
            force=force,
            progress=progress,
        )
        folder = FilePath(out) / f"{plan.subfolder}{options.shard.suffix}"
        done = runner.run(plan, folder, options)
    if progress:
        counts = f"{done.done} of {done.total} done, {done.failed} failed"
        ending = "; the same call continues the run" if done.interrupted or done.late else ""
        part = f", shard {options.shard}" if options.shard.suffix else ""
        which = f"{plan.profile}{part}"
        runner.announce(f"{plan.name} ({which}): {counts}; results in {folder}{ending}")
    if done.signum is not None:
        if done.signum != signal.SIGINT:
            signal.raise_signal(done.signum)
        raise Interrupted(done.signum)
    return report.with_notes(report.read_frame(done.csv), plan.design, folder)


@contextmanager
def _arguments_for_options() -> Iterator[None]:
    """Name arguments of ``run`` in errors that name options of the command line."""
    try:
        yield
    except UserError as error:
        error.place = _OPTION.sub(_argument, error.place or "") or None
        error.remedy = _OPTION.sub(_argument, error.remedy or "") or None
        raise


def _argument(option: re.Match[str]) -> str:
    name, value = option.groups()
    name = "overrides" if name == "set" else name.replace("-", "_")
    if value is None:
        return name
    number = name in ("trials", "seed", "max_trials")
    return f"{name}={value}" if number else f"{name}={value!r}"
