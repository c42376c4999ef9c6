"""What each accuracy takes, in steps or features, and how it grows as accuracies get finer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from greedyexp.core.errors import ConfigError
from greedyexp.results.counts import require_numbers, require_numeric
from greedyexp.results.labels import number
from greedyexp.results.records import identity, records
from greedyexp.results.spread import spread_reached
from greedyexp.results.theorems import known_before, medians, one_reference, with_promise
from greedyexp.stats.contrasts import line_weights
from greedyexp.stats.means import t_interval

# What tells the rows of one replicate apart that have the same accuracy.
KEYS = ("theorem", "reference")
COUNTS = ("steps", "features_needed")

# Parameters of the figure and of the table.
Law = Annotated[
    Literal["power", "log"],
    Field(description="growth printed: the power of 1/epsilon, or steps for each factor of ten"),
]
Laws = Annotated[
    dict[str, Law],
    Field(description="power or log by theorem; power for the others"),
    known_before("law"),
]
FitBelow = Annotated[
    float | None,
    Field(gt=0, description="largest epsilon that counts for the growth; all if null"),
]


def accuracies(frame: pd.DataFrame, keys: Sequence[str], count: str, instead: str) -> pd.DataFrame:
    """The rows of accuracies, checked; an accuracy that was not reached has an infinite ``taken``.

    Parameters
    ----------
    frame : DataFrame
        Of protocol ``tradeoff``.
    keys : sequence of str
        What lines and panels are told apart by. With ``theorem`` among them, rows of which no
        theorem promises anything are left out.
    count : {"steps", "features_needed"}
        What is counted.
    instead : str
        What to do where nothing is promised though rows of theorems are asked for.

    Returns
    -------
    DataFrame
        Theorems in the order in which they are shown, those of which nothing is promised last.

    Raises
    ------
    ConfigError
        When a column is missing, has empty cells or is not numeric, lines would mix references, or
        nothing is promised where panels are those of theorems.
    """
    rows = records(frame, "epsilon", [*dict.fromkeys([*keys, *KEYS, "epsilon"])])
    require_numbers(rows, "epsilon")
    for name in (*COUNTS, "steps_bound"):
        require_numeric(rows, name)
    promised = with_promise(rows)
    if "theorem" not in keys:
        rows = pd.concat([promised, rows.drop(promised.index)])
    elif promised.empty:
        raise ConfigError(
            "no theorem promises anything of these rows.",
            remedy=instead,
        )
    else:
        rows = promised
    one_reference(rows, list(keys))
    return rows.assign(taken=rows[count].astype(float).fillna(np.inf))


def measured(rows: pd.DataFrame, frame: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Median and band of what is taken, at each accuracy; how many replicates ``reached`` it.

    A replicate counts once though several theorems speak of it.
    """
    names = [*keys, "epsilon"]
    once = rows.drop_duplicates([*dict.fromkeys([*identity(frame), *names])])
    return spread_reached(once, names)


def promised(
    rows: pd.DataFrame, frame: pd.DataFrame, keys: Sequence[str], count: str
) -> pd.DataFrame:
    """Median over replicates of what theorems promise at each accuracy, where it is finite.

    Parameters
    ----------
    rows : DataFrame
        As ``accuracies`` gives them.
    count : {"steps", "features_needed"}
        Steps bound features only of an algorithm whose predictors have no more features than steps.
    """
    if count == "features_needed":
        more = rows["features_needed"] > rows["steps"]
        rows = rows[~more.groupby([rows[name] for name in keys]).transform("any")]
    return medians(rows, frame, keys, "epsilon", "steps_bound")


def unreached_share(rows: pd.DataFrame, frame: pd.DataFrame) -> float:
    """Share of pairs of replicate and accuracy that was not reached."""
    own = [*identity(frame), "reference", "epsilon"]
    return float(np.isinf(rows.drop_duplicates(own)["taken"]).mean())


@dataclass(frozen=True)
class Growth:
    """A mean over replicates with its 95% t interval; nan without one.

    Parameters
    ----------
    value, low, high : float
    replicates : int
        Those with at least three accuracies reached by a step or more.
    """

    value: float
    low: float
    high: float
    replicates: int

    @property
    def known(self) -> bool:
        return self.replicates > 0


def growth(
    rows: pd.DataFrame, frame: pd.DataFrame, law: str, fit_below: float | None = None
) -> Growth:
    """How what is taken grows with 1 / epsilon: each replicate's least-squares slope, averaged.

    Parameters
    ----------
    rows : DataFrame
        Of one line, as ``accuracies`` gives them.
    law : {"power", "log"}
        The exponent p of (1 / epsilon)^p, or the steps that each factor of ten in accuracy costs.
    fit_below : float, optional
        The largest accuracy that counts; all when None. Those that take no step, or are not
        reached, are left out.
    """
    if fit_below is not None:
        # An accuracy beside the limit by rounding alone is at it.
        rows = rows[rows["epsilon"] <= fit_below * (1 + 1e-9)]
    slopes = []
    for _, one in rows.groupby(identity(frame), dropna=False, sort=False):
        one = one.drop_duplicates("epsilon")
        one = one[np.isfinite(one["taken"]) & (one["taken"] >= 1)]
        if len(one) < 3:
            continue
        weights = line_weights(-np.log10(one["epsilon"].to_numpy(dtype=float)))[1]
        taken = one["taken"].to_numpy(dtype=float)
        slopes.append(float(weights @ (np.log10(taken) if law == "power" else taken)))
    if not slopes:
        return Growth(np.nan, np.nan, np.nan, 0)
    value, low, high = t_interval(slopes)
    return Growth(value, low, high, len(slopes))


def growth_text(fit_below: float | None) -> str:
    """What numbers of growth are."""
    over = "all accuracies" if fit_below is None else f"accuracies of at most {number(fit_below)}"
    return f"Growth: means over replicates of least-squares slopes over {over}, 95% t intervals."
