"""The names that the claims of an experiment may use: algorithms, metrics, columns, sweeps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from greedyexp.core.registry import RESERVED_COLUMNS
from greedyexp.experiment.design import Design, success_metric
from greedyexp.experiment.resampling import INDEPENDENT, Resampling
from greedyexp.experiment.sweep import Axes
from greedyexp.protocols.base import Measured

# Kinds of columns with a mean.
_NUMBERS = ("number", "success", "seconds")


@dataclass(frozen=True)
class AlgorithmSweep:
    """The sweep and the default metric of an algorithm.

    Parameters
    ----------
    axes : tuple of tuple of str
        Swept parameters of the algorithm. Parameters zipped together share a tuple.
    success : str or None
        The default metric of ``threshold`` and ``proportion``.
    """

    axes: Axes = ()
    success: str | None = None


@dataclass(frozen=True)
class Setting:
    """The names of an experiment, with their roles.

    Parameters
    ----------
    axes : tuple of tuple of str
        Swept data columns. Columns zipped together share a tuple. For data in several blocks, the
        columns swept by any block, and ``data``, the label of the block.
    algorithms : dict of str to AlgorithmSweep
        Maps the label of each entry to its algorithm.
    binary : tuple of str
        Metrics and other columns of the protocol with values 0 and 1.
    measured : tuple of str
        All numeric columns that the protocol measures.
    columns : tuple of str
        Columns that describe the data or the algorithm.
    keys : tuple of str
        Columns of the protocol that distinguish the rows of one replicate; empty if each replicate
        has one row.
    open_ended : tuple of str
        Measurements with an empty cell if the run ended before it reached the value.
    sequential : bool
        True if the number of replicates at a point depended on earlier results, other than
        by looks at the claims. Intervals must then be valid at any stopping time.
    entry_of : callable
        Returns the label of the entry of an algorithm in the table, which is given by its label.
    resampling : Resampling
        Which replicates are drawn from the rows of one data set.
    """

    axes: Axes
    algorithms: dict[str, AlgorithmSweep]
    binary: tuple[str, ...]
    measured: tuple[str, ...]
    columns: tuple[str, ...]
    keys: tuple[str, ...] = ()
    open_ended: tuple[str, ...] = ()
    sequential: bool = False
    entry_of: Callable[[str], str] = str
    resampling: Resampling = INDEPENDENT

    def zipped_with(self, column: str, algorithms: Iterable[str] = ()) -> tuple[str, ...]:
        """Return the column and all columns zipped with it; () if it is neither swept nor a key."""
        keys = [(key,) for key in self.keys]
        swept = [*self.axes, *keys, *(axis for a in algorithms for axis in self.algorithms[a].axes)]
        return tuple(dict.fromkeys(name for axis in swept if column in axis for name in axis))

    @property
    def swept(self) -> tuple[str, ...]:
        """The swept data columns."""
        return tuple(dict.fromkeys(name for axis in self.axes for name in axis))

    @property
    def shared(self) -> tuple[str, ...]:
        """The swept data columns and the keys, which distinguish the rows of one algorithm."""
        return (*self.swept, *self.keys)

    @property
    def known(self) -> tuple[str, ...]:
        """Columns whose values are known before the run."""
        return (*self.columns, *self.keys)

    def swept_by(self, algorithms: Iterable[str]) -> tuple[str, ...]:
        """Return the parameters that any of these algorithms sweeps."""
        names = (n for a in algorithms for axis in self.algorithms[a].axes for n in axis)
        return tuple(dict.fromkeys(names))


def setting_of(design: Design, protocol: Iterable[Measured], columns: Iterable[str]) -> Setting:
    """Return the names that claims about a run may use.

    Parameters
    ----------
    design : Design
        The settings of the run.
    protocol : iterable of Measured
        Columns of the protocol.
    columns : iterable of str
        All columns of the table.
    """
    given = list(protocol)
    measured = tuple(column.name for column in given if column.kind in _NUMBERS)
    binary = tuple(column.name for column in given if column.kind == "success")
    success = ({"default": binary[0]} if binary else {}) | dict(design.success)
    # Columns of the protocol describe neither the data nor an algorithm.
    others = {*RESERVED_COLUMNS, *(column.name for column in given)}
    return Setting(
        axes=design.data_axes,
        algorithms={
            entry.label: AlgorithmSweep(
                entry.axes, success_metric(success, entry.label, entry.name)
            )
            for entry in design.entries
        },
        binary=binary,
        measured=measured,
        columns=tuple(sorted(set(columns) - others)),
        keys=tuple(column.name for column in given if column.kind == "key"),
        open_ended=tuple(column.name for column in given if column.open_ended),
        # Looks at claims spend their error probability themselves.
        sequential=design.adaptive and design.looks is None,
        entry_of=lambda label: design.variant(label).entry,
        resampling=design.resampling,
    )
