"""How figures, tables and notes write the names of columns and their values."""

from __future__ import annotations

import math
from collections.abc import Mapping

# Columns whose name in the field is a letter; the other columns are written as they are called.
LETTERS = {
    "kappa": "κ",
    "theta": "θ",
    "noise_std": "σ",
    "n_samples": "n",
    "epsilon": "ε",
    "lam": "λ",
    "aspect_ratio": "p/n",
}
# Columns whose values speak for themselves.
_NAMES = ("data", "theorem")

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


def letter(column: str) -> str:
    """A column as a short name."""
    return LETTERS.get(column, column.replace("_", " "))


def axis_label(column: str) -> str:
    """A column as the label of an axis."""
    return _AXES.get(column, letter(column))


def number(value) -> str:
    """A value of a column; four digits are enough to tell levels apart."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def levels_text(values: Mapping) -> str:
    """``column = value`` for each column that has a value, joined by commas.

    Parameters
    ----------
    values : mapping of str or None to a value
        A column of None stands for no column; an empty cell (nan) is left out.
    """
    return ", ".join(
        _words(value) if column in _NAMES else f"{letter(column)} = {_words(value)}"
        for column, value in values.items()
        if column is not None and not (isinstance(value, float) and math.isnan(value))
    )


def _words(value) -> str:
    """A value as running text has it: names without their underscores."""
    return value.replace("_", " ") if isinstance(value, str) else number(value)
