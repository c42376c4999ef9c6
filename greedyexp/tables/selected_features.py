"""How often each feature is selected, counted in the metric of that name."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import pandas as pd
from pydantic import Field

from greedyexp.core.registry import table
from greedyexp.metrics.support import selected_of
from greedyexp.results.context import Context
from greedyexp.results.counts import FAILED
from greedyexp.results.labels import letter
from greedyexp.results.where import Where, rows_where
from greedyexp.tables.cells import Cell
from greedyexp.tables.titles import Title, titled


def _columns(*, where=(), **_) -> list[str]:
    return ["selected_features", *where]


# Without `apart`: every data point and every size has rows of its own.
@table("selected_features", title="Selected features", columns=_columns)
def selected_features(
    frame: pd.DataFrame,
    context: Context,
    *,
    most: Annotated[int, Field(ge=1, description="features listed at most")] = 40,
    where: Where = {},  # noqa: B006 - a default that pydantic copies
    title: Title = "",
) -> pd.DataFrame:
    """One row for each feature that is ever selected, the most selected first.

    In one column for each algorithm the share of fits in which the feature has a nonzero
    coefficient, in any task. Each data point, and with protocol ``selection`` each size, has rows
    of its own. Fits that failed are left out, and counted below the table.
    """
    frame = rows_where(frame, where)
    failed = frame["status"].isin(FAILED)
    # Protocol `selection` has further rows, which are not of estimates.
    frame = frame[failed | frame["selected_features"].notna()]
    failed = failed[frame.index]
    labels = context.in_order("algorithm", sorted(frame["algorithm"].unique()))
    names = context.titled(labels)
    before = [*frame.columns[: frame.columns.get_loc("replicate")]]
    before += ["size"] if "size" in frame.columns else []
    ended = frame[~failed]
    points = [name for name in before if ended[name].nunique(dropna=False) > 1]
    groups = ended.groupby(points, sort=False, dropna=False) if points else [((), ended)]
    rows, left = [], 0
    for values, group in groups:
        point = dict(zip(map(letter, points), map(str, values), strict=True))
        shares = _shares(group, labels)
        rows += [{**point, **_row(one, names)} for one in shares[:most]]
        left += len(shares[most:])
    result = pd.DataFrame(rows)
    counts = ended["algorithm"].value_counts()
    told = ", ".join(f"{names[label]} {counts.get(label, 0)}" for label in labels)
    notes = [f"Each number is the share of estimates that select the feature. Estimates: {told}."]
    if failed.any():
        notes.append(f"Left out: {int(failed.sum())} fits that failed.")
    if left:
        notes.append(f"Left out: {left} features that are selected less.")
    result.attrs |= {"notes": notes, "title": titled("Selected features", title, where)}
    return result


def _shares(group: pd.DataFrame, labels: list[str]) -> list[dict]:
    """Each feature and the share of fits of each algorithm that select it."""
    shares: dict[str, dict[str, float]] = {}
    for label in labels:
        texts = group.loc[group["algorithm"] == label, "selected_features"].dropna()
        counts = Counter(name for text in texts for name in set(selected_of(text)))
        for name, count in counts.items():
            shares.setdefault(name, dict.fromkeys(labels, 0.0))[label] = count / len(texts)
    order = sorted(shares, key=lambda name: (-sum(shares[name].values()), name))
    return [{"feature": name, **shares[name]} for name in order]


def _row(shares: dict, names: dict[str, str]) -> dict:
    cells = {
        title: Cell(shares[label], float("nan"), float("nan"), digits=2)
        for label, title in names.items()
    }
    return {"feature": shares["feature"], **cells}
