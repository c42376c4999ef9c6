"""Protocol ``recovery``: fit once, choose the tuning, compute every metric."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from greedyexp.core.parts import Algorithm, Metric
from greedyexp.core.registry import protocol
from greedyexp.estimates.path import Path
from greedyexp.metrics.optimisation import NotReported
from greedyexp.problems.problem import Problem
from greedyexp.protocols import fitting
from greedyexp.protocols.base import FIT_SECONDS, Measured, Outcome, Setup, Status, of_metric
from greedyexp.protocols.information import least_criterion


def columns(metrics: Sequence[Metric]) -> list[Measured]:
    """Return the columns of the tuning, of each metric, and of the seconds of the fit."""
    return [Measured("tuning", "text"), *map(of_metric, metrics), FIT_SECONDS]


@protocol("recovery", title="Recovery", takes="estimates", columns=columns, metrics=True)
def recovery(problem: Problem, part: Algorithm, params: dict, setup: Setup) -> Outcome:
    """Fit once, choose the tuning, compute every metric: one row for each algorithm and problem.

    With tuning ``oracle`` every metric takes its best value over the path, each at its own point,
    so a success means that some tuning succeeds. Metrics without a direction are taken where
    the first metric with a direction is best, or at the end of the path if there is none. With
    ``cv`` the point has the least cross-validated prediction error, with ``ebic_robust`` the least
    robust extended Bayesian information criterion of its support (``protocols.information``); with
    ``theory`` it is the point that theory prescribes. Algorithms that return one estimate have
    nothing to tune. The seconds are those of the fit, including its folds, but without the metrics,
    the criterion, and the prescription by theory.

    Columns
    -------
    tuning
        How the point of the path was chosen: oracle, cv, ebic_robust, theory, end, or none without
        a path.

    Returns
    -------
    Outcome
        Status ``not_converged`` if a point of the path lacks its certificate (with a tuning other
        than ``oracle`` only the chosen point matters), ``nonfinite`` if an estimate or a metric is
        not finite.
    """
    grid = fitting.prescribed(part, problem, params) if setup.tuning == "theory" else None
    start = setup.clock()
    if setup.tuning == "cv":
        path, chosen = fitting.cross_validated(
            part, problem, params, folds=setup.folds, rng=setup.rng
        )
        seconds = setup.clock() - start
        path = path.take([chosen])
    else:
        path = fitting.fit(part, problem, params, grid=grid, rng=setup.rng)
        seconds = setup.clock() - start
        if setup.tuning in ("end", "ebic_robust") and len(path):
            last = len(path) - 1
            chosen = last if setup.tuning == "end" else least_criterion(path, problem)
            path = path.take([chosen])
    return replace(_judge(problem, path, setup), fit_seconds=seconds)


def _judge(problem: Problem, path: Path, setup: Setup) -> Outcome:
    if len(path) == 0:
        return Outcome(Status.ERROR, "the algorithm returned a path without points")
    if not np.isfinite(path.sparse.values).all():
        return Outcome(Status.NONFINITE, "an estimate is not finite")
    row = {"tuning": setup.tuning, **_best(problem, path, setup.metrics)}
    if not fitting.all_finite(row):
        return Outcome(Status.NONFINITE, "a metric is not finite")
    return Outcome.with_doubts([row], fitting.uncertified(path, "path points"), path.message)


def _best(problem: Problem, path: Path, metrics: Sequence[Metric]) -> dict:
    """Return each metric at its own best point, None if the algorithm does not report it.

    Metrics without a direction are taken where the first metric with one is best.
    """
    along: dict[str, np.ndarray] = {}
    for metric in metrics:
        with suppress(NotReported):
            along[metric.name] = fitting.measure(metric, problem, path)
    better = {metric.name: metric.better for metric in metrics}
    points = {name: _best_point(values, better[name]) for name, values in along.items()}
    reference = next((point for point in points.values() if point is not None), len(path) - 1)
    best = dict.fromkeys(better)
    for name, values in along.items():
        point = points[name]
        best[name] = values[reference if point is None else point].item()
    return best


def _best_point(along: np.ndarray, better: str | None) -> int | None:
    if better is None:
        return None
    return int(np.argmax(along) if better == "higher" else np.argmin(along))
