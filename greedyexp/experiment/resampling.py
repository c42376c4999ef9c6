"""Replicates that are drawn from the rows of one finite data set.

Random splits of one table share most of their rows, so their results are not those of independent
data sets: with enough splits, Student's interval for a mean shrinks to the mean over all splits of
this table, which differs from the mean over new data.

Let h be the share of the rows that a replicate leaves out of its training rows, rho the correlation
of the results of two replicates, and S^2 the sample variance of J results. The mean of the results
then has the variance (1 / J + rho / (1 - rho)) S^2, in expectation over data sets. A number that
is measured on the rows left out has rho near h, so that ``rho / (1 - rho) = h / (1 - h)``, the
number of test rows over that of training rows [1]_. A number of the training rows is a kernel of a
U-statistic, for which rho is at most 1 - h, the share of these rows [2]_.

With more test rows than training rows, the former is much too large for most numbers, and too small
for the mean of a rare loss that no split shows to vary. Shares of rows then have an interval that
uses how much the loss of a row can vary (``stats.row_shares``).

References
----------
.. [1] Nadeau and Bengio (2003), Inference for the generalization error, Machine Learning 52.
.. [2] Hoeffding (1948), A class of statistics with asymptotically normal distribution, Annals of
   Mathematical Statistics 19, theorem 5.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from greedyexp.core.parts import Generator
from greedyexp.stats.row_shares import Split

if TYPE_CHECKING:
    import pandas as pd

SPLITS_ONLY = "the replicates resample one data set, so it would be about the splits of that alone"


@dataclass(frozen=True)
class Source:
    """A block of data whose generator may draw replicates from the rows of one data set.

    Parameters
    ----------
    generator : Generator
        It has ``left_out``.
    params : mapping
        The parameters that are not swept.
    swept : tuple of str
        Parameters whose values are in the table.
    where : mapping of column to value
        What the rows of the block have in common.
    """

    generator: Generator
    params: Mapping[str, Any]
    swept: tuple[str, ...]
    where: Mapping[str, str]

    @property
    def has_chains(self) -> bool:
        """True if the rows are words of chains."""
        provides = self.generator.provides
        return not callable(provides) and "chains" in provides

    def shares(self, rows: pd.DataFrame) -> Iterator[float | None]:
        """Yield the share of rows left out at each point of the block in a table."""
        for column, value in self.where.items():
            rows = rows[rows[column] == value]
        if rows.empty:
            return
        names = [name for name in self.swept if name in rows.columns]
        points = rows[names].drop_duplicates().to_dict("records") if names else [{}]
        for point in points:
            yield self.generator.left_out_at({**self.params, **point})


@dataclass(frozen=True)
class Resampling:
    """Which rows of a table come from replicates of one finite data set.

    Parameters
    ----------
    sources : tuple of Source
        Empty if all replicates are independent data sets.
    held_out : mapping of str to bool
        Whether the number in a column is measured on the rows left out, as far as it is known.
    shares_of_rows : frozenset of str
        Columns that are means over the rows left out of a loss in [0, 1].
    """

    sources: tuple[Source, ...] = ()
    held_out: Mapping[str, bool] = field(default_factory=dict)
    shares_of_rows: frozenset[str] = frozenset()

    def shares(self, rows: pd.DataFrame) -> list[float]:
        """Return the shares of rows left out; empty if the replicates are independent."""
        found = (share for source in self.sources for share in source.shares(rows))
        return [share for share in found if share is not None]

    def covers(self, rows: pd.DataFrame) -> bool:
        """Return True if some of the rows come from replicates of one data set."""
        return bool(self.shares(rows))

    def added(self, rows: pd.DataFrame, column: str) -> float:
        """Return what is added to 1 / n in the variance of a column's mean over replicates.

        It is the largest for any of the rows: 0 for independent replicates, and infinite for
        replicates that all have the same rows. A share of rows, such as a classification error, may
        be correlated through the training rows as much as a number of the training rows: a decision
        rule that changes abruptly is the same in most splits.
        """
        possible = [self.held_out[column]] if column in self.held_out else [True, False]
        if column in self.shares_of_rows:
            possible = [True, False]
        shares = self.shares(rows)
        return max((_added(share, held) for share in shares for held in possible), default=0.0)

    def split(self, rows: pd.DataFrame, column: str) -> Split | None:
        """Return the split behind a share of rows, if ``stats.row_shares`` applies to it.

        It needs one point with more test rows than training rows. Words of a chain are not
        independent rows. An error that is the least of a path is not a mean over test rows.
        """
        if column not in self.shares_of_rows or "n_samples" not in rows.columns:
            return None
        left_out, sizes = set(self.shares(rows)), set(rows["n_samples"].dropna())
        chains = any(source.has_chains for source in self.sources)
        oracle = "tuning" in rows.columns and (rows["tuning"] == "oracle").any()
        if len(left_out) != 1 or len(sizes) != 1 or chains or oracle:
            return None
        (share,), (n_train,) = left_out, sizes
        n_test = n_train * share / (1 - share)
        # One row more, since the share may be rounded.
        return Split(n_train, n_test) if n_test >= n_train + 1 else None


INDEPENDENT = Resampling()


def _added(left_out: float, held_out: bool) -> float:
    """Return rho / (1 - rho)."""
    if left_out <= 0.0:
        return math.inf
    ratio = left_out / (1.0 - left_out)
    return ratio if held_out else 1.0 / ratio
