"""The plan of an experiment, in words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from greedyexp.cli.text import table
from greedyexp.core.listing import count, duration

if TYPE_CHECKING:
    from greedyexp.config import Experiment
    from greedyexp.runner import Explanation


def size_words(experiment: Experiment) -> str:
    """Return words such as ``12 data points x 20 trials x 3 algorithms = 720 runs``."""
    runs = len(experiment.points) * experiment.trials * len(experiment.algorithms)
    most = "at most " if experiment.adaptive else ""
    return (
        f"{count(len(experiment.points), 'data point')} x {most}{count(experiment.trials, 'trial')}"
        f" x {count(len(experiment.algorithms), 'algorithm')} = {most}{count(runs, 'run')}"
    )


def _data_words(experiment: Experiment) -> list[str]:
    """Return a line for each block of data: its label, generator and sweep."""
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


def described(experiment: Experiment) -> list[str]:
    """Return how the generators describe their data, for example which columns are features.

    Raises
    ------
    PluginError
        If the ``describe`` function of a generator raises.
    """
    from greedyexp.config.document import Place
    from greedyexp.config.sections import guarded
    from greedyexp.core.registry import find
    from greedyexp.datasets.own import relative_to

    lines: list[str] = []
    for point in experiment.points:
        part = find("generator", point.generator)
        if part.describe is not None:
            with guarded("describe", part, Place("data")), relative_to(experiment.folder):
                lines += part.describe(**point.params)
    return [f"  {line}" for line in dict.fromkeys(lines)]


def unused_profile(ctx: click.Context, source: str | Path) -> list[str]:
    """Return a note if ``--profile`` names a profile that the file does not define.

    Parameters
    ----------
    ctx : click.Context
        Context of a command with ``--profile``. The default profile, quick, need not be defined.
    source : str or Path
        A valid config.
    """
    from greedyexp.config.document import read_file

    profile = ctx.params["profile"]
    chosen = ctx.get_parameter_source("profile") is click.core.ParameterSource.COMMANDLINE
    defined = read_file(source).data.get("profiles") or {}
    if not chosen or profile == "quick" or profile in defined:
        return []
    return [f"note: {source} defines no profile '{profile}', so it runs in full."]


def words(experiment: Experiment) -> str:
    """Return the plan: size, data, algorithms, metrics, figures, tables and claims."""
    from greedyexp.experiment.messages import show

    tuned = [
        spec.label if spec.tuning == "none" else f"{spec.label} (tuning: {spec.tuning})"
        for spec in experiment.algorithms
    ]
    lines = [
        f"{experiment.name} ({experiment.profile}): {size_words(experiment)}",
        *_data_words(experiment),
        *described(experiment),
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


def explained(folder: Path, what: Explanation) -> str:
    """Return how many replicates a run in a folder would compute, the reasons and the time."""
    place = folder.resolve()
    title = f"{place.parent.name}/{place.name}"
    if not what.missing:
        return f"{title}: all {count(what.total, 'replicate')} are done"
    least = "at least " if what.open_ended else ""
    lines = [f"{title}: {least}{what.missing} of {count(what.total, 'replicate')} to compute"]
    rows = [(str(group.replicates), "; ".join(group.reasons)) for group in what.groups]
    lines.append(table(rows, indent="    ", right=(0,)))
    lines += [f"  changed since the last run: {change}" for change in what.since]
    if what.seconds is None:
        lines.append("  The time is not known, since no replicate is finished.")
    else:
        lines.append(
            f"  This takes {least or 'about '}{duration(what.seconds)} with"
            f" {count(what.jobs, 'worker')}, by the times of"
            f" {count(what.timed, 'finished replicate')}, without the generation of data."
        )
    return "\n".join(lines)
