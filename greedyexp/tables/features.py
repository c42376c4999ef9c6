"""Selected features and how often they are selected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from greedyexp.core.registry import table
from greedyexp.metrics.support import selected_of
from greedyexp.results.columns import declared, reads, separate_algorithms
from greedyexp.results.context import Context
from greedyexp.results.curves import is_single
from greedyexp.results.notes import selection_notes
from greedyexp.results.records import Sizes, Where, failed_rows, name_text, records_at, rows_where
from greedyexp.results.text import count_text
from greedyexp.results.words import short_name, told_apart
from greedyexp.tables._output import Cell, Title, make_table

if TYPE_CHECKING:
    import pandas as pd

Most = Annotated[int, Field(ge=1, description="largest number of features listed")]


@table(
    "used_features",
    title="Features in use",
    **declared("used", "feature", "size", apart=separate_algorithms),
)
def used_features(
    frame: pd.DataFrame,
    context: Context,
    *,
    sizes: Sizes = [],  # noqa: B006 - a default that pydantic copies
    most: Most = 40,
    where: Where = {},  # noqa: B006
    title: Title = "",
) -> pd.DataFrame:
    """Names of the features in use, or the share of replicates that use each feature.

    With one replicate, there is one row for each algorithm and size, with the names. With several
    replicates, there is one row for each feature in use, the most used first, and one column for
    each algorithm and size, with the share of replicates that use the feature.
    """
    frame = rows_where(frame, where)
    used = _shares(frame, sizes)
    labels = context.in_order("algorithm", sorted(used["algorithm"].unique()))
    titles = context.titled(labels)
    notes = []
    if is_single(context):
        counts, rows, group = "one replicate", _names(used, titles), "algorithm"
    else:
        rows, left = _shares_by_feature(used, titles, most)
        counts, group = f"shares of {count_text(used['replicates'])} replicates", None
        notes = ["Each number is the share of replicates that use the feature."]
        notes += [f"Left out: {left} features that are used less."] if left else []
    origin, *others = selection_notes(frame, context, counts)
    return make_table(rows, [origin, *notes, *others], "Features in use", title, where, group)


def _shares(frame: pd.DataFrame, sizes: Sequence[int]) -> pd.DataFrame:
    """Compute the ``share`` of the ``replicates`` that use each feature at each size.

    Features have the order of the data.
    """
    rows, order = records_at(frame, "feature", "used", sizes)
    grouped = rows.groupby(["algorithm", "size", "feature"])["used"]
    shares = grouped.agg(share="mean", replicates="count").reset_index()
    shares = shares.sort_values("feature", key=lambda column: column.map(order), kind="stable")
    return shares.assign(size=shares["size"].astype(int), feature=shares["feature"].map(name_text))


def _names(used: pd.DataFrame, titles: Mapping[str, str]) -> list[dict[str, str]]:
    rows = []
    for label, title in titles.items():
        for size, part in used[used["algorithm"] == label].groupby("size"):
            names = part.loc[part["share"] > 0, "feature"].tolist()
            row = {"algorithm": title, "size": str(size), "used": str(len(names))}
            rows.append(row | {"features": ", ".join(names)})
    return rows


def _shares_by_feature(
    used: pd.DataFrame, titles: Mapping[str, str], most: int
) -> tuple[list[dict[str, Any]], int]:
    """Return the rows of the table of shares, and how many features in use it leaves out."""
    wide = used.pivot_table(
        index="feature", columns=["algorithm", "size"], values="share", sort=False
    )
    wide = wide[wide.sum(axis=1) > 0]
    order = wide.sum(axis=1).sort_values(ascending=False, kind="stable").index
    columns = {
        (label, size): f"{title}, {size}"
        for label, title in titles.items()
        for size in sorted(s for one, s in wide.columns if one == label)
    }
    rows = [
        {"feature": feature}
        | {heading: Cell(wide.loc[feature, key], digits=2) for key, heading in columns.items()}
        for feature in order[:most]
    ]
    return rows, len(order) - len(rows)


# Without `apart`: every data point and every size has rows of its own.
@table("selected_features", title="Selected features", columns=reads("selected_features"))
def selected_features(
    frame: pd.DataFrame,
    context: Context,
    *,
    most: Most = 40,
    where: Where = {},  # noqa: B006 - a default that pydantic copies
    title: Title = "",
) -> pd.DataFrame:
    """One row for each feature that is ever selected, the most selected first.

    There is one column for each algorithm, with the share of fits in which the feature has a
    nonzero coefficient in any task. Each data point, and with protocol ``selection`` each size, has
    its own rows. Fits that failed are left out and counted below the table.
    """
    frame = rows_where(frame, where)
    # Protocol `selection` also has rows that do not describe estimates.
    frame = frame[failed_rows(frame) | frame["selected_features"].notna()]
    failed = failed_rows(frame)
    labels = context.in_order("algorithm", sorted(frame["algorithm"].unique()))
    settings = [*frame.columns[: frame.columns.get_loc("replicate")]]
    settings += ["size"] if "size" in frame.columns else []
    ended = frame[~failed]
    points = [name for name in settings if ended[name].nunique(dropna=False) > 1]
    headings = told_apart({name: short_name(name) for name in points}, ["feature"])
    titles = context.titled(labels, "feature", *headings.values())
    groups: Any = [((), ended)]
    if points:
        groups = ended.groupby(points, sort=False, dropna=False)
    rows, left = [], 0
    for values, group in groups:
        point = dict(zip(headings.values(), map(str, values), strict=True))
        shares = _selection_shares(group, labels)
        # The most selected first, then by name.
        names = sorted(shares, key=lambda name: (-sum(shares[name].values()), name))
        for name in names[:most]:
            cells = {titles[label]: Cell(shares[name][label], digits=2) for label in labels}
            rows.append({**point, "feature": name, **cells})
        left += len(names[most:])
    counts = ended["algorithm"].value_counts()
    listed = ", ".join(f"{titles[label]} {counts.get(label, 0)}" for label in labels)
    notes = [f"Each number is the share of estimates that select the feature. Estimates: {listed}."]
    if failed.any():
        notes.append(f"Left out: {int(failed.sum())} fits that failed.")
    if left:
        notes.append(f"Left out: {left} features that are selected less.")
    return make_table(rows, notes, "Selected features", title, where)


def _selection_shares(group: pd.DataFrame, labels: list[str]) -> dict[str, dict[str, float]]:
    """Return for each feature the share of fits of each algorithm that select it."""
    shares: dict[str, dict[str, float]] = {}
    for label in labels:
        texts = group.loc[group["algorithm"] == label, "selected_features"].dropna()
        counts = Counter(name for text in texts for name in set(selected_of(text)))
        for name, count in counts.items():
            shares.setdefault(name, dict.fromkeys(labels, 0.0))[label] = count / len(texts)
    return shares
