"""One algorithm where a sweep changes with the panels, whichever of its columns tells them."""

from __future__ import annotations

import pandas as pd

from greedyexp.results.context import Context
from greedyexp.results.records import identity, told_apart


def folded(
    frame: pd.DataFrame, context: Context, *columns: str | None
) -> tuple[pd.DataFrame, list[str]]:
    """As ``told_apart``; besides, values swept together are told by one of their columns.

    With ``zip: [{loss: [squared, logistic], ridge: [0.0, 0.01]}]`` a panel for each loss has one
    ridge, so that the lines of all panels are those of one algorithm.

    Parameters
    ----------
    *columns : str or None
        See ``told_apart``.
    """
    named, keys = told_apart(frame, context, *columns)
    entry = frame["algorithm"].map(lambda label: context.entry(label, frame.columns))
    cells = [named[key] for key in keys if key != "algorithm"]
    own = [*cells, entry] if "algorithm" in keys else cells
    told = [
        name
        for name in identity(frame)
        if name not in ("replicate", "algorithm", *keys)
        and (frame[name].groupby(own, dropna=False).nunique(dropna=False) == 1).all()
    ]
    return told_apart(frame, context, *keys, *told)[0], keys
