"""What figures and tables call theorems, and rows in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import AfterValidator

from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.protocols.tradeoff._promises import all_theorems_registered
from greedyexp.results.asked import refused
from greedyexp.results.records import identity
from greedyexp.results.spread import spread
from greedyexp.results.where import Where, where_text
from greedyexp.theory.theorems import NO_THEOREM, theorems


def words(theorem: str) -> str:
    """Return the title of a theorem; its name if it is not registered."""
    known = theorems().get(theorem)
    return theorem if known is None else known.title


def at_random(theorem: str) -> bool:
    """Return True if a theorem holds for the mean over runs, not for each run."""
    known = theorems().get(theorem)
    return known is not None and known.holds == "in_expectation"


def with_promise(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with a bound, in the order of ``theorems``."""
    places = {name: place for place, name in enumerate(theorems())}
    kept = rows[rows["theorem"] != NO_THEOREM]
    order = kept["theorem"].map(lambda name: places.get(name, len(places)))
    return kept.loc[order.sort_values(kind="stable").index]


def medians(
    rows: pd.DataFrame, frame: pd.DataFrame, keys: Sequence[str], at: str, bound: str
) -> pd.DataFrame:
    """Median over replicates of what each theorem promises, where it is finite.

    Parameters
    ----------
    rows : DataFrame
        One for each replicate, reference, theorem and value of ``at``.
    keys : sequence of str
        What lines and panels are told apart by.
    at : str
        Column along which promises are made: epsilon or step.
    bound : str
        Column of what is promised. An empty cell is an infinite bound, and so is a theorem of which
        a replicate has no row, unless it is a key.

    Returns
    -------
    DataFrame
        The keys, ``theorem``, ``at`` and the columns of ``spread``, in the order of theorems.
    """
    names = [*dict.fromkeys([*keys, "theorem"]), at]
    own = [*dict.fromkeys([*identity(frame), *keys, "reference", at])]
    every = rows[own].drop_duplicates()
    parts = [rows.iloc[:0].assign(value=[])]
    for theorem, some in with_promise(rows).groupby("theorem", sort=False):
        if "theorem" not in keys:
            some = every.merge(some[[*own, bound]], on=own, how="left").assign(theorem=theorem)
        parts.append(some.assign(value=some[bound].astype(float).fillna(np.inf)))
    table = spread(pd.concat(parts[1:] or parts), names, "value")
    return with_promise(table[np.isfinite(table["median"])])


def without_repeats(table: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """The bounds of ``medians``, of theorems that promise the same all along the first alone."""
    kept = [table.iloc[:0]]
    for _, line in table.groupby(list(keys), sort=False):
        seen = []
        for _, one in line.groupby("theorem", sort=False):
            values = one["median"].tolist()
            if values not in seen:
                seen.append(values)
                kept.append(one)
    return pd.concat(kept[1:] or kept)


def one_reference(rows: pd.DataFrame, keys: list[str]) -> None:
    """Refuse rows that have several references in one line, as these are reached at other steps.

    Parameters
    ----------
    keys : list of str
        What lines and panels are told apart by.

    Raises
    ------
    ConfigError
        With the references.
    """
    if "reference" in keys or (rows.groupby(keys)["reference"].nunique() <= 1).all():
        return
    names = list(rows["reference"].unique())
    raise ConfigError(
        f"lines would mix the references {', '.join(names)}.",
        remedy=f"Choose one, such as `where: {{reference: {names[0]}}}`, or name reference as row"
        " or panel.",
    )


def split_where(frame: pd.DataFrame, where: Mapping) -> tuple[dict, dict]:
    """The choices among data and algorithms, and those among results, such as a reference.

    Rows of other records do not have the latter.
    """
    told = identity(frame)
    chosen = {name: value for name, value in where.items() if name in told}
    return chosen, {name: value for name, value in where.items() if name not in told}


def chosen_text(where: Mapping) -> str:
    """The rows chosen, in words, but for the theorems: panels and legends tell these."""
    told = where_text(without_theorem(where))
    return f"{told}." if told else ""


def without_theorem(where: Mapping) -> dict:
    """The choices but for the theorems."""
    return {name: value for name, value in where.items() if name != "theorem"}


def in_words(values: Mapping) -> dict:
    """The values of a panel, its theorem as it is called."""
    return {name: words(one) if name == "theorem" else one for name, one in values.items()}


def known_before(parameter: str, named: Callable = list) -> AfterValidator:
    """Refuses names that no theorem has before a run, unless a plugin may have them.

    Parameters
    ----------
    parameter : str
        What sentences call it.
    named : callable
        From a value of the parameter to the names in it.
    """

    def check(value):
        known = theorems()
        for name in () if value is None or not all_theorems_registered() else named(value):
            if name not in known:
                raise refused(_unknown(parameter, name), did_you_mean(name, known))
        return value

    return AfterValidator(check)


def _chosen(where: Mapping) -> list[str]:
    wanted = where.get("theorem")
    wanted = wanted if isinstance(wanted, list) else [wanted]
    return [str(one) for one in wanted if one not in (None, NO_THEOREM)]


# Parameter of figures and tables of promises.
WhereTheorem = Annotated[Where, known_before("where", _chosen)]


def _unknown(parameter: str, name: str) -> str:
    return f"unknown theorem '{name}' in `{parameter}`."


def refuse_unknown(parameter: str, named: Iterable[str], rows: pd.DataFrame) -> None:
    """Refuse names that no theorem has, here or anywhere.

    Raises
    ------
    ConfigError
        With the nearest name.
    """
    known = dict.fromkeys([*theorems(), *rows["theorem"]])
    for name in named:
        if name not in known:
            raise ConfigError(_unknown(parameter, name), remedy=did_you_mean(name, list(known)))
