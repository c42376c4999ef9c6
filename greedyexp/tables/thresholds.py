"""Where the success of each algorithm crosses a level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from greedyexp.core.registry import table
from greedyexp.results import successes
from greedyexp.results.columns import declared
from greedyexp.results.context import Context
from greedyexp.results.records import Where, require_finite, rows_where
from greedyexp.results.words import number_text, short_name, told_apart
from greedyexp.tables._output import Cell, Title, make_table

if TYPE_CHECKING:
    import pandas as pd


def _apart(*, rows: Sequence[str] = (), of: str = "theta", **_: Any) -> list[str]:
    return [*rows, "algorithm", of]


@table("thresholds", title="Thresholds", **declared(apart=_apart))
def thresholds(
    frame: pd.DataFrame,
    context: Context,
    *,
    rows: Annotated[
        list[str], Field(min_length=1, description="columns with one row for each combination")
    ],
    of: successes.Of = "theta",
    success: successes.Success = {"default": "sign_support"},  # noqa: B006 - pydantic copies it
    level: successes.Level = 0.5,
    direction: successes.Direction = None,
    digits: Annotated[int, Field(ge=0, le=10, description="decimals")] = 2,
    where: Where = {},  # noqa: B006
    title: Title = "",
) -> pd.DataFrame:
    """Value of ``of`` at which success reaches ``level``, one column for each algorithm.

    Estimates and intervals are those of figure ``transition_threshold``. A replicate that
    failed is a trial without success. An estimate is infinite if success does not cross the level
    in the tested range. There is none if success neither rises nor falls clearly.
    """
    frame = rows_where(frame, where)
    metrics = successes.metrics_of(frame, context, success)
    frame = successes.trials_of(frame, metrics, [*rows, of])
    require_finite(frame, of)
    keys = [*rows, "algorithm"]
    found = successes.thresholds(
        frame, context, of=of, success=success, by=keys, level=level, direction=direction
    )
    labels = context.in_order("algorithm", list(found["algorithm"].unique()))
    headings = told_apart({name: short_name(name) for name in rows})
    titles = context.titled(labels, *headings.values())
    lines = []
    for setting, cells in found.groupby(rows, sort=True, dropna=False):
        line: dict[str, Any] = {
            headings[name]: number_text(value) for name, value in zip(rows, setting, strict=True)
        }
        line |= dict.fromkeys(titles.values(), "")
        for one in cells.to_dict("records"):
            numbers = (one["estimate"], one["low"], one["high"])
            line[titles[one["algorithm"]]] = Cell(*numbers, digits=digits, ends=True)
        lines.append(line)
    notes = successes.threshold_notes(frame, context, found, keys)
    default = f"{short_name(of)} at {100 * level:.4g}% success"
    group = headings[rows[0]] if len(rows) > 1 else None
    chosen = {name: value for name, value in where.items() if name != "algorithm"}
    return make_table(lines, notes, default, title, chosen, group)
