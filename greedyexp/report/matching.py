"""Two runs side by side: the columns by which their points, algorithms and rows are matched."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from greedyexp.core import registry
from greedyexp.core.errors import ConfigError
from greedyexp.experiment.design import DATA_COLUMN
from greedyexp.protocols.base import Measured
from greedyexp.results.records import identity
from greedyexp.runner.manifest import changed_files
from greedyexp.runner.rows import cell
from greedyexp.runner.run_contents import Run, unchecked
from greedyexp.runner.tables import refuse_damaged


@dataclass(frozen=True)
class Matched:
    """Two runs with the columns by which their rows are matched.

    Parameters
    ----------
    sources : tuple of two Run
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

    sources: tuple[Run, Run]
    settings: list[str]
    records: list[str]
    measured: list[Measured]
    apart: list[str]
    paired: bool

    @classmethod
    def of(cls, one: Run, other: Run) -> Matched:
        sources = (one, other)
        columns = []
        for source in sources:
            source.load_plugins()
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
        same &= not changed_files(one.manifest, other.manifest.get("data_files") or {})
        keys = [column.name for column in shared if column.kind == "key"]
        measured = [column for column in shared if column.kind != "key"]
        names = [column.name for column in shared]
        numeric = [one.name for one in measured if one.kind in ("number", "success")]
        binary = [one.name for one in measured if one.kind == "success"]
        for source in sources:
            refuse_damaged(source.frame, source.table, names, numeric, binary)
        sources = _with_columns(one, swept), _with_columns(other, swept)
        return cls(sources, [*swept, "algorithm"], keys, measured, apart, same)

    def limits(self) -> list[str]:
        """Return what limits intervals and p-values."""
        found = []
        if any(source.context.adaptive for source in self.sources):
            found.append(
                "results decided on the number of trials, which intervals do not allow for"
            )
        if any(source.context.resampling.covers(source.frame) for source in self.sources):
            found.append(
                "replicates resample one data set: intervals and p-values are about its splits only"
            )
        return found

    def notes(self) -> list[str]:
        """Return what limits the comparison."""
        found = [f"points are matched although {name} differs" for name in self.apart]
        if not self.paired:
            found.append("the runs have other data, so they are compared as independent samples")
        found += self.limits()
        for source in self.sources:
            if source.context.part:
                found.append(f"{source.folder} has only {source.context.part}")
            if not source.manifest:
                found.append(f"{source.folder} has no manifest.json, so its versions are not known")
            elif why := unchecked(source.folder, source.manifest):
                found.append(why)
        points = _combinations([source.frame for source in self.sources], self.settings)
        for source, mine, others in zip(self.sources, points, points[::-1], strict=True):
            own = np.setdiff1d(mine, others)
            if len(own):
                found.append(
                    f"{len(own)} combinations of point and algorithm are only in {source.folder}"
                )
        return found


