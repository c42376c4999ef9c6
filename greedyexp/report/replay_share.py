"""A share of a run computed again, such as on another machine: how many digits agree."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from greedyexp.core.errors import ConfigError
from greedyexp.core.plugins import load_plugins
from greedyexp.datasets.own import relative_to
from greedyexp.report.rows_again import (
    DIFFERS,
    ZERO,
    changes_since,
    compared,
    computed_rows,
    narrowed,
    place_of,
    stored_cells,
)
from greedyexp.report.source import read_run, require_rows
from greedyexp.results.records import identity
from greedyexp.runner.folder_status import finished_experiment
from greedyexp.runner.rehearsal import computed
from greedyexp.runner.rows import columns_of
from greedyexp.runner.work import Item, RunOptions, work_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ReplayedShare:
    """Replicates of a run, computed again; see ``replay_share``.

    Parameters
    ----------
    folder : Path
        The run folder.
    replicates, of : int
        Number of the replicates that were computed again, and of all. Each is one algorithm on one
        data set.
    values : DataFrame
        One line for each of their values, as in ``Replay.values``.
    changes : list of str
        Versions of code and libraries that differ from those of the run, and changes of data files.
    """

    folder: Path
    replicates: int
    of: int
    values: pd.DataFrame
    changes: list[str]

    @property
    def same(self) -> bool:
        """True if no value differs by more than rounding."""
        return not (self.values["verdict"] == DIFFERS).any()

    @property
    def digits(self) -> float:
        """Number of digits in which all numbers agree that are equal up to rounding.

        The largest relative difference d of such numbers gives -log10(d); infinite if all values
        are equal. Numbers below 1e-12 are left out, as they have no correct digit.
        """
        values = self.values[self.values["verdict"] != DIFFERS]
        sizes = values[["stored", "computed"]].apply(_numbers).abs().max(axis=1)
        largest = values.loc[~(sizes <= ZERO), "difference"].max()
        return float(-np.log10(largest)) if largest > 0 else np.inf


def replay_share(
    run: str | PathLike[str], share: float, *, traceback: bool = False
) -> ReplayedShare:
    """Compute a share of the replicates of a run again and compare each value with the table.

    They are drawn at random, always the same ones for a share of a table. Nothing is written.

    Parameters
    ----------
    run : path
        A run folder.
    share : float in (0, 1]
        At least one replicate is computed.
    traceback : bool
        Print the tracebacks of exceptions of parts on stderr.

    Returns
    -------
    ReplayedShare

    Raises
    ------
    ConfigError
        If the share is out of range, or this version does not accept the settings of the run.
    StorageError
        If the run cannot be read.
    PluginError
        If a plugin cannot be used.
    """
    import pandas as pd

    if not 0 < share <= 1:
        raise ConfigError(f"share must be greater than 0 and at most 1, but is {share}.")
    source = read_run(Path(run))
    require_rows(source)
    frame = source.frame
    experiment = finished_experiment(source.folder, source.design.settings)
    group = frame.groupby(identity(frame), dropna=False, sort=False).ngroup()
    count = int(group.max()) + 1
    drawn = np.random.default_rng(0).choice(count, max(1, round(share * count)), replace=False)
    chosen = group[group.isin(drawn)]
    stored = stored_cells(source, chosen.index)
    items = []
    for index in chosen.index[~chosen.duplicated()]:
        cells = stored[index]
        place, algorithm = place_of(experiment, cells, source.folder)
        point = experiment.points[place]
        replicate = int(cells["replicate"])
        items.append(Item(place, point.generator, point.params, replicate, (algorithm,)))
    options = RunOptions(tracebacks=traceback, progress=False)
    work = work_of(experiment, options, columns_of(experiment).not_for_facts)
    with relative_to(experiment.folder):
        changes = changes_since(source, experiment, [experiment.points[one.point] for one in items])
        load_plugins(experiment.plugins)
        results = computed(work, [[item] for item in items])
    found = {(one.point, one.replicate, one.algorithm): one for one in results}
    values = []
    for item, (_, rows) in zip(items, chosen.groupby(chosen, sort=False), strict=True):
        result = found[item.point, item.replicate, item.algorithms[0]]
        print(result.outcome.traceback, file=sys.stderr, end="")
        one = narrowed(experiment, item.point, item.algorithms[0])
        old = {index: stored[index] for index in rows.index}
        values.append(compared(one, old, computed_rows(one, old, result), result))
    return ReplayedShare(source.folder, len(items), count, pd.concat(values), changes)


def _numbers(cells: pd.Series[str]) -> pd.Series[float]:
    import pandas as pd

    return pd.to_numeric(cells, errors="coerce")
