"""What the claims of an experiment can name: its algorithms, metrics, columns and sweeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from greedyexp.core.registry import RESERVED_COLUMNS
from greedyexp.protocols.measured import Measured
from greedyexp.results.entries import entries, success_metric

Axes = tuple[tuple[str, ...], ...]

# Kinds of columns that claims may take means of.
_NUMBERS = ("number", "success", "seconds")


@dataclass(frozen=True)
class Algorithm:
    """An algorithm as claims see it.

    Parameters
    ----------
    axes : tuple of tuple of str
        Its swept parameters; those that are zipped stand together.
    success : str or None
        The metric of ``threshold`` and ``proportion`` when they name none.
    """

    axes: Axes = ()
    success: str | None = None


@dataclass(frozen=True)
class Setting:
    """The words of an experiment.

    Parameters
    ----------
    axes : tuple of tuple of str
        Swept data columns; those that are zipped stand together. Of data in several blocks those
        that any block sweeps, and ``data``, the label of the block.
    algorithms : dict of str to Algorithm
        By the label of the entry.
    binary : tuple of str
        Metrics, and other columns of the protocol, whose values are 0 and 1.
    measured : tuple of str
        All that the protocol measures.
    columns : tuple of str
        Columns that describe the data or the algorithm.
    keys : tuple of str
        Columns of the protocol that tell the rows of one replicate apart; none when each replicate
        has one row.
    open_ended : tuple of str
        Measurements of which an empty cell is a run that ended before it got there.
    sequential : bool
        Whether results decided how many replicates a point got: intervals must then hold at any
        stopping time.
    """

    axes: Axes
    algorithms: dict[str, Algorithm]
    binary: tuple[str, ...]
    measured: tuple[str, ...]
    columns: tuple[str, ...]
    keys: tuple[str, ...] = ()
    open_ended: tuple[str, ...] = ()
    sequential: bool = False

    def mates(self, column: str, algorithms: Iterable[str] = ()) -> tuple[str, ...]:
        """The column and those zipped with it; empty when it is neither swept nor a key."""
        keys = [(key,) for key in self.keys]
        swept = [*self.axes, *keys, *(axis for a in algorithms for axis in self.algorithms[a].axes)]
        return tuple(dict.fromkeys(name for axis in swept if column in axis for name in axis))

    @property
    def swept(self) -> tuple[str, ...]:
        """The swept data columns."""
        return tuple(dict.fromkeys(name for axis in self.axes for name in axis))

    @property
    def shared(self) -> tuple[str, ...]:
        """What tells rows of any one algorithm apart: the swept data columns and the keys."""
        return (*self.swept, *self.keys)

    @property
    def known(self) -> tuple[str, ...]:
        """Columns that have a value before anything is measured."""
        return (*self.columns, *self.keys)

    def swept_by(self, algorithms: Iterable[str]) -> tuple[str, ...]:
        """The parameters that any of these algorithms sweeps."""
        names = (n for a in algorithms for axis in self.algorithms[a].axes for n in axis)
        return tuple(dict.fromkeys(names))


def setting_of(config: Mapping, protocol: Iterable[Measured], columns: Iterable[str]) -> Setting:
    """The words of an experiment.

    Parameters
    ----------
    config : mapping
        A resolved experiment: ``data``, ``algorithms``, ``trials``.
    protocol : iterable of Measured
        The columns that its protocol gives.
    columns : iterable of str
        All columns of its table.
    """
    given = list(protocol)
    measured = tuple(column.name for column in given if column.kind in _NUMBERS)
    binary = tuple(column.name for column in given if column.kind == "success")
    trials = config.get("trials")
    rule = trials if isinstance(trials, Mapping) else {}
    first = {"default": binary[0]} if binary else {}
    success = first | (rule.get("success") or {})
    algorithms = {}
    for name, params in entries(config, "algorithms"):
        label = params.get("label", name)
        own = success_metric(success, label, name)
        algorithms[label] = Algorithm(axes_of(params.get("sweep")), own)
    # What the protocol says of itself describes neither the data nor an algorithm.
    beside = {*RESERVED_COLUMNS, *(column.name for column in given)}
    return Setting(
        axes=data_axes(config["data"]),
        algorithms=algorithms,
        binary=binary,
        measured=measured,
        columns=tuple(sorted(set(columns) - beside)),
        keys=tuple(column.name for column in given if column.kind == "key"),
        open_ended=tuple(column.name for column in given if column.open_ended),
        sequential=bool(rule),
    )


def data_axes(data: Mapping | list) -> Axes:
    """The axes of one mapping of data, or of all blocks of a list and of their labels."""
    if isinstance(data, Mapping):
        return axes_of(data.get("sweep"))
    swept = (axis for block in data for axis in axes_of(block.get("sweep")))
    return (("data",), *dict.fromkeys(swept))


def axes_of(sweep: Mapping | None) -> Axes:
    """The names in a ``sweep:`` mapping, those of one zip together."""
    axes: list[tuple[str, ...]] = []
    for name, value in (sweep or {}).items():
        if name == "zip":
            groups = value if isinstance(value, list) else [value]
            axes += [tuple(group) for group in groups]
        else:
            axes.append((name,))
    return tuple(axes)
