"""How steps grow as accuracies get finer, measured and promised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field

from greedyexp.core.registry import table
from greedyexp.results import notes
from greedyexp.results.accuracies import FitBelow, Growth, Laws, accuracies, growth_text
from greedyexp.results.context import Context
from greedyexp.results.folding import folded
from greedyexp.results.growth_table import growth_table
from greedyexp.results.labels import letter, number
from greedyexp.results.records import replicates
from greedyexp.results.theorems import WhereTheorem, refuse_unknown, without_theorem, words
from greedyexp.results.where import rows_where
from greedyexp.tables.cells import Cell
from greedyexp.tables.titles import Title, titled

_LAWS = {
    "power": "the power p of (1/ε)^p",
    "log": "steps for each factor of ten in accuracy",
}
_RATIO = "Ratio: steps to promised steps, median and largest over replicates and accuracies."

Row = Annotated[str | None, Field(description="column with one group of rows per value")]


def _apart(*, row, **_) -> list[str]:
    return [*([] if row is None else [row]), "algorithm"]


def _columns(*, row, where, **_) -> list[str]:
    told = ["record", "theorem", "reference", "epsilon", "steps", "features_needed", "steps_bound"]
    return [*_apart(row=row), *told, *where]


@table("slopes", title="Growth of steps", columns=_columns, apart=_apart)
def slopes(
    frame: pd.DataFrame,
    context: Context,
    *,
    row: Row = None,
    law: Laws = {},  # noqa: B006 - a default that pydantic copies
    fit_below: FitBelow = None,
    where: WhereTheorem = {},  # noqa: B006
    title: Title = "",
) -> pd.DataFrame:
    """One row for each algorithm and theorem, and each value of ``row`` and reference.

    Growth is the power p of (1 / epsilon)^p, or with ``law: {T4: log}`` the steps that each factor
    of ten in accuracy takes, each the mean over replicates of least-squares slopes with its 95% t
    interval; beside it that of the promised steps. Then stand the median and the largest ratio of
    steps to promised steps, over pairs of replicate and accuracy, and the share of pairs that the
    budget did not reach: their ratio is infinite where the promised steps are within the budget,
    and left out where they are not. A largest ratio above 1 refutes a theorem that is about every
    run. The law stands in a column of its own where there are several.
    """
    frame = rows_where(frame, where)
    frame, keys = folded(frame, context, row, "algorithm", "theorem", "reference")
    rows = accuracies(frame, keys, "steps", "Leave the table out.")
    refuse_unknown("law", law, rows)
    found = growth_table(rows, frame, keys, law, fit_below)
    titles = context.titled(context.in_order("algorithm", list(found["algorithm"].unique())))
    order = {label: place for place, label in enumerate(titles)}
    found = found.sort_values("algorithm", key=lambda column: column.map(order), kind="stable")
    if row is not None:
        levels = list(found[row].unique())
        levels = context.in_order(row, levels) if isinstance(levels[0], str) else sorted(levels)
        found = found.sort_values(row, key=lambda column: column.map(levels.index), kind="stable")
    apart = [name for name in ("reference", "law") if found[name].nunique() > 1]
    lines = []
    for one in found.to_dict("records"):
        line = {} if row is None else {letter(row): number(one[row])}
        line |= {"algorithm": titles[one["algorithm"]], "theorem": words(one["theorem"])}
        lines.append(line | {name: one[name].replace("_", " ") for name in apart} | _numbers(one))
    result = pd.DataFrame(lines)
    fewest, most = found["replicates"].min(), found["replicates"].max()
    said = [
        f"{notes.origin(context)}: {notes.count_text(fewest, most)} replicates.",
        growth_text(fit_below),
        *_law_texts(found["law"]),
        _RATIO,
        f"{notes.failures_text(replicates(frame), 'left out')}.",
    ]
    result.attrs |= {
        "notes": [one for one in said if one],
        # Rows tell the theorems.
        "title": titled("Growth of steps", title, without_theorem(where)),
    }
    if row is not None:
        result.attrs["group"] = letter(row)
    return result


def _law_texts(laws: pd.Series) -> list[str]:
    """What growth is; by the name of the law where a column tells it."""
    told = [law for law in _LAWS if law in set(laws)]
    if len(told) == 1:
        return [f"It is {_LAWS[told[0]]}."]
    return [f"Law {law}: {_LAWS[law]}." for law in told]


def _numbers(one: Mapping) -> dict[str, Cell]:
    """The cells of a row of ``growth_table``."""
    digits = 3 if one["law"] == "power" else 2
    return {
        "growth": _growth(one["growth"], digits),
        "promised": _growth(one["promised"], digits),
        "ratio": _ratio(one["ratio"]),
        "largest": _ratio(one["worst"]),
        "not reached (%)": Cell(100.0 * one["unreached"], np.nan, np.nan, digits=1),
    }


def _growth(one: Growth, digits: int) -> Cell:
    return Cell(one.value, one.low, one.high, digits=digits)


def _ratio(value: float) -> Cell:
    return Cell(value, np.nan, np.nan, significant=True)