@dataclass(frozen=True)
class Aligned:
    """Rows of two tables that are compared, group by group.

    Parameters
    ----------
    keys : list of str
        The columns with the same values in all rows of a group.
    paired : bool
    frames : list of two DataFrame
        Rows of the groups that both tables have. If they are paired, row i of one belongs to row i
        of the other. The first has the rows in the order of its table.
    groups : list of two array of int
        The number of the group of each row, increasing in the order of the first table.
    """

    keys: list[str]
    paired: bool
    frames: list[pd.DataFrame]
    groups: list[np.ndarray]

    @classmethod
    def of(cls, matched: Matched, frames: Sequence[pd.DataFrame], keys: list[str]) -> Aligned:
        """Align the rows of two tables with equal values of the keys.

        Raises
        ------
        ConfigError
            If a group has several rows of one replicate.
        """
        groups = _combinations(frames, keys)
        kept = [np.isin(own, other) for own, other in zip(groups, groups[::-1], strict=True)]
        frames = [frame[rows] for frame, rows in zip(frames, kept, strict=True)]
        groups = [own[rows] for own, rows in zip(groups, kept, strict=True)]
        replicates = _combinations(frames, [*keys, "replicate"])
        if any(len(np.unique(own)) < len(own) for own in replicates):
            raise ConfigError(
                "several rows have the same point, algorithm and replicate.",
                place=f"{matched.sources[0].folder} and {matched.sources[1].folder}",
                remedy="Compare runs of one experiment.",
            )
        if matched.paired:
            one, other = replicates
            _, *pairs = np.intersect1d(one, other, assume_unique=True, return_indices=True)
            frames = [frame.iloc[rows] for frame, rows in zip(frames, pairs, strict=True)]
            groups = [own[rows] for own, rows in zip(groups, pairs, strict=True)]
        frames = [frame.reset_index(drop=True) for frame in frames]
        return cls(keys, matched.paired, frames, groups)

    def levels(self, groups: Sequence[int]) -> pd.DataFrame:
        """Return the values of the keys in some groups, a line for each."""
        known, first = np.unique(self.groups[0], return_index=True)
        rows = first[np.searchsorted(known, groups)]
        return self.frames[0][self.keys].iloc[rows].reset_index(drop=True)

    def samples(
        self, values: Sequence[np.ndarray]
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield the finite values of all groups with the same numbers of them.

        A pair of rows counts only with two finite values.

        Parameters
        ----------
        values : sequence of two array
            A number for each row of both tables.

        Yields
        ------
        groups : array of int, shape (k,)
        x : array, shape (k, n)
        y : array, shape (k, m)
            The samples of these groups, of at least one value each.
        """
        known = [np.isfinite(one) for one in values]
        if self.paired:
            known = [known[0] & known[1]] * 2
        count = 1 + max(int(own.max(initial=-1)) for own in self.groups)
        ordered, sizes, starts = [], [], []
        for value, own, here in zip(values, self.groups, known, strict=True):
            order = np.argsort(own[here], kind="stable")
            ordered.append(value[here][order])
            sizes.append(np.bincount(own[here], minlength=count))
            starts.append(np.cumsum(sizes[-1]) - sizes[-1])
        for n, m in np.unique(np.transpose(sizes), axis=0).tolist():
            if n and m:
                chosen = np.flatnonzero((sizes[0] == n) & (sizes[1] == m))
                x, y = (
                    value[start[chosen][:, None] + np.arange(size)]
                    for value, start, size in zip(ordered, starts, (n, m), strict=True)
                )
                yield chosen, x, y


def _combinations(frames: Sequence[pd.DataFrame], keys: list[str]) -> list[np.ndarray]:
    """Return the number of the combination of values in each row, the same in both tables.

    Numbers are in the order of the rows, those of the first table before the others. Empty cells
    are equal.
    """
    # As objects, 5 and 5.0 are equal, and the text "5" is another value.
    both = pd.concat([frame[keys].astype(object) for frame in frames], ignore_index=True)
    numbers = both.groupby(keys, sort=False, dropna=False).ngroup().to_numpy()
    return np.split(numbers, [len(frames[0])])


def _parameters(source: Run) -> list[str]:
    """Return the columns of the data's parameters in the table of a run."""
    fields = [
        registry.find("generator", name).parameters.model_fields
        for name in source.design.generators
    ]
    named = [DATA_COLUMN, *(name for one in fields for name in one)]
    return [name for name in dict.fromkeys(named) if name in identity(source.frame)]


def _with_columns(source: Run, names: list[str]) -> Run:
    """Return a run with these parameters as columns; other generators leave them empty."""
    missing: dict[str, Any] = {}
    for name in names:
        if name not in source.frame:
            default = _default(source, name)
            # Numbers as in a parsed table, others as its cells.
            number = isinstance(default, (int, float))
            missing[name] = default if number else cell(default) or None
    return source.altered(source.frame.assign(**missing)) if missing else source


def _tells_apart(one: Run, other: Run, name: str) -> bool:
    """Return True if a parameter of the data has one value in each run, but not the same.

    A run of an earlier version lacks parameters that were added since: it has their defaults.
    """
    values = [_constant(source, name) for source in (one, other)]
    return None not in values and values[0] != values[1]


def _constant(source: Run, name: str) -> str | None:
    """Return the only value of a parameter as text; None if it has several, or none is known."""
    if name in source.frame:
        levels = source.frame[name].unique()
        return as_cell(levels[0]) if len(levels) == 1 else None
    default = _default(source, name)
    return None if default is None else as_cell(default)


def _default(source: Run, name: str) -> Any:
    """Return the default of a parameter of the data; None if it has none, or is no parameter."""
    for generator in source.design.generators:
        field = registry.find("generator", generator).parameters.model_fields.get(name)
        if field is not None and not field.is_required():
            return field.default
    return None


def as_cell(value: Any) -> str:
    """Return a value of a parsed table as a cell; whole numbers were read as floats."""
    if isinstance(value, (float, np.floating)):
        if math.isnan(value):
            return ""
        return str(int(value)) if float(value).is_integer() else cell(float(value))
    return cell(value)
