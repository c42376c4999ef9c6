"""The table of a run as claims use it: groups of rows with one setting, and paired replicates."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from greedyexp.claims.setting import Setting
from greedyexp.results.records import FAILED, NOT_CERTIFIED, as_list, matches

# Pairs of a column and a value; the value is encoded as in ``Table``.
Cell: TypeAlias = tuple[tuple[str, int], ...]

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

    @cached_property
    def without_key(self) -> np.ndarray:
        """Mask of the rows, shape (n,), that belong to a whole replicate."""
        without: np.ndarray = self.codes == _NO_KEY
        return without

    def have(self, metric: str, rows: np.ndarray) -> np.ndarray:
        """Return a mask of some rows: those whose kind has the measurement."""
        return np.isin(self.codes[rows], list(self.having.get(metric, ())))


def _kind_codes(frame: pd.DataFrame, keys: Iterable[str]) -> np.ndarray:
    """Return the code of each row's kind; without keys there is one kind."""
    keys = [name for name in keys if name in frame.columns]
    codes = np.zeros(len(frame), dtype=int)
    if keys:
        codes = pd.MultiIndex.from_arrays([_kind_mark(frame[name]) for name in keys]).factorize()[0]
        codes[frame[keys].isna().all(axis=1).to_numpy()] = _NO_KEY
    return codes


def _kinds_of(frame: pd.DataFrame, codes: np.ndarray, measured: Iterable[str]) -> Kinds:
    """Return the kinds of the rows of a whole table."""
    named = [name for name in measured if name in frame.columns]
    having = {name: np.unique(codes[frame[name].notna().to_numpy()]) for name in named}
    return Kinds(codes, {name: frozenset(k.tolist()) - {_NO_KEY} for name, k in having.items()})


