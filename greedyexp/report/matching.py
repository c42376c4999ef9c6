"""Two runs side by side: the columns by which their points, algorithms and rows are matched."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from greedyexp.core import registry
from greedyexp.experiment.design import DATA_COLUMN
from greedyexp.protocols.base import Measured
from greedyexp.report.source import Source, load_own_plugins, refuse_damaged
from greedyexp.results.records import identity, replicates
from greedyexp.runner.manifest import changed_files
from greedyexp.runner.output import cell

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Matched:
    """Two runs with the columns by which their rows are matched.

    Parameters
    ----------
    sources : tuple of two Source
    settings : list of str
        Columns that tell points and algorithms apart.
    records : list of str
        Columns that tell the rows of one replicate apart.
    measured : list of Measured
        The numbers and texts that both runs have.
    apart : list of str
        Parameters of the data with other values in the two runs.
    paired : bool
    """

    sources: tuple[Source, Source]
    settings: list[str]
    records: list[str]
    measured: list[Measured]
    apart: list[str]
    paired: bool

    @classmethod
    def of(cls, one: Source, other: Source) -> Matched:
        sources = (one, other)
        columns = []
        for source in sources:
            load_own_plugins(source)
            columns.append({column.name: column for column in source.design.measured})
        shared = [
            column
            for column in columns[0].values()
            if column.name in columns[1] and column.kind != "seconds"
        ]
        parameters = dict.fromkeys(name for source in sources for name in _parameters(source))
        apart = [name for name in parameters if _tells_apart(one, other, name)]
        swept = [
            name
            for name in parameters
            if name not in apart
            and any(name in s.frame and s.frame[name].nunique(dropna=False) > 1 for s in sources)
        ]
        seeds = [source.design.settings.get("seed") for source in sources]
        generators = [source.design.generators for source in sources]
        same = seeds[0] == seeds[1] and generators[0] == generators[1] and not apart
        same &= not changed_files(one.state.manifest, other.state.manifest.get("data_files") or {})
        keys = [column.name for column in shared if column.kind == "key"]
        measured = [column for column in shared if column.kind != "key"]
        names = [column.name for column in shared]
        numeric = [one.name for one in measured if one.kind in ("number", "success")]
        binary = [one.name for one in measured if one.kind == "success"]
        for source in sources:
            refuse_damaged(source.frame, source.state.table, names, numeric, binary)
        return cls(sources, [*swept, "algorithm"], keys, measured, apart, same)

    def notes(self) -> list[str]:
        """Return what limits the comparison."""
        found = [f"points are matched although {name} differs" for name in self.apart]
        if not self.paired:
            found.append("the runs have other data, so they are compared as independent samples")
        if any(source.context.adaptive for source in self.sources):
            found.append(
                "results decided on the number of trials, which intervals do not allow for"
            )
        for source in self.sources:
            if source.context.part:
                found.append(f"{source.folder} has only {source.context.part}")
            if not source.state.manifest:
                found.append(f"{source.folder} has no manifest.json, so its versions are not known")
        points = [set(groups(replicates(s.frame), self.settings)) for s in self.sources]
        for source, mine, others in zip(self.sources, points, points[::-1], strict=True):
            if mine - others:
                found.append(
                    f"{len(mine - others)} combinations of point and algorithm are only in"
                    f" {source.folder}"
                )
        return found


def groups(frame: pd.DataFrame, keys: list[str]) -> dict[tuple[Any, ...], pd.DataFrame]:
    """Return the rows of each combination of values, with None for empty cells."""
    filled = frame.assign(
        **{key: frame[key].astype(object).where(frame[key].notna()) for key in keys}
    )
    return {
        tuple(None if value != value else value for value in key): rows
        for key, rows in filled.groupby(keys, sort=False, dropna=False)
    }


def _parameters(source: Source) -> list[str]:
    """Return the columns of the data's parameters in the table of a run."""
    fields = [
        registry.find("generator", name).parameters.model_fields
        for name in source.design.generators
    ]
    named = [DATA_COLUMN, *(name for one in fields for name in one)]
    return [name for name in dict.fromkeys(named) if name in identity(source.frame)]


def _tells_apart(one: Source, other: Source, name: str) -> bool:
    """Return True if a parameter of the data has one value in each run, but not the same.

    A run of an earlier version lacks parameters that were added since: it has their defaults.
    """
    values = [_constant(source, name) for source in (one, other)]
    return None not in values and values[0] != values[1]


def _constant(source: Source, name: str) -> str | None:
    """Return the only value of a parameter as text; None if it has several, or none is known."""
    if name in source.frame:
        levels = source.frame[name].unique()
        return as_cell(levels[0]) if len(levels) == 1 else None
    for generator in source.design.generators:
        field = registry.find("generator", generator).parameters.model_fields.get(name)
        if field is not None and not field.is_required():
            return as_cell(field.default)
    return None


def as_cell(value: Any) -> str:
    """Return a value of a parsed table as a cell; whole numbers were read as floats."""
    if isinstance(value, (float, np.floating)):
        if math.isnan(value):
            return ""
        return str(int(value)) if float(value).is_integer() else cell(float(value))
    return cell(value)
