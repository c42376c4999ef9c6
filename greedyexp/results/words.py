"""Columns and their values in words, for labels, titles and legends."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from greedyexp.core.registry import lookup

# Columns that the field abbreviates, and those whose names are not words.
_SHORT = {
    "kappa": "κ",
    "theta": "θ",
    "noise_std": "σ",
    "n_samples": "n",
    "correlation": "ρ",
    "epsilon": "ε",
    "lam": "λ",
    "aspect_ratio": "p/n",
    "truth_l1_norm": "‖w*‖₁",
    "norm": "‖b*‖",
    "flip": "P(copy differs)",
    "values": "nonzero values",
    "max_features": "features",
    "n_train": "training samples",
    "samples_per_digit": "samples of each digit",
}
# Values that are not words, by column.
_LEVELS = {
    ("values", "sign"): "±1",
    ("values", "gaussian"): "N(0, 1)",
    ("reference", "l1_ball"): "best in the l1 ball",
    ("reference", "truth"): "true coefficients",
    ("reference", "support"): "best on the true support",
}
# Columns whose values need no name in front.
_SELF_EXPLAINING = ("data", "dataset", "theorem")
# A number of this many characters, such as 0.6667, is a fraction up to rounding.
_ROUNDED, _ROUNDING = 6, 5e-5
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

_AXES = {
    "theta": r"control parameter $\theta = n\,/\,(s\,\log(p-(2-\kappa)s))$",
    "kappa": r"shared fraction of the supports $\kappa$",
    "noise_std": r"standard deviation of the noise $\sigma$",
    "p": "number of features $p$",
    "n_samples": "number of samples $n$",
    "sparsity": "nonzero true coefficients $s$",
    "correlation": r"correlation of neighbouring features $\rho$",
    "norm": r"norm of the true coefficients $\|b^*\|$",
    "signal_ratio": r"weakest true coefficient $/\;\|\nabla Q(\bar b)\|_\infty$",
    "max_features": "number of features selected",
    "truth_l1_norm": r"$\ell_1$ norm of the true coefficients $\|w^*\|_1$",
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


def axis_label(column: str, counted: str = "features") -> str:
    """Return the label of an axis for a column.

    Parameters
    ----------
    column : str
    counted : str
        What sizes count; see ``Context``.
    """
    if column == "size" and counted != "features":
        return f"number of {counted}"
    return _AXES.get(column, short_name(column))


def metric_title(column: str) -> str:
    """Return the title of a metric, or the name of another column in words."""
    known = lookup("metric", column)
    return known.title.replace("_", " ") if known else short_name(column)


def number_text(value: Any) -> str:
    """Format the value of a column; fractions get four significant digits."""
    if not isinstance(value, float):
        return str(value)
    # A column of whole numbers is one of floats if one of them is missing.
    return f"{value:.0f}" if value.is_integer() and abs(value) < 1e5 else f"{value:.4g}"


def values_text(values: Mapping[Any, Any]) -> str:
    """Join ``column = number`` and ``column: word`` by commas.

    Parameters
    ----------
    values : mapping of str or None to a value
        Entries with column None or value nan are left out.
    """
    return ", ".join(
        _named_text(column, value)
        for column, value in values.items()
        if column is not None and not (isinstance(value, float) and math.isnan(value))
    )


def _named_text(column: str, value: Any) -> str:
    if not isinstance(value, (str, list)):
        return f"{short_name(column)} = {level_text(column, value)}"
    text = level_text(column, value)
    return text if column in _SELF_EXPLAINING else f"{short_name(column)}: {text}"


def level_text(column: str, value: Any) -> str:
    """Return the value of a parameter in words; 0.6667 is read as the fraction that is meant."""
    if isinstance(value, list):
        return ", ".join(level_text(column, one) for one in value)
    if isinstance(value, str):
        return _LEVELS.get((column, value), value.replace("_", " "))
    text = number_text(value)
    if isinstance(value, float) and len(text) >= _ROUNDED and "e" not in text:
        fraction = Fraction(value).limit_denominator(9)
        if abs(fraction - Fraction(value)) <= _ROUNDING and fraction.denominator in (3, 6, 7, 9):
            return str(fraction)
    if "e" in text and isinstance(value, float):
        factor, power = text.split("e")
        times = "" if factor == "1" else f"{factor}·"
        return f"{times}10{str(int(power)).translate(_RAISED)}"
    return text
