"""The tidy table as claims look at it: groups of one configuration, replicates that go together."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from greedyexp.claims.kinds import Kinds, kinds_of
from greedyexp.claims.setting import Setting
from greedyexp.results.where import matches

# A value of each of some columns, by its code (see ``Table.value``).
Group = tuple[tuple[str, int], ...]


class Missing(Exception):
    """Rows or numbers that a test needs and the table does not have; the text is a sentence."""


class Table:
    """Rows of a run, indexed by what was swept and by the keys of the protocol.

    A replicate that failed has one row without keys. It stands for a row at every value of them.

    Parameters
    ----------
    frame : DataFrame
        The tidy table.
    setting : Setting
        Its sweeps.
    kinds : Kinds, optional
        Of the rows, when the table is part of a larger one.
    """

    def __init__(self, frame: pd.DataFrame, setting: Setting, kinds: Kinds | None = None):
        self.frame = frame
        self.setting = setting
        self.kinds = kinds or kinds_of(frame, setting.keys, setting.measured)
        labels = list(setting.algorithms)
        names = dict.fromkeys([*setting.shared, *setting.swept_by(labels)])
        self._codes: dict[str, np.ndarray] = {}
        self._values: dict[str, list] = {}
        for name in names:
            if name in frame.columns:
                codes, values = pd.factorize(frame[name], use_na_sentinel=False, sort=True)
                self._codes[name], self._values[name] = codes, [_plain(v) for v in values]
        self._family = _families(frame["algorithm"], setting)
        self._rows_of: dict[str, np.ndarray] = {}
        self._series: dict[tuple[str, ...], np.ndarray] = {}
        self.pairs = self.series(())

    def series(self, along: Iterable[str]) -> np.ndarray:
        """One number for each replicate at all values of some swept columns, shape (n,).

        With none of them, one for each data set: the same for all algorithms that saw it.
        """
        names = tuple(n for n in self.setting.swept if n in self._codes and n not in along)
        if names not in self._series:
            columns = [self._codes[name] for name in names]
            keys = pd.DataFrame(dict(enumerate([*columns, self.frame["replicate"].to_numpy()])))
            groups = keys.groupby(list(keys.columns), sort=False)
            self._series[names] = groups.ngroup().to_numpy()
        return self._series[names]

    def of(self, algorithm: str) -> np.ndarray:
        """Indices of all rows of an algorithm."""
        if algorithm not in self._rows_of:
            self._rows_of[algorithm] = np.flatnonzero(self._family == algorithm)
        return self._rows_of[algorithm]

    def narrowed(self, where: Mapping) -> Table:
        """The rows with given values.

        Parameters
        ----------
        where : mapping of column to value or list of values
            A parameter swept inside some algorithms restricts those alone. Of a replicate without
            a row at the keys asked for one row stays, with empty cells: that it did not get there
            is part of the answer.
        """
        if not where:
            return self
        keep = np.ones(len(self.frame), dtype=bool)
        known = np.ones(len(self.frame), dtype=bool)
        own = self.setting.swept_by(self.setting.algorithms)
        for name, wanted in where.items():
            wanted = wanted if isinstance(wanted, list) else [wanted]
            if name == "algorithm":
                keep &= np.isin(self._family, [str(value) for value in wanted])
                continue
            if name not in self.frame.columns:
                keep[:] = False
                break
            found = matches(self.frame[name], wanted).to_numpy()
            if name in self.setting.keys:
                known &= found
                continue
            if name in own:
                without = [a for a, one in self.setting.algorithms.items() if not _has(one, name)]
                found = found | np.isin(self._family, without)
            keep &= found
        return self._part(keep, known)

    def _part(self, keep: np.ndarray, known: np.ndarray) -> Table:
        """The rows to keep, of those with keys the known ones."""
        nowhere = (keep & ~self.kinds.lost).any() and not (keep & known).any()
        rows = np.flatnonzero(keep & (known | self.kinds.lost) & (not nowhere))
        absent = np.zeros(0, dtype=int)
        if not (known.all() or nowhere):
            runs = pd.MultiIndex.from_arrays([self.pairs, self.frame["algorithm"]])
            others = np.flatnonzero(keep & ~runs.isin(runs[rows]))
            absent = others[~runs[others].duplicated()]
        frame = self.frame.iloc[rows]
        if len(absent):
            measured = [*self.setting.keys, *self.setting.measured]
            blank = self.frame.iloc[absent].drop(columns=measured, errors="ignore")
            frame = pd.concat([frame, blank])
        kinds = self.kinds.taken(rows, len(absent))
        return Table(frame.reset_index(drop=True), self.setting, kinds)

    def groups(self, algorithms: list[str], used: Iterable[str]) -> list[Group]:
        """Every combination of swept values and keys, the columns in ``used`` left out.

        Data columns are combined with keys as they occur in the table, for any algorithm; with
        them come the parameters that these algorithms sweep, as they occur for all that sweep them.
        Where every replicate failed there are no keys.
        """
        shared = [name for name in self.setting.shared if name in self._codes and name not in used]
        cells = self._distinct(shared, np.arange(len(self.frame)))
        data = [name for name in shared if name not in self.setting.keys]
        if self.kinds.lost.any():
            met = {tuple(pair for pair in cell if pair[0] in data) for cell in cells}
            failed = self._distinct(data, np.flatnonzero(self.kinds.lost))
            cells += [cell for cell in failed if cell not in met]
        for algorithm in algorithms:
            own = [n for n in self.setting.swept_by([algorithm]) if n in self._codes]
            own = [name for name in own if name not in used]
            if own:
                cells = _joined(cells, self._distinct(own, self.of(algorithm)))
        return cells

    def tells(self, group: Group, metrics: Iterable[str]) -> bool:
        """Whether the rows of a group are of a kind that has all these measurements.

        A group without keys is of replicates that are not there; they lack what the others tell.
        """
        keys = tuple(pair for pair in group if pair[0] in self.setting.keys)
        if not keys and (not self.setting.keys or self.kinds.lost.all()):
            return True
        everything = np.arange(len(self.frame))
        rows = everything[self._inside(keys, everything) & ~self.kinds.lost]
        named = [name for name in metrics if name in self.frame.columns]
        told = [self.kinds.tells(name)[rows] for name in named]
        return bool(np.logical_and.reduce(told).any()) if told else True

    def cells(self, group: Group, columns: Iterable[str], algorithms: list[str]) -> list[Group]:
        """The group split by the values of columns; those of data as any algorithm has them."""
        columns = [name for name in columns if name in self._codes]
        data = [name for name in columns if name in self.setting.shared]
        within = tuple((name, code) for name, code in group if name in self.setting.shared)
        everything = np.arange(len(self.frame))
        cells = self._distinct(data, everything[self._inside(within, everything)])
        for algorithm in algorithms:
            own = [n for n in columns if n not in data and n in self.setting.swept_by([algorithm])]
            if own:
                cells = _joined(cells, self._distinct(own, self.of(algorithm)))
        return [tuple({**dict(group), **dict(cell)}.items()) for cell in cells]

    def _distinct(self, names: list[str], rows: np.ndarray) -> list[Group]:
        if any(name in self.setting.keys for name in names):
            rows = rows[~self.kinds.lost[rows]]
        if not names:
            return [()] if len(rows) else []
        codes = np.unique(np.column_stack([self._codes[n][rows] for n in names]), axis=0)
        return [tuple(zip(names, map(int, row), strict=True)) for row in codes]

    def _inside(self, cell: Group, rows: np.ndarray) -> np.ndarray:
        keep = np.ones(len(rows), dtype=bool)
        for name, code in cell:
            here = self._codes[name][rows] == code
            keep &= here | self.kinds.lost[rows] if name in self.setting.keys else here
        return keep

    def rows(self, algorithm: str, cell: Group) -> np.ndarray:
        """Indices of an algorithm's rows in a cell; what only others sweep does not restrict it.

        Raises
        ------
        Missing
            When there are none.
        """
        foreign = set(self.setting.swept_by(self.setting.algorithms))
        foreign -= {*self.setting.swept_by([algorithm]), *self.setting.shared}
        rows = self.of(algorithm)
        own = tuple((name, code) for name, code in cell if name not in foreign)
        rows = rows[self._inside(own, rows)]
        if not len(rows):
            where = self.words(own)
            raise Missing(f"the table has no rows of {algorithm}{f' at {where}' if where else ''}")
        return rows

    def cell(self, algorithm: str, row: int) -> Group:
        """Where a row of an algorithm stands: its value of everything swept and its keys."""
        names = dict.fromkeys([*self.setting.shared, *self.setting.swept_by([algorithm])])
        return tuple((name, int(self._codes[name][row])) for name in names if name in self._codes)

    def at(self, cell: Group, name: str, algorithms: list[str]) -> float:
        """The one value that a column of numbers has in a cell.

        Raises
        ------
        Missing
            When it has none, several, or is not a number.
        """
        rows = np.unique(np.concatenate([self.rows(label, cell) for label in algorithms]))
        if name not in self.frame.columns:
            raise Missing(f"the table has no column '{name}'")
        if name in self.setting.keys:
            rows = rows[~self.kinds.lost[rows]]
        values = pd.unique(self.frame[name].iloc[rows])
        if len(values) != 1 or not _is_number(values[0]):
            where = f" at {self.words(cell)}" if cell else ""
            what = "takes several values" if len(values) > 1 else "is not a number"
            raise Missing(f"{name} {what}{where}")
        return float(values[0])

    def value(self, name: str, code: int):
        """What a code of a column stands for; None for an empty cell."""
        return self._values[name][code]

    def shown(self, cell: Group) -> dict:
        """A cell as column -> value, without keys that do not apply."""
        values = {name: self.value(name, code) for name, code in cell}
        keys = self.setting.keys
        return {
            name: _whole(value) if name in keys else value
            for name, value in values.items()
            if not (name in keys and value is None)
        }

    def words(self, cell: Group) -> str:
        """``p = 128, kappa = 0.3``."""
        return ", ".join(f"{name} = {value}" for name, value in self.shown(cell).items())


def _families(labels: pd.Series, setting: Setting) -> np.ndarray:
    """The label of the entry that each row came from; its own where there is none."""
    known = {label: setting.entries.get(label, label) for label in labels.unique()}
    return labels.map(known).to_numpy(dtype=str)


def _has(algorithm, name: str) -> bool:
    return any(name in axis for axis in algorithm.axes)


def _joined(one: list[Group], two: list[Group]) -> list[Group]:
    """Pairs of cells that agree where both speak, merged."""
    merged = {}
    for left, right in itertools.product(one, two):
        first, second = dict(left), dict(right)
        if all(second.get(name, code) == code for name, code in first.items()):
            merged[tuple({**first, **second}.items())] = None
    return list(merged)


def _is_number(value) -> bool:
    return isinstance(value, (int, float, np.number, np.bool_)) and bool(np.isfinite(value))


def _whole(value):
    """A number without the decimal point that empty cells of its column bring about."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _plain(value):
    """A cell of the table as plain data: None for an empty one, whole numbers as such."""
    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return None
    return value.item() if isinstance(value, np.generic) else value
