"""Support recovery: fit once, choose the tuning, compare with the truth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from greedyexp.path import Path
from greedyexp.problem import Problem
from greedyexp.protocols import tuning as tunings
from greedyexp.protocols.measured import FIT_SECONDS, Measured
from greedyexp.protocols.measuring import measure
from greedyexp.protocols.outcome import Outcome, Status
from greedyexp.protocols.setup import Setup
from greedyexp.registry import Part, protocol


def columns(metrics: Sequence[Part]) -> list[Measured]:
    """The tuning that chose, one column for each metric, and the seconds of the fit."""
    measured = [
        Measured(metric.name, "success" if metric.extra["binary"] else "number")
        for metric in metrics
    ]
    return [Measured("tuning", "text"), *measured, FIT_SECONDS]


@protocol("recovery", title="Recovery", takes="estimates", columns=columns, metrics=True)
def recovery(problem: Problem, part: Part, params: dict, setup: Setup) -> Outcome:
    """Fit once, choose the tuning, compute every metric: one row for each algorithm and problem.

    With tuning ``oracle`` every metric takes its best value over the path, each at its own point,
    so that a success means that some tuning recovers; metrics without a direction are taken where
    the first metric with one is best (at the end of the path when there is none). ``cv`` is the
    point of least cross-validated prediction error, ``theory`` the point that theory prescribes.
    Algorithms that return one estimate have nothing to tune. The seconds are of the fit with its
    tuning, metrics left out.

    Returns
    -------
    Outcome
        Status ``not_converged`` when a point of the path lacks its certificate (with ``cv`` and
        ``theory`` there is the chosen one only; with ``oracle`` any may have counted),
        ``nonfinite`` when an estimate or a metric is not finite.
    """
    start = setup.clock()
    path = _fitted(problem, part, params, setup)
    seconds = setup.clock() - start
    return replace(_judged(problem, path, setup), fit_seconds=seconds)


def _fitted(problem: Problem, part: Part, params: dict, setup: Setup) -> Path:
    """The path, or its one point that the tuning chose."""
    if setup.tuning == "cv":
        path, chosen = tunings.cross_validated(
            part, problem, params, folds=setup.folds, rng=setup.rng
        )
        return path.take([chosen])
    if setup.tuning == "theory":
        return tunings.theoretical(part, problem, params)
    return tunings.fit(part, problem, params)


def _judged(problem: Problem, path: Path, setup: Setup) -> Outcome:
    if len(path) == 0:
        return Outcome(Status.ERROR, "the algorithm returned a path without points", [])
    if not np.isfinite(path.coef).all():
        return Outcome(Status.NONFINITE, "an estimate is not finite", [])
    row = {"tuning": setup.tuning, **_best(problem, path, setup.metrics)}
    if not all(math.isfinite(v) for k, v in row.items() if k != "tuning"):
        return Outcome(Status.NONFINITE, "a metric is not finite", [])
    short = int((~path.converged).sum())
    if short:
        message = f"{short} of {len(path)} path points lack their certificate"
        return Outcome(Status.NOT_CONVERGED, f"{message}: {path.message}".rstrip(": "), [row])
    return Outcome(Status.OK, path.message, [row])


def _best(problem: Problem, path: Path, metrics: Sequence[Part]) -> dict:
    """Each metric at its own best point; without a direction, where the first with one is best."""
    along = [measure(metric, problem, path) for metric in metrics]
    points = [_best_point(a, m.extra["better"]) for a, m in zip(along, metrics, strict=True)]
    reference = next((point for point in points if point is not None), len(path) - 1)
    return {
        metric.name: values[reference if point is None else point].item()
        for metric, values, point in zip(metrics, along, points, strict=True)
    }


def _best_point(along: np.ndarray, better: str | None) -> int | None:
    if better is None:
        return None
    return int(np.argmax(along) if better == "higher" else np.argmin(along))
