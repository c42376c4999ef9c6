"""How steps grow as accuracies get finer, measured and promised."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field

from greedyexp.frames import notes
from greedyexp.frames.accuracies import FitBelow, Growth, Laws, accuracies, growth_text
from greedyexp.frames.context import Context
from greedyexp.frames.folding import folded
from greedyexp.frames.growth_table import growth_table
from greedyexp.frames.labels import letter, number
from greedyexp.frames.records import replicates
from greedyexp.frames.theorems import refuse_unknown, words
from greedyexp.frames.where import Where, rows_where
from greedyexp.registry import table
from greedyexp.tables.cells import Cell
from greedyexp.tables.titles import Title, titled

Row = Annotated[str | None, Field(description="column with one group of rows per value")]


def _apart(*, row, **_) -> list[str]:
    return [] if row is None else [row]


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
    where: Where = {},  # noqa: B006
    title: Title = "",
) -> pd.DataFrame:
    """One row for each algorithm and theorem, and each value of ``row`` and reference.

    Growth is the power p of (1 / epsilon)^p, or with ``law: {T4: log}`` the steps that each factor
    of ten in accuracy takes, each the mean over replicates of least-squares slopes with its 95% t
    interval; beside it that of the promised steps. Then stand the median and the largest ratio of
    steps to promised steps, over pairs of replicate and accuracy, and the share of pairs that the
    budget did not reach: their ratio is infinite where the promised steps are within the budget,
    and left out where they are not. A largest ratio above 1 refutes a theorem that is about every
    run.
    """
    frame = rows_where(frame, where)
    frame, keys = folded(frame, context, row, "algorithm", "theorem", "reference")
    rows = accuracies(frame, keys, "steps")
    refuse_unknown("law", law, rows)
    found = growth_table(rows, frame, keys, law, fit_below)
    titles = context.titled(context.in_order("algorithm", list(found["algorithm"].unique())))
    order = {label: place for place, label in enumerate(titles)}
    found = found.sort_values("algorithm", key=lambda column: column.map(order), kind="stable")
    if row is not None:
        found = found.sort_values(row, kind="stable")
    several = found["reference"].nunique() > 1
    lines = []
    for one in found.to_dict("records"):
        line = {} if row is None else {letter(row): number(one[row])}
        line |= {"algorithm": titles[one["algorithm"]], "theorem": words(one["theorem"])}
        line |= {"reference": one["reference"].replace("_", " ")} if several else {}
        unit = "power of 1/ε" if one["law"] == "power" else "steps per factor of ten"
        lines.append(
            line
            | {
                "growth of steps": unit,
                "measured": _growth(one["growth"]),
                "promised": _growth(one["promised"]),
                "steps / promised": _ratio(one["ratio"]),
                "largest": _ratio(one["worst"]),
                "not reached (%)": Cell(100.0 * one["unreached"], np.nan, np.nan, digits=1),
            }
        )
    result = pd.DataFrame(lines)
    fewest, most = found["replicates"].min(), found["replicates"].max()
    said = [
        f"{notes.origin(context)}: {notes.count_text(fewest, most)} replicates.",
        growth_text(fit_below),
        f"{notes.failures_text(replicates(frame), 'left out')}.",
        notes.pooled_text(rows, [*keys, "epsilon"]),
    ]
    result.attrs |= {
        "notes": [one for one in said if one],
        "title": titled("Growth of steps", title, where),
    }
    if row is not None:
        result.attrs["group"] = letter(row)
    return result


def _growth(one: Growth) -> Cell:
    return Cell(one.value, one.low, one.high)


def _ratio(value: float) -> Cell:
    """Three digits that count, as ratios of all sizes stand in one column."""
    size = math.floor(math.log10(value)) if 0.0 < value < math.inf else 0
    return Cell(value, np.nan, np.nan, digits=max(0, 2 - size))
