"""Rows about theorems: bounds, accuracies that were reached, and the growth of counts.

Shared by the figures and tables of the protocol ``tradeoff``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, Field

from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.core.registry import parts
from greedyexp.experiment.messages import refusal
from greedyexp.results.context import Context
from greedyexp.results.curves import NO_INTERVAL, equal_in_splits, medians
from greedyexp.results.records import Where, as_list, identity, positions, records
from greedyexp.results.words import number_text
from greedyexp.stats.contrasts import line_weights
from greedyexp.stats.means import t_interval
from greedyexp.theory.theorems import NO_THEOREM, known_theorems, theorems

if TYPE_CHECKING:
    import pandas as pd

Count = Literal["steps", "features_needed"]

# Columns that describe an accuracy.
ACCURACY_COLUMNS = (
    *("record", "theorem", "reference", "epsilon"),
    *("steps", "features_needed", "steps_bound"),
)


def theorem_title(theorem: str) -> str:
    """Return the title of a theorem, or its name if it is not registered."""
    known = theorems().get(theorem)
    return theorem if known is None else known.title


def is_random(theorem: str) -> bool:
    """Return True if a theorem holds for the mean over runs, not for each run."""
    known = theorems().get(theorem)
    return known is not None and known.holds == "in_expectation"


def random_text(shown: Iterable[str], meaning: str) -> str:
    """Explain the bounds of theorems that do not hold for every run; empty if there is none.

    Parameters
    ----------
    shown : iterable of str
        Theorems.
    meaning : str
        Meaning of their bounds.
    """
    named = dict.fromkeys(theorem_title(name) for name in shown if is_random(name))
    return f"{', '.join(named)}: {meaning}." if named else ""


def title_theorem(values: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the theorem of a panel by its title."""
    return {
        name: theorem_title(value) if name == "theorem" else value for name, value in values.items()
    }


def names_known(parameter: str, named: Callable[[Any], Iterable[str]] = list) -> AfterValidator:
    """Return a validator that refuses unknown theorems.

    Before plugins are loaded, theorems of their algorithms are not known and nothing is refused.

    Parameters
    ----------
    parameter : str
        Name of the parameter, for the message.
    named : callable
        Returns the theorems in a value of the parameter.
    """

    def check(value: Any) -> Any:
        known = known_theorems(parts("algorithm").values())
        if value is not None and known is not None:
            for name in named(value):
                if name not in known:
                    raise refusal(_unknown(parameter, name), did_you_mean(name, known))
        return value

    return AfterValidator(check)


def refuse_unknown(parameter: str, named: Iterable[str], rows: pd.DataFrame) -> None:
    """Raise ``ConfigError`` if a theorem is neither known nor in the rows."""
    known = dict.fromkeys([*theorems(), *rows["theorem"]])
    for name in named:
        if name not in known:
            raise ConfigError(_unknown(parameter, name), remedy=did_you_mean(name, list(known)))


def _unknown(parameter: str, name: str) -> str:
    return f"unknown theorem '{name}' in `{parameter}`."


def _theorems_of(where: Mapping[str, Any]) -> list[str]:
    wanted = as_list(where.get("theorem"))
    return [str(one) for one in wanted if one not in (None, NO_THEOREM)]


# Parameters of figures and tables.
WhereTheorem = Annotated[Where, names_known("where", _theorems_of)]
Law = Annotated[
    Literal["power", "log"],
    Field(description="growth stated: the power of 1/epsilon, or steps for each factor of ten"),
]
Laws = Annotated[
    dict[str, Law],
    Field(description="power or log by theorem; power for the others"),
    names_known("law"),
]
FitBelow = Annotated[
    float | None, Field(gt=0, description="largest epsilon that counts for the growth; all if null")
]


def without_theorem(where: Mapping[str, Any]) -> dict[str, Any]:
    """Drop the theorem from a choice of rows."""
    return {name: value for name, value in where.items() if name != "theorem"}