def _kind_mark(column: pd.Series) -> np.ndarray:
    """Return the cells of a text column; for numbers only whether a cell is empty."""
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
    arms : array of int, shape (n,), optional
        The arm of each row, which is one algorithm at one point of the sweep; by default the arms
        are numbered in any order.

    Attributes
    ----------
    kinds : Kinds
        Kinds of the rows. A table that is part of another one has the measurements of the whole.
    arms, pairs, labels : array of int, shape (n,)
        The arm, the data set and the algorithm of each row.
    origin : array of int, shape (n,)
        Number of each row in the whole table.
    failed, unconverged : array of bool, shape (n,)
        Rows of runs that failed, or did not converge.
    """

    def __init__(self, frame: pd.DataFrame, setting: Setting, arms: np.ndarray | None = None):
        self.frame, self.setting = frame, setting
        self.kinds = _kinds_of(frame, _kind_codes(frame, setting.keys), setting.measured)
        self.origin = np.arange(len(frame))
        self.failed = frame["status"].isin(FAILED).to_numpy(dtype=bool)
        self.unconverged = frame["status"].eq(NOT_CERTIFIED).to_numpy(dtype=bool)
        self.labels, names = pd.factorize(frame["algorithm"])
        self._entries = [setting.entry_of(name) for name in names]
        self._codes: dict[str, np.ndarray] = {}
        self._values: dict[str, list[Any]] = {}
        for name in dict.fromkeys([*setting.shared, *setting.swept_by(setting.algorithms)]):
            if name in frame.columns:
                codes, values = pd.factorize(frame[name], use_na_sentinel=False, sort=True)
                self._codes[name], self._values[name] = codes, [_as_python(v) for v in values]
        self._forget()
        self.pairs = self.series(())
        self.arms = arms_of(frame, setting) if arms is None else arms

    def _forget(self) -> None:
        """Start without anything that depends on the choice of rows."""
        self._rows_of: dict[str, np.ndarray] = {}
        self._series: dict[tuple[str, ...], np.ndarray] = {}
        self._columns: dict[str, np.ndarray] = {}
        self._indexes: dict[tuple[str, tuple[str, ...], bool], dict[Any, np.ndarray]] = {}

    def column(self, name: str) -> np.ndarray:
        """Return the values of a column; numbers as floats, with nan in empty cells."""
        if name not in self._columns:
            column = self.frame[name]
            dtype = float if pd.api.types.is_numeric_dtype(column) else None
            self._columns[name] = column.to_numpy(dtype=dtype)
        return self._columns[name]

    def altered(self, columns: Mapping[str, np.ndarray]) -> Table:
        """Return the table with other measured values, which ``column`` returns."""
        table = copy.copy(self)
        table._columns = {**self._columns, **columns}
        return table

    def series(self, along: Iterable[str]) -> np.ndarray:
        """Return an integer for each row that identifies its series, shape (n,).

        A series is one replicate at all values of the columns ``along``. Without such columns, a
        series is one data set and has the same number for all algorithms.
        """
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
            self._rows_of[algorithm] = np.flatnonzero(self._of_entries([algorithm]))
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
                keep &= self._of_entries([str(value) for value in wanted])
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
                found = found | self._of_entries(others)
            keep &= found
        return self._part(keep, at_keys)

    def _of_entries(self, names: list[str]) -> np.ndarray:
        """Return a mask of the rows of some entries."""
        chosen = [number for number, entry in enumerate(self._entries) if entry in names]
        return np.isin(self.labels, chosen)

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
        keyless = self.kinds.without_key
        nowhere = (keep & ~keyless).any() and not (keep & at_keys).any()
        rows = np.flatnonzero(keep & (at_keys | keyless) & (not nowhere))
        absent = np.zeros(0, dtype=int)
        if not (at_keys.all() or nowhere):
            runs = self.pairs * (self.labels.max(initial=0) + 1) + self.labels
            others = np.flatnonzero(keep & ~np.isin(runs, runs[rows]))
            absent = others[np.sort(np.unique(runs[others], return_index=True)[1])]
        return self._taken(rows, absent)

    def of_rows(self, rows: np.ndarray) -> Table:
        """Return the table of some rows, as if there were no others."""
        part = self._taken(rows)
        part.kinds = _kinds_of(part.frame, part.kinds.codes, self.setting.measured)
        return part

    def _taken(self, rows: np.ndarray, blank: np.ndarray | None = None) -> Table:
        """Return some rows, followed by others whose keys and measurements are removed."""
        part = copy.copy(self)
        part._forget()
        part.frame, taken = self.frame.iloc[rows], rows
        codes = self.kinds.codes[rows]
        part._codes = {name: column[rows] for name, column in self._codes.items()}
        if blank is not None and len(blank):
            removed = [*self.setting.keys, *self.setting.measured]
            more = self.frame.iloc[blank].drop(columns=removed, errors="ignore")
            part.frame, taken = pd.concat([part.frame, more]), np.append(rows, blank)
            codes = np.append(codes, np.full(len(blank), _NO_KEY))
            part._values = dict(self._values)
            for name, column in self._codes.items():
                empty = column[blank]
                if name in self.setting.keys:
                    values = self._values[name]
                    part._values[name] = values if None in values else [*values, None]
                    empty = np.full(len(blank), part._values[name].index(None))
                part._codes[name] = np.append(part._codes[name], empty)
        part.frame = part.frame.reset_index(drop=True)
        part.kinds = replace(self.kinds, codes=codes)
        for name in ("arms", "pairs", "labels", "origin", "failed", "unconverged"):
            setattr(part, name, getattr(self, name)[taken])
        return part

    def groups(self, algorithms: list[str], used: Iterable[str]) -> list[Cell]:
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

    def cells(self, group: Cell, columns: Iterable[str], algorithms: list[str]) -> list[Cell]:
        """Split a group by columns; data columns take the values that occur for any algorithm."""
        columns = [name for name in columns if name in self._codes]
        data = [name for name in columns if name in self.setting.shared]
        within = tuple((name, code) for name, code in group if name in self.setting.shared)
        cells = self._distinct(data, self._matching("", within))
        for algorithm in algorithms:
            swept = self.setting.swept_by([algorithm])
            own = [name for name in columns if name not in data and name in swept]
            cells = self._with_own(cells, own, algorithm)
        return [tuple({**dict(group), **dict(cell)}.items()) for cell in cells]

    def _with_own(self, cells: list[Cell], own: list[str], algorithm: str) -> list[Cell]:
        """Combine cells with the values of columns that an algorithm sweeps itself."""
        return _joined(cells, self._distinct(own, self.all_rows(algorithm))) if own else cells

    def has_metrics(self, group: Cell, metrics: Iterable[str]) -> bool:
        """Return True if the group has rows whose kind has all these measurements.

        A group without keys consists of replicates that have no rows with keys.
        """
        keyless = self.kinds.without_key
        keys = tuple(pair for pair in group if pair[0] in self.setting.keys)
        if not keys and (not self.setting.keys or keyless.all()):
            return True
        rows = self._matching("", keys, keyless=False)
        named = [name for name in metrics if name in self.frame.columns]
        having = [self.kinds.have(name, rows) for name in named]
        return bool(np.logical_and.reduce(having).any()) if having else True

    def _distinct(self, names: list[str], rows: np.ndarray) -> list[Cell]:
        """Return the cells that some rows have in some columns, in the order of their values."""
        if any(name in self.setting.keys for name in names):
            rows = rows[~self.kinds.without_key[rows]]
        if not names:
            return [()] if len(rows) else []
        keys = self._combined(names, rows)
        first = np.flatnonzero(~pd.Series(keys).duplicated())
        first = rows[first[np.argsort(keys[first])]]
        codes = zip(*(self._codes[name][first].tolist() for name in names), strict=True)
        return [tuple(zip(names, cell, strict=True)) for cell in codes]

    def _combined(self, names: Iterable[str], rows: np.ndarray) -> np.ndarray:
        """Return one integer for the codes of each row in some columns, in their order."""
        keys, many = np.zeros(len(rows), dtype=int), 1
        for name in names:
            size = len(self._values[name])
            if many * size > 2**62:
                distinct, keys = np.unique(keys, return_inverse=True)
                many = len(distinct)
            keys, many = keys * size + self._codes[name][rows], many * size
        return keys

    def _matching(self, algorithm: str, cell: Cell, *, keyless: bool = True) -> np.ndarray:
        """Return the rows of an algorithm in a cell; of all algorithms if the name is empty.

        Rows without keys are in the cells of all keys, unless ``keyless`` is False.
        """
        found = self._index(algorithm, cell, False)
        if keyless and self.kinds.without_key.any():
            data = tuple(pair for pair in cell if pair[0] not in self.setting.keys)
            found = np.sort(np.append(found, self._index(algorithm, data, True)))
        return found

    def _index(self, algorithm: str, cell: Cell, keyless: bool) -> np.ndarray:
        """Return the rows in a cell with keys, or without; rows are grouped once for all cells."""
        names = tuple(name for name, _ in cell)
        if (algorithm, names, keyless) not in self._indexes:
            rows = self.all_rows(algorithm) if algorithm else np.arange(len(self.frame))
            rows = rows[self.kinds.without_key[rows] == keyless]
            keys = self._combined(names, rows)
            order = np.argsort(keys, kind="stable")
            starts = np.flatnonzero(np.diff(keys[order])) + 1
            groups = np.split(rows[order], starts) if len(rows) else []
            columns = [self._codes[name] for name in names]
            self._indexes[algorithm, names, keyless] = {
                tuple(int(codes[group[0]]) for codes in columns): group for group in groups
            }
        index = self._indexes[algorithm, names, keyless]
        return index.get(tuple(code for _, code in cell), np.zeros(0, dtype=int))

    def rows(self, algorithm: str, cell: Cell) -> np.ndarray:
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
        rows = self._matching(algorithm, own)
        if not len(rows):
            raise MissingData(f"the table has no rows of {algorithm}{self.place_text(own)}")
        return rows

    def cell(self, algorithm: str, row: int) -> Cell:
        """Return the values that a row of an algorithm has in all swept columns and keys."""
        names = dict.fromkeys([*self.setting.shared, *self.setting.swept_by([algorithm])])
        return tuple((name, int(self._codes[name][row])) for name in names if name in self._codes)

    def single_value(self, cell: Cell, name: str, algorithms: list[str]) -> float:
        """Return the value of a numeric column that is constant in a cell.

        Raises
        ------
        MissingData
            If the column has no value, several values, or a value that is not a number.
        """
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

    def shown(self, cell: Cell) -> dict[str, Any]:
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

    def place_text(self, cell: Cell) -> str:
        """Return `` at p = 128, kappa = 0.3``, or an empty text for an empty cell."""
        words = ", ".join(f"{name} = {value}" for name, value in self.shown(cell).items())
        return f" at {words}" if words else ""


def _joined(one: list[Cell], two: list[Cell]) -> list[Cell]:
    """Merge all pairs of cells that agree in their common columns."""
    merged: dict[Cell, None] = {}
    for left, right in itertools.product(one, two):
        first, second = dict(left), dict(right)
        if all(second.get(name, code) == code for name, code in first.items()):
            merged[tuple({**first, **second}.items())] = None
    return list(merged)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.number, np.bool_)) and bool(np.isfinite(value))


def _as_python(value: Any) -> Any:
    """Return a cell as a Python object; None for an empty one."""
    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return None
    return value.item() if isinstance(value, np.generic) else value
