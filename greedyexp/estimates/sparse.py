"""Estimates that hold their selected coefficients only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy

from greedyexp.problems.checks import require_memory


class Comparison(NamedTuple):
    """What m estimates share with the true coefficients.

    Parameters
    ----------
    found : int array (m,)
        Number of selected coefficients that are truly nonzero.
    right_signs : int array (m,)
        Number of those whose sign is the true one.
    distance : array (m,)
        Euclidean distance of all coefficients to the true ones.
    """

    found: np.ndarray
    right_signs: np.ndarray
    distance: np.ndarray


@dataclass(frozen=True)
class SparseEstimates:
    """m estimates with p features and r tasks, in compressed rows.

    Estimate k has the entries ``ends[k]:ends[k + 1]``. An entry is selected, also if its value is
    zero by chance.

    Parameters
    ----------
    ends : int array (m + 1,)
    entries : int array (q,)
        feature * r + task of each selected coefficient, increasing within an estimate.
    values : array (q,)
        The coefficients.
    shape : (p, r)
    """

    ends: np.ndarray
    entries: np.ndarray
    values: np.ndarray
    shape: tuple[int, int]

    @classmethod
    def of(cls, coef: np.ndarray, selected: np.ndarray | None = None) -> SparseEstimates:
        """Return the estimates of an array.

        Parameters
        ----------
        coef : array (m, p, r)
        selected : bool array (m, p, r), optional
            The selected coefficients; by default those that are not zero.
        """
        m, p, r = coef.shape
        at = np.flatnonzero(coef if selected is None else selected)
        ends = np.searchsorted(at, np.arange(m + 1) * (p * r))
        return cls(ends, at % (p * r) if p * r else at, coef.reshape(-1)[at], (p, r))

    @classmethod
    def of_tasks(cls, tasks: Sequence[SparseEstimates]) -> SparseEstimates:
        """Return m estimates of several tasks from the m estimates (p, 1) of each."""
        r = len(tasks)
        owners = np.concatenate([task.owners for task in tasks])
        entries = np.concatenate([task.entries * r + j for j, task in enumerate(tasks)])
        values = np.concatenate([task.values for task in tasks])
        order = np.lexsort((entries, owners))
        ends = np.searchsorted(owners[order], np.arange(len(tasks[0]) + 1))
        return cls(ends, entries[order], values[order], (tasks[0].shape[0], r))

    @classmethod
    def join(cls, parts: Sequence[SparseEstimates]) -> SparseEstimates:
        """Return the estimates of several objects with the same features and tasks."""
        starts = np.cumsum([0, *(part.ends[-1] for part in parts)])
        ends = [part.ends[1:] + start for part, start in zip(parts, starts, strict=False)]
        entries = np.concatenate([part.entries for part in parts])
        values = np.concatenate([part.values for part in parts])
        return cls(np.concatenate([[0], *ends]), entries, values, parts[0].shape)

    def __post_init__(self) -> None:
        # Several metrics read the same estimates.
        for array in (self.ends, self.entries, self.values):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.ends) - 1

    def in_order(self) -> bool:
        """Return whether the arrays have the form that this class describes."""
        sizes, entries = self.sizes, self.entries
        fit = len(self.ends) and self.ends[0] == 0 and self.ends[-1] == len(entries)
        if not (fit and len(self.values) == len(entries) and (sizes >= 0).all()):
            return False
        inside = len(entries) == 0 or (entries.min() >= 0 and entries.max() < np.prod(self.shape))
        same = np.diff(self.owners) == 0
        return bool(inside and (np.diff(entries)[same] > 0).all())

    @property
    def sizes(self) -> np.ndarray:
        """Numbers of selected coefficients, shape (m,)."""
        return np.diff(self.ends)

    @cached_property
    def owners(self) -> np.ndarray:
        """The estimate of each entry, shape (q,)."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the features with a selected coefficient: their estimates and their numbers.

        Returns
        -------
        owners, features : int arrays
            One entry for each such feature of each estimate, in order.
        """
        owners, features = self.owners, self.entries // self.shape[1]
        if self.shape[1] > 1 and len(owners):
            new = np.append(True, (np.diff(owners) != 0) | (np.diff(features) != 0))
            owners, features = owners[new], features[new]
        return owners, features

    @property
    def row_sizes(self) -> np.ndarray:
        """Numbers of features with a selected coefficient, shape (m,)."""
        return np.bincount(self.rows()[0], minlength=len(self))

    def support(self, k: int) -> np.ndarray:
        """Return the entries of estimate k, increasing."""
        return self.entries[self.ends[k] : self.ends[k + 1]]

    def equal(self, k: int, other: int) -> bool:
        """Return whether two estimates have the same coefficients."""
        return bool(
            np.array_equal(self.support(k), self.support(other))
            and np.array_equal(self.coefficients(k), self.coefficients(other))
        )

    def coefficients(self, k: int) -> np.ndarray:
        """Return the values of the entries of estimate k."""
        return self.values[self.ends[k] : self.ends[k + 1]]

    def supports(self) -> np.ndarray:
        """Return which coefficients are selected, a bool array (m, p, r)."""
        return self._spread(np.ones(len(self.entries), dtype=bool))

    def dense(self) -> np.ndarray:
        """Return the estimates as an array (m, p, r).

        Raises
        ------
        DataError
            If there is not enough memory.
        """
        return self._spread(self.values)

    def take(self, index: Sequence[int] | np.ndarray) -> SparseEstimates:
        """Return the estimates at these indices, in this order."""
        if len(index) == 1:
            k = int(index[0]) % len(self)
            part = slice(self.ends[k], self.ends[k + 1])
            ends = np.array([0, part.stop - part.start])
            return SparseEstimates(ends, self.entries[part], self.values[part], self.shape)
        sizes = self.sizes[index]
        ends = np.append(0, np.cumsum(sizes))
        at = np.arange(ends[-1]) + np.repeat(self.ends[:-1][index] - ends[:-1], sizes)
        return SparseEstimates(ends, self.entries[at], self.values[at], self.shape)

    def matrix(self, k: int) -> scipy.sparse.csr_array:
        """Return estimate k as a sparse array (p, r)."""
        features, tasks = np.divmod(self.support(k), self.shape[1])
        ends = np.searchsorted(features, np.arange(self.shape[0] + 1))
        return scipy.sparse.csr_array((self.coefficients(k), tasks, ends), shape=self.shape)

    def at(self, numbers: np.ndarray) -> np.ndarray:
        """Return numbers (p, r) of the coefficients at the entries, shape (q,)."""
        return numbers.reshape(-1)[self.entries]

    def with_values(self, values: np.ndarray) -> SparseEstimates:
        """Return estimates with the same supports and other values (q,)."""
        return replace(self, values=values)

    def task_sums(self, terms: np.ndarray) -> np.ndarray:
        """Return the sums of terms (q,) of the entries by estimate and task, shape (m, r)."""
        r = self.shape[1]
        sums = np.bincount(self.owners * r + self.entries % r, terms, minlength=len(self) * r)
        # Without any entry, the sums of this function are whole numbers.
        return sums.astype(float).reshape(-1, r)

    def predictions(self, X, task: int) -> np.ndarray:
        """Return X b for the coefficients b of a task, shape (m, n).

        Parameters
        ----------
        X : array or sparse array (n, p)
        """
        features, tasks = np.divmod(self.entries, self.shape[1])
        chosen = tasks == task
        used, place = np.unique(features[chosen], return_inverse=True)
        coef = np.zeros((len(self), len(used)))
        coef[self.owners[chosen], place] = self.values[chosen]
        if 2 * len(used) < X.shape[1]:
            return coef @ X[:, used].T
        whole = np.zeros((len(self), X.shape[1]))
        whole[:, used] = coef
        return whole @ X.T

    def compared(self, truth: np.ndarray) -> Comparison:
        """Compare the estimates with true coefficients (p, r)."""
        known = self.__dict__.get("_compared")
        if known is None or known[0] is not truth:
            known = (truth, self._comparison(truth))
            # Several metrics of one path ask for the same comparison.
            self.__dict__["_compared"] = known
        return known[1]

    def _comparison(self, truth: np.ndarray) -> Comparison:
        true = np.flatnonzero(truth)
        owners, here = self.owners, self.at(truth)
        hit = here != 0
        missed = np.ones((len(self), len(true)), dtype=bool)
        missed[owners[hit], np.searchsorted(true, self.entries[hit])] = False
        signs = np.sign(self.values[hit]) == np.sign(here[hit])
        # Both sums have positive terms, so the distance of an exact estimate is exactly zero.
        squares = self.task_sums((self.values - here) ** 2).sum(axis=1)
        squares += missed @ truth.reshape(-1)[true] ** 2
        return Comparison(
            np.bincount(owners[hit], minlength=len(self)),
            np.bincount(owners[hit][signs], minlength=len(self)),
            np.sqrt(squares),
        )

    def _spread(self, values: np.ndarray) -> np.ndarray:
        """Return an array (m, p, r) with these values at the entries, and zero elsewhere."""
        p, r = self.shape
        require_memory(
            float(values.itemsize) * len(self) * p * r,
            f"a path of {len(self)} estimates with {p * r} coefficients",
            "Give fewer values of the tuning parameters.",
        )
        out = np.zeros((len(self), p * r), dtype=values.dtype)
        out[self.owners, self.entries] = values
        return out.reshape(-1, p, r)
