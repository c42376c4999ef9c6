"""What figures and tables say of the run: where it comes from, its trials, its failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from greedyexp.results.context import Context
from greedyexp.results.counts import FAILED, UNPROVED, success_column
from greedyexp.results.labels import levels_text


def origin(context: Context) -> str:
    """Paper and figure, experiment and profile; how much of it, where that is not all."""
    source = f"{context.source} | " if context.source else ""
    part = f", only {context.part}" if context.part else ""
    return f"{source}{context.name}, profile {context.profile}{part}"


def count_text(fewest: int, most: int) -> str:
    """A number of things that may vary."""
    return f"{most}" if fewest == most else f"{fewest} to {most}"


def trials_text(fewest: int, most: int, total: int) -> str:
    """Trials per point and, where their number varies, in all."""
    each = f"{count_text(fewest, most)} trials per point"
    return each if fewest == most else f"{each}, {total} in all"


def failures_text(frame: pd.DataFrame, how: str) -> str:
    """Shares of replicates that failed and that came without certificate.

    Parameters
    ----------
    how : str
        What became of those that failed.
    """
    failed = frame["status"].isin(FAILED).mean()
    unconverged = (frame["status"] == UNPROVED).mean()
    return f"failed ({how}): {failed:.2%}, without certificate: {unconverged:.2%}"


def judged_text(
    frame: pd.DataFrame, context: Context, success: Mapping[str, str], line: Sequence[str]
) -> str:
    """Algorithms and the metric each is judged by; empty when the legend says so already."""
    if line[0] == "algorithm":
        return ""
    judged = [
        f"{context.titles.get(label, label)}"
        f" ({success_column(success, label, context).replace('_', ' ')})"
        for label in sorted(frame["algorithm"].unique())
    ]
    return f"Success of {', '.join(judged)}"


def group_text(values: Mapping, context: Context) -> str:
    """An algorithm and the values of other columns as words."""
    rest = levels_text({name: value for name, value in values.items() if name != "algorithm"})
    if "algorithm" not in values:
        return rest
    name = context.titles.get(values["algorithm"], values["algorithm"])
    if not rest:
        return name
    return f"{name}, {rest}" if "data" in values else f"{name} at {rest}"
