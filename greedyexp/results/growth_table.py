"""Measured steps beside promised ones: growth, ratio, and what was not reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from greedyexp.results.accuracies import growth
from greedyexp.results.records import identity


def growth_table(
    rows: pd.DataFrame,
    frame: pd.DataFrame,
    keys: Sequence[str],
    law: Mapping[str, str],
    fit_below: float | None,
) -> pd.DataFrame:
    """One row for each combination of the keys.

    Parameters
    ----------
    rows : DataFrame
        As ``frames.accuracies`` gives them, counted in steps.
    keys : sequence of str
        ``algorithm``, ``theorem`` and others.
    law : mapping of theorem to {"power", "log"}
        ``power`` for those that are not named.
    fit_below : float or None
        See ``growth``.

    Returns
    -------
    DataFrame
        The keys; ``growth`` (``Growth``), ``promised`` (that of the bound, likewise), ``ratio``,
        the median over pairs of replicate and accuracy of steps to promised steps, and ``worst``,
        the largest; the share of pairs ``unreached`` and the number of ``replicates``. A pair that
        the budget did not reach has an infinite ratio where the promised steps are within the
        budget, and none where they are beyond.
    """
    budget = frame["step"].max() if "step" in frame.columns else 0.0
    found = []
    for key, own in rows.groupby(list(keys), sort=False):
        told = dict(zip(keys, key, strict=True))
        kind = law.get(told["theorem"], "power")
        bound = own["steps_bound"].astype(float)
        known = (np.isfinite(own["taken"]) | (bound <= budget)) & (bound >= 1)
        ratios = (own["taken"] / bound)[known]
        promise = own.assign(taken=bound.fillna(np.inf))
        found.append(
            told
            | {
                "law": kind,
                "growth": growth(own, frame, kind, fit_below),
                "promised": growth(promise, frame, kind, fit_below),
                "ratio": ratios.median(),
                "worst": ratios.max(),
                "unreached": float(np.isinf(own["taken"]).mean()),
                "replicates": len(own.drop_duplicates(identity(frame))),
            }
        )
    return pd.DataFrame(found)
