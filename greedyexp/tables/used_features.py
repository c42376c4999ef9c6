"""Which features are used at given sizes."""

from __future__ import annotations

from typing import Annotated

import pandas as pd
from pydantic import Field

from greedyexp.core.registry import table
from greedyexp.results import selection
from greedyexp.results.comparison import single
from greedyexp.results.context import Context
from greedyexp.results.selection import Sizes, remarks, shares_text
from greedyexp.results.where import Where, rows_where
from greedyexp.tables.cells import Cell
from greedyexp.tables.titles import Title, titled


def _apart(**_) -> list[str]:
    return ["algorithm"]


def _columns(*, where=(), **_) -> list[str]:
    return ["algorithm", "used", "feature", "size", *where]


@table("used_features", title="Features in use", columns=_columns, apart=_apart)
def used_features(
    frame: pd.DataFrame,
    context: Context,
    *,
    sizes: Sizes = [],  # noqa: B006 - a default that pydantic copies
    most: Annotated[int, Field(ge=1, description="features listed at most")] = 40,
    where: Where = {},  # noqa: B006
    title: Title = "",
) -> pd.DataFrame:
    """With one replicate the features in use by name, one row for each algorithm and size.

    With several replicates one row for each feature that any of them uses, the most used first,
    and in one column for each algorithm and size the share of replicates that use it.
    """
    frame = rows_where(frame, where)
    used = selection.used_features(frame, sizes)
    labels = context.in_order("algorithm", sorted(used["algorithm"].unique()))
    titles = context.titled(labels)
    if single(context):
        result = _lists(used, titles)
        said = []
    else:
        result, left = _shares(used, titles, most)
        said = ["Each number is the share of replicates that use the feature."]
        said += [f"Left out: {left} features that are used less."] if left else []
    origin, *others = remarks(frame, context, shares_text(used["replicates"], context))
    result.attrs |= {
        "notes": [origin, *said, *others],
        "title": titled("Features in use", title, where),
    }
    return result


def _lists(used: pd.DataFrame, titles: dict[str, str]) -> pd.DataFrame:
    rows = []
    for label, name in titles.items():
        for size, part in used[used["algorithm"] == label].groupby("size"):
            names = part.loc[part["share"] > 0, "feature"].tolist()
            rows.append(
                {
                    "algorithm": name,
                    "size": str(size),
                    "used": str(len(names)),
                    "features": ", ".join(names),
                }
            )
    result = pd.DataFrame(rows)
    result.attrs["group"] = "algorithm"
    return result


def _shares(used: pd.DataFrame, titles: dict[str, str], most: int) -> tuple[pd.DataFrame, int]:
    """The table of shares, and how many features in use it leaves out."""
    wide = used.pivot_table(
        index="feature", columns=["algorithm", "size"], values="share", sort=False
    )
    wide = wide[wide.sum(axis=1) > 0]
    order = wide.sum(axis=1).sort_values(ascending=False, kind="stable").index
    shown = wide.loc[order[:most]]
    columns: dict[str, list] = {"feature": list(shown.index)}
    for label, name in titles.items():
        for size in sorted(s for one, s in wide.columns if one == label):
            values = shown[label, size]
            columns[f"{name}, {size}"] = [
                Cell(value, float("nan"), float("nan"), digits=2) for value in values
            ]
    return pd.DataFrame(columns), len(wide) - len(shown)
