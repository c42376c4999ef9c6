"""greedyexp from Python: one fit with ``solve``, one experiment with ``run``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Literal

import numpy as np
import pandas as pd

from greedyexp import registry, shipped
from greedyexp.errors import ConfigError, DataError, did_you_mean
from greedyexp.path import Path
from greedyexp.problem import Problem, as_problem
from greedyexp.protocols import tuning as tunings


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
        What the algorithm minimises, at ``coef``.
    history : DataFrame
        One row for each point of the path: its tuning values, ``support_size``, ``objective``,
        ``converged``; ``chosen`` marks the point of ``coef``.
    converged : bool
        Whether the estimate carries the algorithm's certificate.
    message : str
        What a user should know; empty when there is nothing to say.
    """

    coef: np.ndarray
    support: np.ndarray
    objective: float
    history: pd.DataFrame
    converged: bool
    message: str


def solve(
    name: str,
    X,
    y,
    *,
    tuning: Literal["end", "cv", "theory"] = "end",
    folds: int = 5,
    seed: int = 0,
    noise_std: float | None = None,
    **params,
) -> Solution:
    """Fit one algorithm to arrays.

    Parameters
    ----------
    name : str
        An algorithm: ``greedyexp list algorithms``.
    X : array (n, p), or list of r arrays (n_j, p)
        Designs; used as given, neither centred nor scaled.
    y : array (n,), array (n, r), or list of r arrays (n_j,)
        Responses.
    tuning : {"end", "cv", "theory"}
        Which point of the path is returned: its end (the point that the stopping parameters
        name), the least cross-validated prediction error, or the point that theory prescribes.
    folds : int, at least 2
        Folds of the cross-validation.
    seed : int
        Shuffles the folds.
    noise_std : float, optional
        Standard deviation of the noise, which tuning by theory needs.
    **params
        The algorithm's own parameters: ``greedyexp show NAME``.

    Returns
    -------
    Solution

    Raises
    ------
    ConfigError
        Unknown algorithm, parameter or tuning, or a value out of range.
    DataError
        Arrays that do not fit together or that the algorithm cannot take.
    """
    part = registry.find("algorithm", name)
    problem = as_problem(X, y, noise_std=noise_std)
    _refuse_missing_traits(part, problem)
    values = _validated(part, params)
    if tuning == "cv":
        if folds < 2:
            raise ConfigError(f"folds = {folds}: cross-validation needs at least 2.")
        rng = np.random.default_rng(seed)
        path, chosen = tunings.cross_validated(part, problem, values, folds=folds, rng=rng)
    elif tuning == "theory":
        path, chosen = tunings.theoretical(part, problem, values), 0
    elif tuning == "end":
        path = tunings.fit(part, problem, values)
        chosen = len(path) - 1
    else:
        raise ConfigError(f"tuning '{tuning}' is not one of end, cv, theory.")
    return _solution(path, chosen)


def _refuse_missing_traits(part: registry.Part, problem: Problem) -> None:
    if "multi_task" in part.requires and problem.n_tasks == 1:
        raise DataError(
            f"algorithm '{part.name}' needs several tasks but the data have one.",
            remedy="Give X and y as lists of arrays, or y as an (n, r) array.",
        )


def _validated(part: registry.Part, params: dict) -> dict:
    from pydantic import ValidationError

    try:
        model = part.parameters(**params)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(step) for step in first["loc"])
        if first["type"] == "extra_forbidden":
            raise ConfigError(
                f"algorithm '{part.name}' has no parameter '{key}'.",
                remedy=did_you_mean(key, part.parameters.model_fields),
            ) from None
        raise ConfigError(f"{part.name}: {key}: {first['msg']}.") from None
    return {key: getattr(model, key) for key in part.parameters.model_fields}


def _solution(path: Path, chosen: int) -> Solution:
    coef = path.coef[chosen]
    single = coef.shape[1] == 1
    history = pd.DataFrame(
        {
            **path.grid,
            "support_size": (path.coef != 0).sum(axis=(1, 2)),
            "objective": path.objective,
            "converged": path.converged,
            "chosen": np.arange(len(path)) == chosen,
        }
    )
    return Solution(
        coef=coef[:, 0] if single else coef,
        support=np.flatnonzero(coef[:, 0]) if single else np.argwhere(coef),
        objective=float(path.objective[chosen]),
        history=history,
        converged=bool(path.converged[chosen]),
        message=path.message,
    )


def run(
    source: str | FilePath | dict,
    *,
    profile: str = "quick",
    out: str | FilePath = "results",
    jobs: int | None = None,
    engine: str = "processes",
    overrides: tuple[str, ...] = (),
    only: tuple[str, ...] = (),
    trials: int | None = None,
    seed: int | None = None,
    force: bool = False,
) -> pd.DataFrame:
    """Run an experiment, or what is missing of it, and return its tidy table.

    Parameters
    ----------
    source : path, str or dict
        A YAML experiment, the name of a shipped one, or the contents of one.
    profile : {"smoke", "quick", "paper", "deep"}
    out : path
        The experiment writes to ``out/<name>/<profile>/``.
    jobs : int, optional
        Worker processes; all usable cores by default.
    engine : {"processes", "serial"}
    overrides, only : tuples of str
        As ``--set`` and ``--only`` on the command line.
    trials, seed : int, optional
        Replace the experiment's own.
    force : bool
        Compute everything again.

    Returns
    -------
    DataFrame
        One row per replicate and algorithm, as in the CSV.
    """
    from greedyexp import experiment, report, runner

    if not isinstance(source, dict):
        source = shipped.locate(str(source))
    plan = experiment.load(
        source, profile=profile, overrides=overrides, only=only, trials=trials, seed=seed
    )
    folder = FilePath(out) / plan.name / plan.profile
    done = runner.run(plan, folder, engine=engine, jobs=jobs, force=force)
    return report.read_frame(done.csv)
