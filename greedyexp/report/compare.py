"""Compare two runs: settings, versions, rows, thresholds and verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from greedyexp.config.patches import changes
from greedyexp.core import registry
from greedyexp.core.errors import ConfigError, placed_in
from greedyexp.experiment.parameters import Parameters
from greedyexp.protocols.base import Measured
from greedyexp.report.matching import Matched, as_cell, groups
from greedyexp.report.replay import DIFFERS, compare_cells
from greedyexp.report.source import Source, load_own_plugins, read_run, require_rows
from greedyexp.report.verify import verified_source
from greedyexp.results import successes
from greedyexp.results.context import Context
from greedyexp.results.records import failed_rows, replicates
from greedyexp.results.thresholds import thresholds
from greedyexp.runner.files import ROW_SETTINGS
from greedyexp.runner.manifest import version_changes
from greedyexp.runner.state import CONFIG
from greedyexp.stats.multiplicity import ALPHA, holm
from greedyexp.stats.two_samples import difference_of_means, difference_of_proportions

if TYPE_CHECKING:
    import pandas as pd
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
        ``difference``, the second minus the first, with its 95% interval ``low`` to ``high``;
        ``n_a`` and ``n_b``, the replicates compared; ``p_value``, and ``p_adjusted`` by Holm's
        method for all lines.
    changed : DataFrame
        The paired values that differ by more than rounding; see ``replay.compare_cells``.
    thresholds : DataFrame
        Estimate and 95% interval of each threshold in both runs; empty if no figure has any.
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
        )


def compare(a: str | PathLike[str], b: str | PathLike[str]) -> Comparison:
    """Compare two runs, or two versions of one; nothing is computed again.

    Rows are paired if both runs have the same seed and data: those of equal parameters and
    replicate, and of the algorithm with the same label. Otherwise the two runs are independent
    samples. Successes are compared by McNemar's exact test, or by Fisher's if they are not paired;
    other numbers by the paired t-test or Welch's. If a number differs by the same amount in all
    pairs, the sign test is used, since such differences have no variance to estimate. A failed
    replicate is no success, and has no other numbers. Holm's method corrects for the number of all
    comparisons.

    Parameters
    ----------
    a, b : path
        Run folders.

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
    one, other = read_run(Path(a)), read_run(Path(b))
    for source in (one, other):
        require_rows(source)
    matched = Matched.of(one, other)
    differences = _differences(matched)
    old, new = (_by_label(source) for source in (one, other))
    before, after = one.state.manifest, other.state.manifest
    return Comparison(
        folders=(one.folder, other.folder),
        settings=changes(old, new, ROW_SETTINGS),
        versions=version_changes(before, after) if before and after else [],
        paired=matched.paired,
        notes=matched.notes(),
        differences=differences,
        changed=_changed(matched),
        thresholds=_thresholds(one, other),
        verdicts=_verdicts(one, other),
        _context=one.context,
    )


def _differences(matched: Matched) -> pd.DataFrame:
    """Return the lines of ``Comparison.differences``."""
    import pandas as pd

    numbers = [one for one in matched.measured if one.kind in ("number", "success")]
    if not numbers:
        raise _nothing(matched, "number")
    keys = [*matched.settings, *matched.records]
    lines = list(_compared(matched, keys, numbers, [s.frame for s in matched.sources]))
    frames = [replicates(source.frame) for source in matched.sources]
    if any(failed_rows(frame).any() for frame in frames):
        failing = [frame.assign(failed=failed_rows(frame).astype(float)) for frame in frames]
        n = len(matched.settings)
        for line in _compared(matched, matched.settings, [FAILED], failing):
            lines.append((*line[:n], *[None] * len(matched.records), *line[n:]))
    if not lines:
        raise _nothing(matched, "point and algorithm")
    table = pd.DataFrame(lines, columns=[*keys, "column", *_NUMBERS])
    table["p_adjusted"] = holm(table["p_value"].to_numpy(dtype=float)).adjusted
    return table


def _nothing(matched: Matched, what: str) -> ConfigError:
    one, other = matched.sources
    return ConfigError(
        f"the two runs have no {what} in common.",
        place=f"{one.folder} and {other.folder}",
        remedy="Compare runs of one experiment.",
    )


def _compared(
    matched: Matched, keys: list[str], columns: list[Measured], frames: list[pd.DataFrame]
) -> Iterator[tuple[Any, ...]]:
    both = [groups(frame, keys) for frame in frames]
    for key, rows in both[0].items():
        if key not in both[1]:
            continue
        pair = rows.set_index("replicate"), both[1][key].set_index("replicate")
        if not all(one.index.is_unique for one in pair):
            raise ConfigError(
                "several rows have the same point, algorithm and replicate.",
                place=f"{matched.sources[0].folder} and {matched.sources[1].folder}",
                remedy="Compare runs of one experiment.",
            )
        for column in columns:
            a, b = (_values(one, column) for one in pair)
            if matched.paired:
                common = a.index.intersection(b.index)
                a, b = a[common], b[common]
            if len(a) and len(b):
                yield (*key, column.name, *_contrast(a, b, column.kind, matched.paired))


