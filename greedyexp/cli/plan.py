"""What an experiment is about to do, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from greedyexp.cli.text import count

if TYPE_CHECKING:
    from greedyexp.experiment import Experiment


def size_words(experiment: Experiment) -> str:
    """``12 data points x 20 trials x 3 algorithms = 720 runs``, each a row of the table or more."""
    runs = len(experiment.points) * experiment.trials * len(experiment.algorithms)
    most = "at most " if experiment.adaptive else ""
    return (
        f"{count(len(experiment.points), 'data point')} x {most}{count(experiment.trials, 'trial')}"
        f" x {count(len(experiment.algorithms), 'algorithm')} = {most}{count(runs, 'run')}"
    )


def data_words(experiment: Experiment) -> list[str]:
    """A line for each block of data: its label, generator and sweep."""
    blocks: dict[tuple, list[dict]] = {}
    for point in experiment.points:
        blocks.setdefault((point.label, point.generator), []).append(point.params)
    lines = []
    for (label, generator), points in blocks.items():
        counts = {name: len({repr(point[name]) for point in points}) for name in points[0]}
        swept = ", ".join(f"{name} ({n} values)" for name, n in counts.items() if n > 1)
        head = "  data" if label is None else f"  data {label}"
        lines.append(f"{head}: {generator}" + (f", sweeping {swept}" if swept else ""))
    return lines


def words(experiment: Experiment) -> str:
    """The plan, one line each: size, data, algorithms, what is measured, drawn and claimed."""
    from greedyexp.experiment.sentences import show

    tuned = [
        spec.label if spec.tuning == "none" else f"{spec.label} (tuning: {spec.tuning})"
        for spec in experiment.algorithms
    ]
    lines = [
        f"{experiment.name} ({experiment.profile}): {size_words(experiment)}",
        *data_words(experiment),
        f"  algorithms: {', '.join(tuned)}",
    ]
    protocol = experiment.protocol
    if experiment.metrics:
        lines.append(f"  metrics: {', '.join(experiment.metrics)}")
    else:
        given = ", ".join(f"{name} = {show(value)}" for name, value in protocol.params.items())
        lines.append(f"  protocol: {protocol.name}" + (f" ({given})" if given else ""))
    lines.append(f"  figures: {', '.join(spec.name for spec in experiment.figures) or 'none'}")
    if experiment.tables:
        lines.append(f"  tables: {', '.join(spec.name for spec in experiment.tables)}")
    if experiment.claims:
        lines.append(f"  claims: {', '.join(claim.id for claim in experiment.claims)}")
    return "\n".join(lines)