def with_bound(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with a bound by some theorem, in the order of ``theorems``."""
    places = {name: place for place, name in enumerate(theorems())}
    kept = rows[rows["theorem"] != NO_THEOREM]
    order = kept["theorem"].map(places).fillna(len(places))
    found: pd.DataFrame = kept.loc[order.sort_values(kind="stable").index]
    return found


def bound_medians(
    rows: pd.DataFrame, frame: pd.DataFrame, keys: Sequence[str], at: str, bound: str
) -> pd.DataFrame:
    """Compute the median over replicates of each theorem's bound, where it is finite.

    Parameters
    ----------
    rows : DataFrame
        One row for each replicate, reference, theorem and value of ``at``.
    keys : sequence of str
        Columns that separate lines and panels.
    at : {"epsilon", "step"}
        Column along which bounds are given.
    bound : str
        Column of the bound. An empty cell is an infinite bound. A missing row of a replicate is an
        infinite bound too, unless the theorem is one of the keys.

    Returns
    -------
    DataFrame
        The keys, ``theorem``, ``at`` and the columns of ``medians``, in the order of ``theorems``.
    """
    import pandas as pd

    names = [*dict.fromkeys([*keys, "theorem"]), at]
    own = [*dict.fromkeys([*identity(frame), *keys, "reference", at])]
    every = rows[own].drop_duplicates()
    parts = [rows.iloc[:0].assign(value=[])]
    for theorem, some in with_bound(rows).groupby("theorem", sort=False):
        if "theorem" not in keys:
            some = every.merge(some[[*own, bound]], on=own, how="left").assign(theorem=theorem)
        parts.append(some.assign(value=some[bound].astype(float).fillna(np.inf)))
    table = medians(pd.concat(parts[1:] or parts), names, "value")
    return with_bound(table[np.isfinite(table["estimate"])])


def refuse_mixed_references(rows: pd.DataFrame, keys: list[str]) -> None:
    """Raise ``ConfigError`` if a line has several references.

    Parameters
    ----------
    keys : list of str
        Columns that separate lines and panels.
    """
    if "reference" in keys or (rows.groupby(keys)["reference"].nunique() <= 1).all():
        return
    names = list(rows["reference"].unique())
    raise ConfigError(
        f"lines would mix the references {', '.join(names)}.",
        remedy=f"Choose one, such as `where: {{reference: {names[0]}}}`, or name reference as row"
        " or panel.",
    )


def accuracies(frame: pd.DataFrame, keys: Sequence[str], count: Count, remedy: str) -> pd.DataFrame:
    """Return the rows about accuracies, checked.

    Parameters
    ----------
    frame : DataFrame
        Table of protocol ``tradeoff``.
    keys : sequence of str
        Columns that separate lines and panels. If ``theorem`` is one of them, rows without a bound
        are left out.
    count : {"steps", "features_needed"}
        Column to count.
    remedy : str
        Advice to the user if ``theorem`` is one of the keys and no row has a bound.

    Returns
    -------
    DataFrame
        The rows with a column ``taken``: the count, infinite where the accuracy was not reached.
        Theorems are in the order of ``theorems``; rows without a bound come last.

    Raises
    ------
    ConfigError
        If a column is missing or has wrong values, lines would mix references, or panels of
        theorems would be empty.
    """
    import pandas as pd

    rows = records(
        frame,
        "epsilon",
        [*dict.fromkeys([*keys, "theorem", "reference"])],
        finite=["epsilon"],
        numeric=["steps", "features_needed", "steps_bound"],
    )
    bounded = with_bound(rows)
    if "theorem" not in keys:
        rows = pd.concat([bounded, rows.drop(bounded.index)])
    elif bounded.empty:
        raise ConfigError("no theorem has a bound for these rows.", remedy=remedy)
    else:
        rows = bounded
    refuse_mixed_references(rows, list(keys))
    found: pd.DataFrame = rows.assign(taken=rows[count].astype(float).fillna(np.inf))
    return found


@dataclass(frozen=True)
class Growth:
    """A mean over replicates with its t interval; nan if no replicate could be fitted.

    Parameters
    ----------
    value, low, high : float
    replicates : int
        Replicates with at least three accuracies that took a step or more.
    """

    value: float
    low: float
    high: float
    replicates: int


def growth(
    rows: pd.DataFrame, frame: pd.DataFrame, context: Context, law: Law, fit_below: float | None
) -> Growth:
    """Average over replicates the least-squares slope of the count along log10(1 / epsilon).

    The interval allows for looks and for replicates that resample one data set.

    Parameters
    ----------
    rows : DataFrame
        The rows of one line, from ``accuracies``.
    law : {"power", "log"}
        The exponent p of (1 / epsilon)^p, or the steps for each factor of ten in accuracy.
    fit_below : float, optional
        The largest accuracy that is fitted; all if None. Accuracies that need no step or were not
        reached are left out.
    """
    if fit_below is not None:
        # Accuracies may differ from the limit by rounding.
        rows = rows[rows["epsilon"] <= fit_below * (1 + 1e-9)]
    own = identity(frame)
    rows = rows.drop_duplicates([*own, "epsilon"])
    decades = -np.log10(rows["epsilon"].to_numpy(dtype=float))
    counts = rows["taken"].to_numpy(dtype=float)
    fitted = np.isfinite(counts) & (counts >= 1)
    slopes = []
    for part in positions(rows, own):
        part = part[fitted[part]]
        if len(part) < 3:
            continue
        taken = counts[part]
        weights = line_weights(decades[part])[1]
        slopes.append(float(weights @ (np.log10(taken) if law == "power" else taken)))
    if not slopes:
        return Growth(np.nan, np.nan, np.nan, 0)
    added = context.resampling.added(rows, "steps")
    value, low, high = t_interval(slopes, context.confidence, added)
    if equal_in_splits(np.array(slopes), added):
        low, high = NO_INTERVAL
    return Growth(value, low, high, len(slopes))


def growth_text(fit_below: float | None, intervals: str) -> str:
    """Describe how growth is computed, with a description of the intervals."""
    over = "all accuracies"
    if fit_below is not None:
        over = f"accuracies of at most {number_text(fit_below)}"
    return f"Growth: means over replicates of least-squares slopes over {over}, {intervals}."
