"""Notes of figures and tables: what the numbers are, over how many replicates, and which failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from greedyexp.results import successes
from greedyexp.results.comparisons import with_metrics
from greedyexp.results.context import Context
from greedyexp.results.curves import FEW, has_shares, is_single
from greedyexp.results.records import NOT_CERTIFIED, failed_rows, group_columns, replicates
from greedyexp.results.text import count_text, decided_text, failures_text, origin_text
from greedyexp.stats.level import percent

if TYPE_CHECKING:
    import pandas as pd


def run_notes(
    frame: pd.DataFrame, context: Context, numbers: str, treatment: str = "left out"
) -> list[str]:
    """Return the notes on the origin of a figure, what its numbers are, and failures.

    Parameters
    ----------
    frame : DataFrame
        The rows of the figure.
    numbers : str
        Description of the numbers.
    treatment : str
        What happens to failed replicates.
    """
    return [f"{origin_text(context)}: {numbers}", failures_text(replicates(frame), treatment)]


def unreached_text(table: pd.DataFrame, accuracy: str = "accuracy") -> str:
    """Return, as text, how often a replicate did not reach an accuracy; empty for never."""
    share = 1 - table["reached"].sum() / table["trials"].sum()
    text = f"{accuracy} not reached: {share:.2%} of all pairs of replicate and {accuracy}."
    return text.capitalize() if share else ""


def medians_text(table: pd.DataFrame, context: Context) -> str:
    """Describe the lines and bands of ``medians``."""
    most = table["trials"].max()
    if most == 1:
        return "one replicate"
    medians = f"medians of {count_text(table['trials'])} replicates"
    return f"{medians}, bands: {band_name(table)}{decided_text(context)}"


def band_name(table: pd.DataFrame) -> str:
    """Return what the bands of ``medians`` are."""
    return "interquartile range" if table["trials"].max() > FEW else "smallest to largest"


def means_text(
    rows: pd.DataFrame, counts: pd.Series[int], context: Context, columns: Sequence[str]
) -> str:
    """Describe the numbers of a table, which are means with intervals or of one replicate.

    Parameters
    ----------
    rows : DataFrame
        Rows that the means are over.
    counts : Series
        The number of replicates of each mean.
    columns : sequence of str
        What the means are of.
    """
    if is_single(context):
        return "one replicate, no intervals"
    ends = successes.interval_text(context)
    intervals = intervals_text("t", ends, columns, rows, context)
    return f"means over {count_text(counts)} replicates with {intervals}"


def intervals_text(
    kind: str, of_successes: str, columns: Sequence[str], rows: pd.DataFrame, context: Context
) -> str:
    """Describe the intervals of several columns, of which some may have successes.

    Parameters
    ----------
    kind : str
        Intervals of other columns; see ``interval_text``.
    of_successes : str
        Description of the intervals of successes.
    columns : sequence of str
    rows : DataFrame
        What the intervals are computed from.
    """
    shares = [has_shares(column, rows, context) for column in columns]
    if shares and all(shares):
        return of_successes
    return interval_text(kind, rows, context) + (f"; successes: {of_successes}" * any(shares))


def interval_text(kind: str, rows: pd.DataFrame, context: Context) -> str:
    """Describe intervals, such as "t".

    Those of a run until decided cover at all its looks; those of replicates that resample one data
    set are corrected. Others assume that the number of replicates was fixed in advance.
    """
    looks = " valid at every look" if context.looks else decided_text(context)
    splits = ", corrected for replicates that resample one data set"
    return f"{percent()} {kind} intervals{looks}{splits if context.resampling.covers(rows) else ''}"


def selection_notes(frame: pd.DataFrame, context: Context, numbers: str) -> list[str]:
    """Return the notes on classes or features.

    Parameters
    ----------
    numbers : str
        Description of the numbers in the figure or table.
    """
    notes = [f"{origin_text(context)}: {numbers}."]
    frame = replicates(frame)
    failed = failed_rows(frame)
    if failed.any():
        notes.append(f"Failed replicates, left out: {failed.sum()} of {len(frame)}.")
    return [*notes, *_uncertified(frame)]


def comparison_notes(
    frame: pd.DataFrame, context: Context, table: pd.DataFrame, numbers: str = ""
) -> list[str]:
    """Return the notes that explain the numbers of ``compare``.

    Parameters
    ----------
    numbers : str
        Description of the numbers; that of means by default.
    """
    row, columns = table.columns[0], list(table["metric"].unique())
    frame = with_metrics(frame, columns)
    frame = replicates(group_columns(frame, context, row)[0])
    numbers = numbers or means_text(frame, table["trials"], context, columns)
    notes = [f"{origin_text(context)}: {numbers}."]
    failed = failed_rows(frame)
    if failed.any():
        by_label = failed.groupby(frame["algorithm"]).agg(["sum", "count"])
        parts = [
            f"{context.titles.get(label, label)} {failures} of {count}"
            for label, failures, count in by_label[by_label["sum"] > 0].itertuples()
        ]
        notes.append(f"Failed replicates, not in the means: {', '.join(parts)}.")
    return [*notes, *_uncertified(frame)]


def contrast_text(table: pd.DataFrame, by: str, frame: pd.DataFrame, context: Context) -> str:
    """Describe the numbers of ``compare`` with ``against``, computed from the rows of a frame."""
    if is_single(context):
        return f"{by}s of one replicate, no intervals"
    if by == "ratio":
        means, intervals = "ratios of means", interval_text("Fieller", frame, context)
    else:
        means, newcombe = "mean differences", interval_text("paired Newcombe", frame, context)
        columns = list(table["metric"].unique())
        intervals = intervals_text("paired t", newcombe, columns, frame, context)
    return f"{means} over {count_text(table['trials'])} replicates with {intervals}"


def _uncertified(frame: pd.DataFrame) -> list[str]:
    share = (frame["status"] == NOT_CERTIFIED).mean()
    return [f"Without certificate: {share:.2%}."] if share else []
