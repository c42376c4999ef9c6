"""Texts of figures, tables and notes: columns, values, counts, failures, chosen rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from greedyexp.results.context import Context
from greedyexp.results.records import NOT_CERTIFIED, failed_rows

if TYPE_CHECKING:
    import pandas as pd

# Columns that the field abbreviates by a letter.
_SHORT = {
    "kappa": "κ",
    "theta": "θ",
    "noise_std": "σ",
    "n_samples": "n",
    "epsilon": "ε",
    "lam": "λ",
    "aspect_ratio": "p/n",
}
# Columns whose values need no name in front.
_SELF_EXPLAINING = ("data", "theorem")

_AXES = {
    "theta": r"control parameter $\theta = n\,/\,(s\,\log(p-(2-\kappa)s))$",
    "kappa": r"shared fraction of the supports $\kappa$",
    "noise_std": r"standard deviation of the noise $\sigma$",
    "p": "number of features $p$",
    "lam": r"weight of the $\ell_1$ norm $\lambda$",
    "aspect_ratio": "features per sample $p\\,/\\,n$",
    "epsilon": r"accuracy $\varepsilon$",
    "iteration": "iteration $k$",
    "iterations": r"iterations to reach the accuracy, $k(\varepsilon)$",
    "gap": "objective above its minimum",
    "size": "number of features selected",
    "step": "steps $k$",
    "steps": r"steps to reach the accuracy, $k(\varepsilon)$",
    "features_needed": "features to reach the accuracy",
}


def short_name(column: str) -> str:
    """Return a column's letter, or its name with spaces."""
    return _SHORT.get(column, column.replace("_", " "))


def axis_label(column: str) -> str:
    """Return the label of an axis for a column."""
    return _AXES.get(column, short_name(column))


def number_text(value: Any) -> str:
    """Format the value of a column; floats get four significant digits."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def values_text(values: Mapping[Any, Any]) -> str:
    """Join ``column = value`` by commas.

    Parameters
    ----------
    values : mapping of str or None to a value
        Entries with column None or value nan are left out.
    """
    return ", ".join(
        _value_text(value)
        if column in _SELF_EXPLAINING
        else f"{short_name(column)} = {_value_text(value)}"
        for column, value in values.items()
        if column is not None and not (isinstance(value, float) and math.isnan(value))
    )


def _value_text(value: Any) -> str:
    return value.replace("_", " ") if isinstance(value, str) else number_text(value)


def where_text(where: Mapping[str, Any]) -> str:
    """Return a choice of rows as text; empty if there is none."""
    return values_text(
        {
            name: ", ".join(map(str, value)) if isinstance(value, list) else value
            for name, value in where.items()
            if name != "record"
        }
    )


def chosen_text(where: Mapping[str, Any]) -> str:
    """Return a choice of rows as a note, without the algorithms, which a legend or header names."""
    rest = where_text({name: value for name, value in where.items() if name != "algorithm"})
    return f"Only {rest}" if rest else ""


def group_text(values: Mapping[str, Any], context: Context) -> str:
    """Return an algorithm and the values of other columns as text."""
    rest = values_text({name: value for name, value in values.items() if name != "algorithm"})
    if "algorithm" not in values:
        return rest
    name = context.titles.get(values["algorithm"], str(values["algorithm"]))
    if not rest:
        return name
    return f"{name}, {rest}" if "data" in values else f"{name} at {rest}"


def origin_text(context: Context) -> str:
    """Return paper and figure, experiment, profile, and which part of the run is shown."""
    source = f"{context.source} | " if context.source else ""
    part = f", only {context.part}" if context.part else ""
    return f"{source}{context.name}, profile {context.profile}{part}"


def count_text(counts: pd.Series[int]) -> str:
    """Return a count that may vary: ``5`` or ``3 to 5``."""
    fewest, most = counts.min(), counts.max()
    return f"{most}" if fewest == most else f"{fewest} to {most}"


def failures_text(frame: pd.DataFrame, treatment: str) -> str:
    """Return the percentages of replicates that failed and of those without a certificate.

    Parameters
    ----------
    frame : DataFrame
        One row per replicate.
    treatment : str
        What happens to failed replicates, such as "left out".
    """
    failed = failed_rows(frame).mean()
    uncertified = (frame["status"] == NOT_CERTIFIED).mean()
    return f"failed ({treatment}): {failed:.2%}, without certificate: {uncertified:.2%}"
