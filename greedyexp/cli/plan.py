"""What an experiment is about to do, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from greedyexp.cli.text import count

if TYPE_CHECKING:
    from greedyexp.experiment import Experiment


def size_words(experiment: Experiment) -> str:
    """``12 data points x 20 trials x 3 algorithms = 720 rows``."""
    rows = len(experiment.points) * experiment.trials * len(experiment.algorithms)
    most = "at most " if experiment.adaptive else ""
    return (
        f"{count(len(experiment.points), 'data point')} x {most}{count(experiment.trials, 'trial')}"
        f" x {count(len(experiment.algorithms), 'algorithm')} = {most}{count(rows, 'row')}"
    )


def words(experiment: Experiment) -> str:
    """The plan, one line each: size, data, algorithms, metrics, figures, tables, claims."""
    swept = ", ".join(
        f"{name} ({len({repr(point[name]) for point in experiment.points})} values)"
        for name in experiment.swept
    )
    tuned = [
        spec.label if spec.tuning == "none" else f"{spec.label} (tuning: {spec.tuning})"
        for spec in experiment.algorithms
    ]
    lines = [
        f"{experiment.name} ({experiment.profile}): {size_words(experiment)}",
        f"  data: {experiment.generator}" + (f", sweeping {swept}" if swept else ""),
        f"  algorithms: {', '.join(tuned)}",
        f"  metrics: {', '.join(experiment.metrics)}",
        f"  figures: {', '.join(spec.name for spec in experiment.figures) or 'none'}",
    ]
    if experiment.tables:
        lines.append(f"  tables: {', '.join(spec.name for spec in experiment.tables)}")
    if experiment.claims:
        lines.append(f"  claims: {', '.join(claim.id for claim in experiment.claims)}")
    return "\n".join(lines)
