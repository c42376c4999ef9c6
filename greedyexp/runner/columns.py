"""The columns of a run's CSV and how a value is written in a cell."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property

from greedyexp.core import registry
from greedyexp.core.registry import RESERVED_COLUMNS
from greedyexp.experiment.design import DATA_COLUMN
from greedyexp.runner.canonical import plain_data


@dataclass(frozen=True)
class Columns:
    """Names of the columns of one experiment, all but the facts of its problems.

    Parameters
    ----------
    data : tuple of str
        The label of the block where the data are a list; then the parameters of the generators, in
        the order of their signatures.
    swept : tuple of str
        Parameters that vary inside an algorithm's entry.
    measured : tuple of str
        What the protocol gives.
    seconds : tuple of str
        The times it takes, which differ from run to run.
    """

    data: tuple[str, ...]
    swept: tuple[str, ...]
    measured: tuple[str, ...]
    seconds: tuple[str, ...]

    @cached_property
    def not_for_facts(self) -> tuple[str, ...]:
        """Names that a fact of a problem must not have."""
        return (*RESERVED_COLUMNS, *self.swept, *self.measured, *self.seconds)

    def of_table(self, facts: tuple[str, ...]) -> list[str]:
        """The header of ``<name>.csv``."""
        return [
            *self.data, *facts, "replicate", "algorithm", *self.swept, "status", "message",
            *self.measured,
        ]  # fmt: skip

    @property
    def of_timings(self) -> list[str]:
        """The header of ``timings.csv``."""
        return [*self.data, "replicate", "algorithm", *self.swept, "seconds", *self.seconds]


def columns_of(experiment) -> Columns:
    """The columns of an experiment, which are distinct: loading it refuses others."""
    generators = dict.fromkeys(point.generator for point in experiment.points)
    parameters = [registry.find("generator", name).parameters.model_fields for name in generators]
    label = [] if experiment.points[0].label is None else [DATA_COLUMN]
    protocol = registry.find("protocol", experiment.protocol.name)
    metrics = [registry.find("metric", name) for name in experiment.metrics]
    measured = protocol.columns(metrics, **experiment.protocol.params)
    return Columns(
        data=(*label, *dict.fromkeys(name for fields in parameters for name in fields)),
        swept=tuple(dict.fromkeys(name for spec in experiment.algorithms for name in spec.swept)),
        measured=tuple(column.name for column in measured if column.kind != "seconds"),
        seconds=tuple(column.name for column in measured if column.kind == "seconds"),
    )


def cell(value) -> str:
    """A value as the CSV has it: floats by ``repr``, truth as 0 or 1, None empty, lists as JSON."""
    value = plain_data(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, str):
        return value
    if isinstance(value, (dict, list)):
        return json.dumps(value, separators=(",", ":"))
    return repr(value)
