"""Growth of the number of steps with the accuracy, measured and promised by theorems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from greedyexp.core.registry import table
from greedyexp.results import theorems
from greedyexp.results.columns import declared, separate_algorithms
from greedyexp.results.context import Context
from greedyexp.results.notes import interval_text, run_notes
from greedyexp.results.records import group_columns, identity, rows_where
from greedyexp.results.text import count_text
from greedyexp.results.words import number_text, short_name
from greedyexp.tables._output import Cell, Title, make_table

if TYPE_CHECKING:
    import pandas as pd

_LAWS = {"power": "the power p of (1/ε)^p", "log": "steps for each factor of ten in accuracy"}
_RATIO = "Ratio: steps to promised steps, median and largest over replicates and accuracies."

Row = Annotated[str | None, Field(description="column with one group of rows per value")]


@table(
    "slopes",
    title="Growth of steps",
    **declared(*theorems.ACCURACY_COLUMNS, apart=separate_algorithms),
)
def slopes(
    frame: pd.DataFrame,
    context: Context,
    *,
    row: Row = None,
    law: theorems.Laws = {},  # noqa: B006 - a default that pydantic copies
    fit_below: theorems.FitBelow = None,
    where: theorems.WhereTheorem = {},  # noqa: B006
    title: Title = "",
) -> pd.DataFrame:
    """One row for each algorithm and theorem, and each value of ``row`` and reference.

    Growth is the power p of (1 / epsilon)^p, or with ``law: {T4: log}`` the steps for each factor
    of ten in accuracy: the mean over replicates of least-squares slopes with its t interval.
    The next column is the growth of the promised steps. The next two columns are the median and the
    largest ratio of steps to promised steps, over pairs of replicate and accuracy. The last column
    is the share of pairs that were not reached within the budget: their ratio is infinite if the
    promised steps are within the budget, and left out otherwise. A largest ratio above 1 refutes a
    theorem that holds for every run. If there are several laws, a column names them.
    """
    frame = rows_where(frame, where)
    frame, keys = group_columns(
        frame, context, row, "algorithm", "theorem", "reference", merge=True
    )
    rows = theorems.accuracies(frame, keys, "steps", "Leave the table out.")
    theorems.refuse_unknown("law", law, rows)
    found = _growth_table(rows, frame, context, keys, law, fit_below)
    titles = context.titled(context.in_order("algorithm", list(found["algorithm"].unique())))
    found = _sorted(found, "algorithm", list(titles))
    if row is not None:
        levels = list(found[row].unique())
        words = isinstance(levels[0], str)
        found = _sorted(found, row, context.in_order(row, levels) if words else sorted(levels))
    varying = [name for name in ("reference", "law") if found[name].nunique() > 1]
    lines = []
    for one in found.to_dict("records"):
        line: dict[str, Any] = {} if row is None else {short_name(row): number_text(one[row])}
        line |= {
            "algorithm": titles[one["algorithm"]],
            "theorem": theorems.theorem_title(one["theorem"]),
        }
        line |= {name: one[name].replace("_", " ") for name in varying}
        digits = 3 if one["law"] == "power" else 2
        line |= {name: _growth_cell(one[name], digits) for name in ("growth", "promised")}
        line |= {
            "ratio": Cell(one["ratio"], significant=True),
            "largest": Cell(one["largest"], significant=True),
            "not reached (%)": Cell(100.0 * one["unreached"], digits=1),
        }
        lines.append(line)
    counts = f"{count_text(found['replicates'])} replicates"
    origin, failures = run_notes(frame, context, counts)
    notes = [
        origin,
        theorems.growth_text(fit_below, interval_text("t", frame, context)),
        *_law_texts(set(found["law"])),
        _RATIO,
        failures,
    ]
    group = None if row is None else short_name(row)
    # The rows name the theorems.
    return make_table(
        lines, notes, "Growth of steps", title, theorems.without_theorem(where), group
    )


def _sorted(found: pd.DataFrame, column: str, levels: list[Any]) -> pd.DataFrame:
    return found.sort_values(column, key=lambda values: values.map(levels.index), kind="stable")


def _growth_table(
    rows: pd.DataFrame,
    frame: pd.DataFrame,
    context: Context,
    keys: Sequence[str],
    law: Mapping[str, theorems.Law],
    fit_below: float | None,
) -> pd.DataFrame:
    """Compare measured and promised steps for each combination of the keys.

    Parameters
    ----------
    rows : DataFrame
        The result of ``accuracies``, counted in steps.
    keys : sequence of str
        ``algorithm``, ``theorem`` and others.
    law : mapping of theorem to {"power", "log"}
        Law of each theorem; ``power`` for the others.

    Returns
    -------
    DataFrame
        The keys and the ``law``; ``growth`` and ``promised`` growth; the median ``ratio`` of steps
        to promised steps over pairs of replicate and accuracy, and the ``largest``; the share of
        pairs ``unreached`` and the number of ``replicates``. A pair not reached within the budget
        has an infinite ratio if the promised steps are within the budget, and none otherwise.
    """
    import pandas as pd

    budget = frame["step"].max() if "step" in frame.columns else 0.0
    found = []
    groups: Any = rows.groupby(list(keys), sort=False)
    for key, own in groups:
        values = dict(zip(keys, key, strict=True))
        kind = law.get(values["theorem"], "power")
        bound = own["steps_bound"].astype(float)
        known = (np.isfinite(own["taken"]) | (bound <= budget)) & (bound >= 1)
        ratios = (own["taken"] / bound)[known]
        promised = own.assign(taken=bound.fillna(np.inf))
        found.append(
            values
            | {
                "law": kind,
                "growth": theorems.growth(own, frame, context, kind, fit_below),
                "promised": theorems.growth(promised, frame, context, kind, fit_below),
                "ratio": ratios.median(),
                "largest": ratios.max(),
                "unreached": float(np.isinf(own["taken"]).mean()),
                "replicates": len(own.drop_duplicates(identity(frame))),
            }
        )
    return pd.DataFrame(found)


def _growth_cell(one: theorems.Growth, digits: int) -> Cell:
    return Cell(one.value, one.low, one.high, digits=digits)


def _law_texts(laws: set[str]) -> list[str]:
    """Explain growth; by the name of the law if there is a column of laws."""
    named = [law for law in _LAWS if law in laws]
    if len(named) == 1:
        return [f"It is {_LAWS[named[0]]}."]
    return [f"Law {law}: {_LAWS[law]}." for law in named]
