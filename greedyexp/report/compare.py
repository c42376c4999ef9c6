"""Compare two runs: settings, versions, rows, thresholds and verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from greedyexp.config.run_names import changes
from greedyexp.core import registry
from greedyexp.core.errors import ConfigError
from greedyexp.core.trust import consent
from greedyexp.experiment.design import entry_of
from greedyexp.experiment.parameters import Parameters
from greedyexp.protocols.base import Measured
from greedyexp.report.matching import Aligned, Matched, as_cell
from greedyexp.report.rows_again import DIFFERS, close_numbers, compare_cells
from greedyexp.report.source import open_run, require_rows
from greedyexp.report.verify import verified_source
from greedyexp.results.columns import same_in_other_units
from greedyexp.results.context import Context
from greedyexp.results.records import failed_rows, replicates
from greedyexp.results.successes import thresholds, trials
from greedyexp.runner.digests import ROW_SETTINGS
from greedyexp.runner.manifest import version_changes
from greedyexp.runner.run_contents import Run
from greedyexp.stats.direction import Direction
from greedyexp.stats.level import ALPHA
from greedyexp.stats.multiplicity import holm
from greedyexp.stats.two_samples import difference_of_means, difference_of_proportions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# A failure of a replicate is compared as an event of its own.
FAILED = Measured("failed", "success")
# Their names are those of no parameter.
_NUMBERS = ("mean_a", "mean_b", "difference", "low", "high", "n_a", "n_b", "p_value")


@dataclass(frozen=True)
class Comparison:
    """Two runs compared; see ``compare``.

    Parameters
    ----------
    folders : tuple of two Path
        The runs ``a`` and ``b``.
    settings : list of str
        Settings that determine rows and differ, such as ``data.noise_std: 0.1 -> 0.5``.
    versions : list of str
        Versions of code and libraries that differ.
    paired : bool
        True if both runs have the same data, so that rows are compared replicate by replicate.
    notes : list of str
        What limits the comparison.
    differences : DataFrame
        One line for each number at each point and algorithm: ``mean_a`` and ``mean_b``;
        ``difference``, the second minus the first, with its interval ``low`` to ``high``;
        ``n_a`` and ``n_b``, the replicates compared; ``p_value``, and ``p_adjusted`` by Holm's
        method for all lines.
    changed : DataFrame
        The paired values that differ by more than rounding; see ``rows_again.compare_cells``.
    thresholds : DataFrame
        Estimate and interval of each threshold at 50% success in both runs; empty if no figure
        has any.
    verdicts : DataFrame
        Verdicts of the claims that both runs make.
    """

    folders: tuple[Path, Path]
    settings: list[str]
    versions: list[str]
    paired: bool
    notes: list[str]
    differences: pd.DataFrame
    changed: pd.DataFrame
    thresholds: pd.DataFrame
    verdicts: pd.DataFrame
    _context: Context
    _limits: list[str]

    @property
    def beyond_chance(self) -> pd.DataFrame:
        """The lines of ``differences`` with ``p_adjusted`` at most 5%, the least first."""
        lines = self.differences[self.differences["p_adjusted"] <= ALPHA]
        return lines.sort_values("p_value", kind="stable")

    @property
    def differ(self) -> bool:
        """True if the runs differ beyond chance."""
        return not self.beyond_chance.empty

    def figure(self) -> Figure:
        """Return a figure of the means of ``b`` against those of ``a``, a panel for each number."""
        from greedyexp.report.compare_figure import compare_figure

        return compare_figure(
            self.differences,
            self.folders,
            self._context,
            paired=self.paired,
            beyond_chance=len(self.beyond_chance),
            limits=self._limits,
        )


def compare(a: str | PathLike[str], b: str | PathLike[str], *, trust: bool = False) -> Comparison:
    """Compare two runs, or two versions of one; nothing is computed again.

    Rows are paired if both runs have the same seed and data: those of equal parameters and
    replicate, and of the algorithm with the same label. Otherwise the two runs are independent
    samples. Successes are compared by McNemar's exact test, or by Fisher's if they are not paired;
    other numbers by the paired t-test or Welch's. If a number differs by the same amount in all
    pairs, the sign test is used, since such differences have no variance to estimate; and the
    permutation test if it is constant in each of two independent samples. A failed replicate is no
    success, and has no other numbers. Holm's method corrects for the number of all comparisons.

    Parameters
    ----------
    a, b : path
        Run folders.
    trust : bool
        Run the plugins in the folders; see ``greedyexp.open``.

    Returns
    -------
    Comparison

    Raises
    ------
    StorageError
        If a run cannot be read or has no rows.
    ConfigError
        If the runs have no number, or no point and algorithm, in common.
    """
    with consent(trust):
        return _comparison(open_run(Path(a)), open_run(Path(b)))


def _comparison(one: Run, other: Run) -> Comparison:
    for source in (one, other):
        require_rows(source)
    matched = Matched.of(one, other)
    numbers = [one for one in matched.measured if one.kind in ("number", "success")]
    if not numbers:
        raise _nothing(matched, "number")
    frames = [source.frame for source in matched.sources]
    rows = Aligned.of(matched, frames, [*matched.settings, *matched.records])
    old, new = (_by_label(source) for source in (one, other))
    before, after = one.manifest, other.manifest
    return Comparison(
        folders=(one.folder, other.folder),
        settings=changes(old, new, ROW_SETTINGS),
        versions=version_changes(before, after) if before and after else [],
        paired=matched.paired,
        notes=matched.notes(),
        differences=_differences(matched, numbers, rows),
        changed=_changed(matched, rows),
        thresholds=_thresholds(one, other),
        verdicts=_verdicts(one, other),
        _context=one.context,
        _limits=matched.limits(),
    )


def _differences(matched: Matched, numbers: list[Measured], rows: Aligned) -> pd.DataFrame:
    """Return the lines of ``Comparison.differences``."""
    tables = [_compared(rows, numbers)]
    frames = [replicates(source.frame) for source in matched.sources]
    if any(failed_rows(frame).any() for frame in frames):
        failing = [frame.assign(failed=failed_rows(frame).astype(float)) for frame in frames]
        tables.append(_compared(Aligned.of(matched, failing, matched.settings), [FAILED]))
    found = [table for table in tables if not table.empty]
    if not found:
        raise _nothing(matched, "point and algorithm")
    # A failure has no record.
    table = pd.concat(found, ignore_index=True).reindex(columns=[*rows.keys, "column", *_NUMBERS])
    return table.assign(p_adjusted=holm(table["p_value"]).adjusted)


def _nothing(matched: Matched, what: str) -> ConfigError:
    one, other = matched.sources
    return ConfigError(
        f"the two runs have no {what} in common.",
        place=f"{one.folder} and {other.folder}",
        remedy="Compare runs of one experiment.",
    )


def _compared(rows: Aligned, columns: list[Measured]) -> pd.DataFrame:
    """Return a line for each group of rows and each number."""
    found = []
    for column in columns:
        values = [_values(frame, column) for frame in rows.frames]
        for groups, x, y in rows.samples(values):
            line = dict(zip(_NUMBERS, _contrast(x, y, column.kind, rows.paired), strict=True))
            found.append(pd.DataFrame({"group": groups, "column": column.name, **line}))
    if not found:
        return pd.DataFrame()
    table = pd.concat(found).sort_values("group", kind="stable", ignore_index=True)
    return pd.concat([rows.levels(table.pop("group")), table], axis=1)


def _changed(matched: Matched, rows: Aligned) -> pd.DataFrame:
    """Return the paired values that differ by more than rounding."""
    keys = [*rows.keys, "replicate"]
    columns = [*keys, "column", "value_a", "value_b", "difference"]
    lines: list[tuple[Any, ...]] = []
    if matched.paired:
        one, other = rows.frames
        kinds = {one.name: one.kind for one in matched.measured} | {"status": "text"}
        for name, kind in kinds.items():
            a, b = one[name], other[name]
            unequal = (a != b) & ~(a.isna() & b.isna())
            if kind == "number":
                x, y = a.to_numpy(dtype=float), b.to_numpy(dtype=float)
                # Whole numbers must be equal.
                unequal &= ~close_numbers(x, y) | ((x == np.rint(x)) & (y == np.rint(y)))
            names = one.loc[unequal, keys].itertuples(index=False, name=None)
            for key, old, new in zip(names, a[unequal], b[unequal], strict=True):
                apart, verdict = compare_cells(as_cell(old), as_cell(new), kind)
                if verdict == DIFFERS:
                    lines.append((*key, name, old, new, apart))
    return pd.DataFrame(lines, columns=columns)


def _by_label(source: Run) -> dict[str, Any]:
    """Return the settings of a run, with the lists of algorithms and of data by their labels."""
    settings = dict(source.design.settings)
    entries = zip(source.design.entries, map(entry_of, settings["algorithms"]), strict=True)
    settings["algorithms"] = {one.label: {name: params or {}} for one, (name, params) in entries}
    if isinstance(settings["data"], list):
        settings["data"] = {block.get("label"): block for block in settings["data"]}
    return settings


def _values(rows: pd.DataFrame, column: Measured) -> np.ndarray:
    """Return a number by row; a failed replicate is no success and has no other number."""
    values = rows[column.name].to_numpy(dtype=float)
    if column.kind == "success":
        values = np.where(failed_rows(rows) & np.isnan(values), 0.0, values)
    return values


def _contrast(x: np.ndarray, y: np.ndarray, kind: str, paired: bool) -> tuple[Any, ...]:
    """Return means, difference with its interval, numbers of replicates and p-value.

    The samples of all groups are along the last axis.
    """
    means = x.mean(axis=-1), y.mean(axis=-1)
    if kind == "success":
        difference, low, high, p = difference_of_proportions(x, y, paired=paired)
    else:
        # Rounding is no difference, and has no variance to speak of.
        if paired:
            y = np.where(close_numbers(x, y), x, y)
        difference, low, high, p = difference_of_means(x, y, paired=paired)
        if not paired:
            p = np.where(close_numbers(*means), 1.0, p)
    return *means, difference, low, high, x.shape[-1], y.shape[-1], p


def _thresholds(one: Run, other: Run) -> pd.DataFrame:
    """Return the thresholds of both runs by the figures and tables of the first."""
    found = []
    for of, success, direction in success_curves(one):
        both = [threshold_table(source, of, success, direction) for source in (one, other)]
        tables = [table for table in both if table is not None]
        if len(tables) == 2:
            tables = [table.drop(columns=["trials", "failed"]) for table in tables]
            shared = [name for name in tables[0] if name in tables[1]]
            on = [name for name in shared if name not in ("estimate", "low", "high")]
            merged = tables[0].merge(tables[1], on=on, suffixes=("_a", "_b"))
            found.append(merged.assign(of=of))
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame()


def threshold_table(
    source: Run, of: str, success: Mapping[str, str], direction: Direction | None = None
) -> pd.DataFrame | None:
    """Return the threshold at 50% success along a column, for each point and algorithm.

    Returns
    -------
    DataFrame or None
        None if the run does not have these columns.
    """
    along = {of, *same_in_other_units([of])}
    # Several blocks of data may sweep the same column.
    axes = dict.fromkeys(name for axis in source.design.data_axes for name in axis)
    by = [*(name for name in axes if name not in along and name in source.frame), "algorithm"]
    try:
        rows, _ = trials(source.frame, source.context, success, [*by, of], {})
        table = thresholds(rows, source.context, of=of, success=success, by=by, direction=direction)
    except ConfigError:
        return None
    return table[[*by, "estimate", "low", "high", "trials", "failed"]]


def success_curves(source: Run) -> list[tuple[str, Mapping[str, str], Direction | None]]:
    """Return column, metrics and direction of the success curves in figures and tables of a run.

    The direction is the first that a figure of the curves gives; None if the data decide it.
    """
    curves: dict[tuple[str, tuple[tuple[str, str], ...]], Direction | None] = {}
    swept = {name for axis in source.design.data_axes for name in axis}
    for kind in ("figure", "table"):
        for name, given in source.design.drawn(kind):
            try:
                part = registry.find(kind, name)
                # What a figure that was not run draws is not known.
                params = {} if part.stands_in else Parameters(part).read_all(given)
            except ConfigError:
                # The figure itself says what is wrong.
                continue
            of, success = params.get("of", params.get("x")), params.get("success")
            if success and of in swept:
                key = of, tuple(sorted(success.items()))
                curves[key] = curves.get(key) or params.get("direction")
    return [(of, dict(success), direction) for (of, success), direction in curves.items()]


def _verdicts(one: Run, other: Run) -> pd.DataFrame:
    """Return the verdicts of both runs on the claims that they share."""
    found = []
    for source in (one, other):
        source.load_plugins()
        judged_claims = verified_source(source).judged
        found.append({claim.claim.id: claim.verdict.value for claim in judged_claims})
    lines = [(id, found[0][id], found[1][id]) for id in found[0] if id in found[1]]
    return pd.DataFrame(lines, columns=["claim", "a", "b"])
