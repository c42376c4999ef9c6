"""Replicates that are copies of each other, because their data are all of a file."""

from __future__ import annotations

from greedyexp.core import registry
from greedyexp.core.errors import ConfigError
from greedyexp.experiment.model import Experiment, Point
from greedyexp.protocols.problem_contract import same_problem
from greedyexp.runner.evaluator import Evaluator
from greedyexp.runner.work import work_of


def refuse_copies(experiment: Experiment) -> None:
    """Raise ``ConfigError`` if data from files are the same in every replicate.

    Copies of one replicate would look like many that agree. They are none if an algorithm or its
    cross-validation draws at random.
    """
    for spec in experiment.algorithms:
        if spec.tuning == "cv" or registry.find("algorithm", spec.name).takes_rng:
            return
    evaluator = Evaluator(work_of(experiment))
    blocks = {(point.label, point.generator): point for point in reversed(experiment.points)}
    for point in blocks.values():
        if _copied(evaluator, point):
            raise ConfigError(
                f"the data of '{point.generator}' are the same in every replicate, so that more"
                " trials decide nothing.",
                place="data" if point.label is None else f"data {point.label}",
                remedy="Give a number of trials.",
            )


def _copied(evaluator: Evaluator, point: Point) -> bool:
    """Return True if the first two replicates of a point with data from files are equal."""
    reads = registry.find("generator", point.generator).reads
    if reads is None or not any(True for _ in reads(**point.params)):
        return False
    try:
        one, other = (evaluator.problem(point.generator, point.params, k) for k in (0, 1))
    except Exception:
        # The run records the failure.
        return False
    return same_problem(one, other)