def _changed(matched: Matched) -> pd.DataFrame:
    """Return the paired values that differ by more than rounding."""
    import pandas as pd

    keys = [*matched.settings, *matched.records, "replicate"]
    columns = [*keys, "column", "value_a", "value_b", "difference"]
    lines: list[tuple[Any, ...]] = []
    if matched.paired:
        compared = [*(one.name for one in matched.measured), "status"]
        kinds = {one.name: one.kind for one in matched.measured}
        first, second = (source.frame[[*keys, *compared]] for source in matched.sources)
        both = first.merge(second, on=keys, suffixes=(" a", " b"))
        for name in compared:
            a, b = both[f"{name} a"], both[f"{name} b"]
            unequal = both[(a != b) & ~(a.isna() & b.isna())]
            for row in unequal.to_dict("records"):
                old, new = row[f"{name} a"], row[f"{name} b"]
                apart, verdict = compare_cells(as_cell(old), as_cell(new), kinds.get(name))
                if verdict == DIFFERS:
                    lines.append((*(row[key] for key in keys), name, old, new, apart))
    return pd.DataFrame(lines, columns=columns)


def _by_label(source: Source) -> dict[str, Any]:
    """Return the settings of a run, with the lists of algorithms and of data by their labels."""
    settings = dict(source.design.settings)
    written = [
        (item, {}) if isinstance(item, str) else next(iter(item.items()))
        for item in settings["algorithms"]
    ]
    entries = zip(source.design.entries, written, strict=True)
    settings["algorithms"] = {one.label: {name: params} for one, (name, params) in entries}
    if isinstance(settings["data"], list):
        settings["data"] = {block.get("label"): block for block in settings["data"]}
    return settings


def _values(rows: pd.DataFrame, column: Measured) -> pd.Series[float]:
    """Return a number by replicate; a failed replicate is no success and has no other number."""
    values: pd.Series[float] = rows[column.name].astype(float)
    if column.kind == "success":
        values = values.mask(failed_rows(rows) & values.isna(), 0.0)
    return values[np.isfinite(values)]


def _contrast(a: pd.Series[float], b: pd.Series[float], kind: str, paired: bool) -> tuple[Any, ...]:
    """Return means, difference with its 95% interval, numbers of replicates and p-value."""
    x, y = a.to_numpy(), b.to_numpy()
    means = float(x.mean()), float(y.mean())
    if kind == "success":
        difference, low, high, p = difference_of_proportions(x, y, paired=paired)
    else:
        if paired:
            # Rounding is no difference, and has no variance to speak of.
            y = np.where([_is_rounding(*pair) for pair in zip(x, y, strict=True)], x, y)
        difference, low, high, p = difference_of_means(x, y, paired=paired)
    return *means, difference, low, high, len(x), len(y), p


def _is_rounding(one: float, other: float) -> bool:
    return compare_cells(repr(float(one)), repr(float(other)))[1] != DIFFERS


def _thresholds(one: Source, other: Source) -> pd.DataFrame:
    """Return the thresholds of both runs by the figures and tables of the first."""
    import pandas as pd

    found = []
    for of, success in _curves(one):
        tables = []
        for source in (one, other):
            axes = [name for axis in source.design.data_axes for name in axis]
            by = [*(name for name in axes if name != of and name in source.frame), "algorithm"]
            try:
                metrics = successes.metrics_of(source.frame, source.context, success)
                rows = successes.trials_of(source.frame, metrics, [*by, of])
                table = thresholds(rows, source.context, of=of, success=success, by=by)
            except ConfigError:
                # The other run does not have these columns.
                break
            tables.append(table[[*by, "estimate", "low", "high"]])
        if len(tables) == 2:
            shared = [name for name in tables[0] if name in tables[1]]
            on = [name for name in shared if name not in ("estimate", "low", "high")]
            both = tables[0].merge(tables[1], on=on, suffixes=("_a", "_b"))
            found.append(both.assign(of=of))
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame()


def _curves(source: Source) -> list[tuple[str, Mapping[str, str]]]:
    """Return column and metrics of the success curves in the figures and tables of a run."""
    curves: list[tuple[str, Mapping[str, str]]] = []
    swept = {name for axis in source.design.data_axes for name in axis}
    for kind in ("figure", "table"):
        for name, given in source.design.drawn(kind):
            with placed_in(source.folder / CONFIG):
                params = Parameters(registry.find(kind, name)).read_all(given)
            of, success = params.get("of", params.get("x")), params.get("success")
            if success and of in swept and (of, success) not in curves:
                curves.append((of, success))
    return curves


def _verdicts(one: Source, other: Source) -> pd.DataFrame:
    """Return the verdicts of both runs on the claims that they share."""
    import pandas as pd

    found = []
    for source in (one, other):
        load_own_plugins(source)
        judged_claims = verified_source(source).judged
        found.append({claim.claim.id: claim.verdict.value for claim in judged_claims})
    lines = [(id, found[0][id], found[1][id]) for id in found[0] if id in found[1]]
    return pd.DataFrame(lines, columns=["claim", "a", "b"])
