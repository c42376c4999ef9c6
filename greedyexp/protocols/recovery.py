"""Support recovery: fit once, choose the tuning, compare with the truth."""

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
from greedyexp.protocols import tuning as tunings
from greedyexp.protocols.measured import FIT_SECONDS, Measured, of_metric
from greedyexp.protocols.measuring import all_finite, measure
from greedyexp.protocols.outcome import Outcome, Status
from greedyexp.protocols.setup import Setup


def columns(metrics: Sequence[Metric]) -> list[Measured]:
    """The tuning that chose, one column for each metric, and the seconds of the fit."""
    return [Measured("tuning", "text"), *map(of_metric, metrics), FIT_SECONDS]


@protocol("recovery", title="Recovery", takes="estimates", columns=columns, metrics=True)
def recovery(problem: Problem, part: Algorithm, params: dict, setup: Setup) -> Outcome:
    """Fit once, choose the tuning, compute every metric: one row for each algorithm and problem.

    With tuning ``oracle`` every metric takes its best value over the path, each at its own point,
    so that a success means that some tuning recovers; metrics without a direction are taken where
    the first metric with one is best (at the end of the path when there is none). ``cv`` is the
    point of least cross-validated prediction error, ``theory`` the point that theory prescribes.
    Algorithms that return one estimate have nothing to tune. The seconds are of the fit, with its
    folds when there are any; neither metrics nor what theory reads from the truth count.

    Returns
    -------
    Outcome
        Status ``not_converged`` when a point of the path lacks its certificate (with ``cv`` and
        ``theory`` there is the chosen one only; with ``oracle`` any may have counted),
        ``nonfinite`` when an estimate or a metric is not finite.
    """
    prescribed = {}
    if setup.tuning == "theory":
        prescribed = {"grid": tunings.prescribed(part, problem, params)}
    start = setup.clock()
    if setup.tuning == "cv":
        path, chosen = tunings.cross_validated(
            part, problem, params, folds=setup.folds, rng=setup.rng
        )
        path = path.take([chosen])
    else:
        path = tunings.fit(part, problem, params, rng=setup.rng, **prescribed)
    seconds = setup.clock() - start
    return replace(_judged(problem, path, setup), fit_seconds=seconds)


def _judged(problem: Problem, path: Path, setup: Setup) -> Outcome:
    if len(path) == 0:
        return Outcome(Status.ERROR, "the algorithm returned a path without points", [])
    if not np.isfinite(path.coef).all():
        return Outcome(Status.NONFINITE, "an estimate is not finite", [])
    row = {"tuning": setup.tuning, **_best(problem, path, setup.metrics)}
    if not all_finite(row):
        return Outcome(Status.NONFINITE, "a metric is not finite", [])
    short = int((~path.converged).sum())
    if short:
        message = f"{short} of {len(path)} path points lack their certificate"
        return Outcome(Status.NOT_CONVERGED, f"{message}: {path.message}".rstrip(": "), [row])
    return Outcome(Status.OK, path.message, [row])


def _best(problem: Problem, path: Path, metrics: Sequence[Metric]) -> dict:
    """Each metric at its own best point; without a direction, where the first with one is best.

    None for a metric that the algorithm does not tell.
    """
    along: dict[str, np.ndarray] = {}
    for metric in metrics:
        with suppress(NotReported):
            along[metric.name] = measure(metric, problem, path)
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
