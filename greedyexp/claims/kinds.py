"""Which measurements belong to which rows, where one replicate has rows of several kinds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

# The kind of a row without any key: of a replicate that has nothing to tell there.
NONE = -1


@dataclass(frozen=True)
class Kinds:
    """The kind of each row: which of its keys are empty, and what its keys say that are words.

    A protocol writes rows for accuracies, for iterations and so on. An empty cell of a row is a
    measurement that is missing when other rows of its kind have one, and else no measurement of
    that kind.

    Parameters
    ----------
    codes : array of int, shape (n,)
        ``NONE`` for a row without any key.
    told : dict of str to frozenset of int
        For each measurement the kinds that have it in any row of the whole table.
    """

    codes: np.ndarray
    told: Mapping[str, frozenset[int]]

    @property
    def lost(self) -> np.ndarray:
        """Rows, shape (n,), that belong to a replicate as a whole."""
        return self.codes == NONE

    def tells(self, metric: str) -> np.ndarray:
        """Whether each row, shape (n,), is of a kind that has the measurement."""
        return np.isin(self.codes, list(self.told.get(metric, ())))

    def taken(self, rows: np.ndarray, blank: int = 0) -> Kinds:
        """Of some rows, and of others that have no key, at the end."""
        return replace(self, codes=np.append(self.codes[rows], np.full(blank, NONE)))


def kinds_of(frame: pd.DataFrame, keys: Iterable[str], measured: Iterable[str]) -> Kinds:
    """The kinds of the rows of a whole table; without keys all are of one kind."""
    keys = [name for name in keys if name in frame.columns]
    if not keys:
        codes = np.zeros(len(frame), dtype=int)
    else:
        marks = [_mark(frame[name]) for name in keys]
        codes = pd.MultiIndex.from_arrays(marks).factorize()[0]
        codes[frame[keys].isna().all(axis=1).to_numpy()] = NONE
    named = [name for name in measured if name in frame.columns]
    told = {name: frozenset(codes[frame[name].notna().to_numpy()].tolist()) for name in named}
    return Kinds(codes, {name: kinds - {NONE} for name, kinds in told.items()})


def _mark(column: pd.Series) -> np.ndarray:
    """Words as they are, of numbers only whether there is one."""
    empty = column.isna()
    if pd.api.types.is_numeric_dtype(column):
        return empty.to_numpy()
    return column.astype(str).where(~empty, "").to_numpy(dtype=str)
