"""Letters and formulas in the texts of a figure, written as TeX does."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_GREEK = {
    "κ": "kappa",
    "θ": "theta",
    "σ": "sigma",
    "ε": "varepsilon",
    "λ": "lambda",
    "ρ": "rho",
    "χ": "chi",
    "μ": "mu",
    "∞": "infty",
}
_LOWERED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_FORMULA = re.compile(r"(\$[^$]*\$)")
_POWER = re.compile(r"(?:([\d.]+)·)?10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
_EXPONENT = re.compile(r"\b([\d.]+)e([-+]?\d+)\b")
_NORM = re.compile(r"‖([a-z])\*‖(₁?)")
_RULES = (
    (re.compile(r"\bl1/linf\b"), r"$\\ell_1/\\ell_\\infty$"),
    (re.compile(r"\bl1/l2\b"), r"$\\ell_1/\\ell_2$"),
    (re.compile(r"\bl([12])\b"), r"$\\ell_\1$"),
    (re.compile(r"\bmu([12])\b"), r"$\\mu_\1$"),
    # A constant of smoothness; L1 alone is the name of a method.
    (re.compile(r"(?:(?<=1/)L([12])\b|\bL([12])(?= / ))"), r"$L_{\1\2}$"),
    (re.compile(r"\b2 s log\(p\)"), r"$2\\,s\\,\\log(p)$"),
    (re.compile(r"\blog\(([np])\)\^(\d)"), r"$\\log(\1)^\2$"),
    (re.compile(r"\blog\(([np])\)"), r"$\\log(\1)$"),
    (re.compile(r"\bsqrt\(([np])\)"), r"$\\sqrt{\1}$"),
    (re.compile(r"\b2k\b"), "$2k$"),
    (re.compile(r">="), "≥"),
    # A single letter is a variable where a value or a function of it follows, or in a fraction.
    (re.compile(r"\b([npsrdkc])(?= = | ≤ | ≥ | / |/n\b|, p = )"), r"$\1$"),
    (re.compile(r"(?<= / )([nps])\b|(?<= = )([np])$|^([np])$"), r"$\1\2\3$"),
)


def typeset(figure: Figure) -> None:
    """Typeset all texts of a figure, with the fixed labels of its ticks."""
    from matplotlib.axis import Axis
    from matplotlib.text import Text
    from matplotlib.ticker import FixedLocator

    for axis in figure.findobj(Axis):
        # When they are drawn, ticks get the texts of the axis again.
        if isinstance(axis, Axis) and isinstance(axis.get_major_locator(), FixedLocator):
            texts = [label.get_text() for label in axis.get_majorticklabels()]
            if any(formulas(one) != one for one in texts):
                axis.set_ticklabels(list(map(formulas, texts)))
    for text in figure.findobj(Text):
        if isinstance(text, Text):
            text.set_text(formulas(text.get_text()))


def formulas(text: str) -> str:
    """Return a text with Greek letters, norms, powers and variables as formulas.

    A text with an odd number of dollar signs is left as it is: one of them is money.
    """
    if text.count("$") % 2:
        return text
    changes: list[Callable[[str], str]] = [
        lambda part: _POWER.sub(_power, part),
        lambda part: _EXPONENT.sub(_exponent, part),
        lambda part: _NORM.sub(_norm, part),
        *(partial(pattern.sub, formula) for pattern, formula in _RULES),
        _with_greek,
    ]
    for change in changes:
        # Not inside formulas, which earlier changes may have made.
        parts = _FORMULA.split(text)
        text = "".join(part if _FORMULA.fullmatch(part) else change(part) for part in parts)
    return text


def _with_greek(text: str) -> str:
    for letter, name in _GREEK.items():
        text = text.replace(letter, rf"$\{name}$")
    return text


def _norm(found: re.Match[str]) -> str:
    return rf"$\|{found[1]}^*\|{'_1' if found[2] else ''}$"


def _power(found: re.Match[str]) -> str:
    return _power_text(found[1], found[2].translate(_LOWERED))


def _exponent(found: re.Match[str]) -> str:
    return _power_text(found[1].removesuffix(".0"), found[2])


def _power_text(factor: str | None, power: str) -> str:
    times = "" if factor in (None, "1") else rf"{factor}\cdot"
    return rf"${times}10^{{{int(power)}}}$"
