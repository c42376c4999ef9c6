"""The table of a run as claims use it: groups of rows with one setting, and paired replicates."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from greedyexp.claims.setting import Setting
from greedyexp.results.records import as_list, matches

if TYPE_CHECKING:
    import pandas as pd

# Pairs of a column and a value; the value is encoded as in ``Table``.
Group: TypeAlias = tuple[tuple[str, int], ...]

# The kind of a row without keys, which belongs to the whole replicate.
_NO_KEY = -1


class MissingData(Exception):
    """The table lacks rows or numbers that a test needs. The message is the reason."""


@dataclass(frozen=True)
class Kinds:
    """The kind of each row: which of its keys are empty, and the values of its text keys.

    A protocol writes rows of several kinds, such as accuracies and iterations. The measurement of
    an empty cell is missing if other rows of the same kind have it. Otherwise, rows of this kind
    never have the measurement.

    Parameters
    ----------
    codes : array of int, shape (n,)
        ``_NO_KEY`` for a row without any key.
    having : dict of str to frozenset of int
        Maps each measurement to the kinds of rows that have a value of it anywhere in the table.
    """

    codes: np.ndarray
    having: Mapping[str, frozenset[int]]

    @property
    def without_key(self) -> np.ndarray:
        """Mask of the rows, shape (n,), that belong to a whole replicate."""
        without: np.ndarray = self.codes == _NO_KEY
        return without

    def have(self, metric: str) -> np.ndarray:
        """Return a mask of the rows, shape (n,), whose kind has the measurement."""
        return np.isin(self.codes, list(self.having.get(metric, ())))

    def part(self, rows: np.ndarray, blank: int) -> Kinds:
        """Return the kinds of some rows, followed by those of ``blank`` rows without a key."""
        return replace(self, codes=np.append(self.codes[rows], np.full(blank, _NO_KEY)))


def _kinds_of(frame: pd.DataFrame, keys: Iterable[str], measured: Iterable[str]) -> Kinds:
    """Return the kinds of the rows of a whole table; without keys there is one kind."""
    import pandas as pd

    keys = [name for name in keys if name in frame.columns]
    codes = np.zeros(len(frame), dtype=int)
    if keys:
        marks = [_kind_mark(frame[name]) for name in keys]
        codes = pd.MultiIndex.from_arrays(marks).factorize()[0]
        codes[frame[keys].isna().all(axis=1).to_numpy()] = _NO_KEY
    named = [name for name in measured if name in frame.columns]
    having = {name: frozenset(codes[frame[name].notna().to_numpy()].tolist()) for name in named}
    return Kinds(codes, {name: kinds - {_NO_KEY} for name, kinds in having.items()})


def _kind_mark(column: pd.Series) -> np.ndarray:
    """Return the cells of a text column; for numbers only whether a cell is empty."""
    import pandas as pd

    empty = column.isna()
    if pd.api.types.is_numeric_dtype(column):
        return np.asarray(empty)
    return np.asarray(column.astype(str).where(~empty, ""), dtype=str)


def arms_of(frame: pd.DataFrame, setting: Setting) -> np.ndarray:
    """Return an integer for each row that identifies its algorithm and point, shape (n,)."""
    names = [name for name in setting.swept if name in frame.columns]
    groups = frame.groupby([*names, "algorithm"], sort=False, dropna=False)
    arms: np.ndarray = groups.ngroup().to_numpy()
    return arms


class Table:
    """Rows of a run, indexed by the swept columns and the keys of the protocol.

    A replicate that failed has one row without keys, which counts at every value of the keys.

    Parameters
    ----------
    frame : DataFrame
        The tidy table.
    setting : Setting
        The sweeps of the run.
    kinds : Kinds, optional
        Kinds of the rows, if the table is part of a larger one.
    arms : array of int, shape (n,), optional
        The arm of each row, which is one algorithm at one point of the sweep; by default the arms
        are numbered in any order.

    Attributes
    ----------
    arms : array of int, shape (n,)
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        setting: Setting,
        kinds: Kinds | None = None,
        arms: np.ndarray | None = None,
    ):
        import pandas as pd

        self.frame = frame
        self.setting = setting
        self.kinds = kinds or _kinds_of(frame, setting.keys, setting.measured)
        self._codes: dict[str, np.ndarray] = {}
        self._values: dict[str, list[Any]] = {}
        for name in dict.fromkeys([*setting.shared, *setting.swept_by(setting.algorithms)]):
            if name in frame.columns:
                codes, values = pd.factorize(frame[name], use_na_sentinel=False, sort=True)
                self._codes[name], self._values[name] = codes, [_as_python(v) for v in values]
        self._entries = _entries_of_rows(frame["algorithm"], setting)
        self._rows_of: dict[str, np.ndarray] = {}
        self._series: dict[tuple[str, ...], np.ndarray] = {}
        self.pairs = self.series(())
        self.arms = arms_of(frame, setting) if arms is None else arms

    def series(self, along: Iterable[str]) -> np.ndarray:
        """Return an integer for each row that identifies its series, shape (n,).

        A series is one replicate at all values of the columns ``along``. Without such columns, a
        series is one data set and has the same number for all algorithms.
        """
        import pandas as pd

        names = tuple(n for n in self.setting.swept if n in self._codes and n not in along)
        if names not in self._series:
            columns = [self._codes[name] for name in names]
            keys = pd.DataFrame(dict(enumerate([*columns, self.frame["replicate"].to_numpy()])))
            groups = keys.groupby(list(keys.columns), sort=False)
            self._series[names] = groups.ngroup().to_numpy()
        return self._series[names]

    def all_rows(self, algorithm: str) -> np.ndarray:
        """Return the indices of all rows of an algorithm."""
        if algorithm not in self._rows_of:
            self._rows_of[algorithm] = np.flatnonzero(self._entries == algorithm)
        return self._rows_of[algorithm]

    def narrowed(self, where: Mapping[str, Any]) -> Table:
        """Return the table of the rows with given values.

        A replicate without a row at the chosen keys keeps one row with empty cells: not reaching
        these keys is a result too.

        Parameters
        ----------
        where : mapping of column to value or list of values
            A parameter swept only by some algorithms does not restrict the others.
        """
        if not where:
            return self
        keep = np.ones(len(self.frame), dtype=bool)
        at_keys = np.ones(len(self.frame), dtype=bool)
        own = self.setting.swept_by(self.setting.algorithms)
        for name, wanted in where.items():
            wanted = as_list(wanted)
            if name == "algorithm":
                keep &= np.isin(self._entries, [str(value) for value in wanted])
                continue
            if name not in self.frame.columns:
                keep[:] = False
                break
            found = matches(self.frame[name], wanted).to_numpy()
            if name in self.setting.keys:
                at_keys &= found
                continue
            if name in own:
                labels = self.setting.algorithms
                others = [a for a in labels if name not in self.setting.swept_by([a])]
                found = found | np.isin(self._entries, others)
            keep &= found
        return self._part(keep, at_keys)

    def lacking(self, where: Mapping[str, Any]) -> list[tuple[str, Any]]:
        """Return the values of lists in ``where`` that no row has, if rows have others of the list.

        This table is narrowed to ``where``.
        """
        found = []
        for name, wanted in where.items():
            if name != "algorithm" and isinstance(wanted, list) and name in self.frame.columns:
                absent = [one for one in wanted if not matches(self.frame[name], [one]).any()]
                if len(absent) < len(wanted):
                    found += [(name, one) for one in absent]
        return found

    def _part(self, keep: np.ndarray, at_keys: np.ndarray) -> Table:
        """Return the rows to keep. Rows with keys are kept only at the chosen keys."""
        import pandas as pd

        keyless = self.kinds.without_key
        nowhere = (keep & ~keyless).any() and not (keep & at_keys).any()
        rows = np.flatnonzero(keep & (at_keys | keyless) & (not nowhere))
        absent = np.zeros(0, dtype=int)
        if not (at_keys.all() or nowhere):
            runs = pd.MultiIndex.from_arrays([self.pairs, self.frame["algorithm"]])
            others = np.flatnonzero(keep & ~runs.isin(runs[rows]))
            absent = others[~runs[others].duplicated()]
        frame = self.frame.iloc[rows]
        if len(absent):
            measured = [*self.setting.keys, *self.setting.measured]
            blank = self.frame.iloc[absent].drop(columns=measured, errors="ignore")
            frame = pd.concat([frame, blank])
        kinds = self.kinds.part(rows, len(absent))
        arms = self.arms[np.append(rows, absent)]
        return Table(frame.reset_index(drop=True), self.setting, kinds, arms)

    def groups(self, algorithms: list[str], used: Iterable[str]) -> list[Group]:
        """Return every combination of swept values and keys, without the columns in ``used``.

        Swept data columns and keys have the combinations of values that occur for any algorithm.
        Parameters swept by these algorithms have the combinations that occur for all algorithms
        that sweep them. If every replicate failed, there are no keys.
        """
        shared = [name for name in self.setting.shared if name in self._codes and name not in used]
        cells = self._distinct(shared, np.arange(len(self.frame)))
        data = [name for name in shared if name not in self.setting.keys]
        keyless = self.kinds.without_key
        if keyless.any():
            met = {tuple(pair for pair in cell if pair[0] in data) for cell in cells}
            failed = self._distinct(data, np.flatnonzero(keyless))
            cells += [cell for cell in failed if cell not in met]
        for algorithm in algorithms:
            own = [n for n in self.setting.swept_by([algorithm]) if n in self._codes]
            cells = self._with_own(cells, [n for n in own if n not in used], algorithm)
        return cells

    def cells(self, group: Group, columns: Iterable[str], algorithms: list[str]) -> list[Group]:
        """Split a group by columns; data columns take the values that occur for any algorithm."""
        columns = [name for name in columns if name in self._codes]
        data = [name for name in columns if name in self.setting.shared]
        within = tuple((name, code) for name, code in group if name in self.setting.shared)
        everything = np.arange(len(self.frame))
        cells = self._distinct(data, everything[self._inside(within, everything)])
        for algorithm in algorithms:
            swept = self.setting.swept_by([algorithm])
            own = [name for name in columns if name not in data and name in swept]
            cells = self._with_own(cells, own, algorithm)
        return [tuple({**dict(group), **dict(cell)}.items()) for cell in cells]

    def _with_own(self, cells: list[Group], own: list[str], algorithm: str) -> list[Group]:
        """Combine cells with the values of columns that an algorithm sweeps itself."""
        return _joined(cells, self._distinct(own, self.all_rows(algorithm))) if own else cells

    def has_metrics(self, group: Group, metrics: Iterable[str]) -> bool:
        """Return True if the group has rows whose kind has all these measurements.

        A group without keys consists of replicates that have no rows with keys.
        """
        keyless = self.kinds.without_key
        keys = tuple(pair for pair in group if pair[0] in self.setting.keys)
        if not keys and (not self.setting.keys or keyless.all()):
            return True
        everything = np.arange(len(self.frame))
        rows = everything[self._inside(keys, everything) & ~keyless]
        named = [name for name in metrics if name in self.frame.columns]
        found = [self.kinds.have(name)[rows] for name in named]
        return bool(np.logical_and.reduce(found).any()) if found else True

    def _distinct(self, names: list[str], rows: np.ndarray) -> list[Group]:
        if any(name in self.setting.keys for name in names):
            rows = rows[~self.kinds.without_key[rows]]
        if not names:
            return [()] if len(rows) else []
        codes = np.unique(np.column_stack([self._codes[n][rows] for n in names]), axis=0)
        return [tuple(zip(names, map(int, row), strict=True)) for row in codes]

    def _inside(self, cell: Group, rows: np.ndarray) -> np.ndarray:
        keep = np.ones(len(rows), dtype=bool)
        for name, code in cell:
            here = self._codes[name][rows] == code
            keep &= here | self.kinds.without_key[rows] if name in self.setting.keys else here
        return keep

    def rows(self, algorithm: str, cell: Group) -> np.ndarray:
        """Return the indices of an algorithm's rows in a cell.

        Columns swept only by other algorithms do not restrict the rows.

        Raises
        ------
        MissingData
            If the cell contains no rows of the algorithm.
        """
        # The condition of a claim may name an algorithm that the run does not have.
        if algorithm not in self.setting.algorithms:
            raise MissingData(f"the table has no rows of {algorithm}")
        foreign = set(self.setting.swept_by(self.setting.algorithms))
        foreign -= {*self.setting.swept_by([algorithm]), *self.setting.shared}
        own = tuple((name, code) for name, code in cell if name not in foreign)
        everything = self.all_rows(algorithm)
        rows: np.ndarray = everything[self._inside(own, everything)]
        if not len(rows):
            raise MissingData(f"the table has no rows of {algorithm}{self.place_text(own)}")
        return rows

    def cell(self, algorithm: str, row: int) -> Group:
        """Return the values that a row of an algorithm has in all swept columns and keys."""
        names = dict.fromkeys([*self.setting.shared, *self.setting.swept_by([algorithm])])
        return tuple((name, int(self._codes[name][row])) for name in names if name in self._codes)

    def single_value(self, cell: Group, name: str, algorithms: list[str]) -> float:
        """Return the value of a numeric column that is constant in a cell.

        Raises
        ------
        MissingData
            If the column has no value, several values, or a value that is not a number.
        """
        import pandas as pd

        rows = np.unique(np.concatenate([self.rows(label, cell) for label in algorithms]))
        if name not in self.frame.columns:
            raise MissingData(f"the table has no column '{name}'")
        if name in self.setting.keys:
            rows = rows[~self.kinds.without_key[rows]]
        values = pd.unique(self.frame[name].iloc[rows])
        if len(values) != 1 or not _is_number(values[0]):
            problem = "takes several values" if len(values) > 1 else "is not a number"
            raise MissingData(f"{name} {problem}{self.place_text(cell) if cell else ''}")
        return float(values[0])

    def shown(self, cell: Group) -> dict[str, Any]:
        """Return the values of a cell by column, without keys that do not apply."""
        shown = {}
        for name, code in cell:
            value = self._values[name][code]
            if name not in self.setting.keys:
                shown[name] = value
            elif value is not None:
                # Empty cells turn the integers of their column into floats.
                whole = isinstance(value, float) and value.is_integer()
                shown[name] = int(value) if whole else value
        return shown

    def place_text(self, cell: Group) -> str:
        """Return `` at p = 128, kappa = 0.3``, or an empty text for an empty cell."""
        words = ", ".join(f"{name} = {value}" for name, value in self.shown(cell).items())
        return f" at {words}" if words else ""


def _entries_of_rows(labels: pd.Series, setting: Setting) -> np.ndarray:
    """Return the label of each row's entry, or its own label if it has no entry."""
    known = {label: setting.entries.get(label, label) for label in labels.unique()}
    return labels.map(known).to_numpy(dtype=str)


def _joined(one: list[Group], two: list[Group]) -> list[Group]:
    """Merge all pairs of cells that agree in their common columns."""
    merged: dict[Group, None] = {}
    for left, right in itertools.product(one, two):
        first, second = dict(left), dict(right)
        if all(second.get(name, code) == code for name, code in first.items()):
            merged[tuple({**first, **second}.items())] = None
    return list(merged)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.number, np.bool_)) and bool(np.isfinite(value))


def _as_python(value: Any) -> Any:
    """Return a cell as a Python object; None for an empty one."""
    import pandas as pd

    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return None
    return value.item() if isinstance(value, np.generic) else value
