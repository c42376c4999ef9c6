"""Letters and formulas in the texts of a figure, written as TeX does."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
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


def power_text(factor: str, power: str) -> str:
    """Return a number such as ``2e-05``, given as factor and power of ten, as a formula."""
    times = "" if factor == "1" else rf"{factor}\cdot"
    return rf"${times}10^{{{int(power)}}}$"


# Patterns, each with its formula or the function of a match that returns it, in their order.
_RULES: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (
        re.compile(r"(?:([\d.]+)·)?10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)"),
        lambda found: power_text(found[1] or "1", found[2].translate(_LOWERED)),
    ),
    (
        re.compile(r"\b([\d.]+)e([-+]?\d+)\b"),
        lambda found: power_text(found[1].removesuffix(".0"), found[2]),
    ),
    (
        re.compile(r"‖([a-z])\*‖(₁?)"),
        lambda found: rf"$\|{found[1]}^*\|{'_1' if found[2] else ''}$",
    ),
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
    (re.compile(f"[{''.join(_GREEK)}]"), lambda found: rf"$\{_GREEK[found[0]]}$"),
)
# Most texts have nothing to typeset.
_ANY = re.compile("|".join(pattern.pattern for pattern, _ in _RULES))


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


@cache
def formulas(text: str) -> str:
    """Return a text with Greek letters, norms, powers and variables as formulas.

    A text with an odd number of dollar signs is left as it is: one of them is money.
    """
    if text.count("$") % 2 or not _ANY.search(text):
        return text
    for pattern, formula in _RULES:
        # Not inside formulas, which earlier rules may have made.
        parts = _FORMULA.split(text)
        text = "".join(
            part if _FORMULA.fullmatch(part) else pattern.sub(formula, part) for part in parts
        )
    return text


def plain(text: str) -> str:
    """Return a text with formulas in plain characters."""
    for letter, name in _GREEK.items():
        text = re.sub(rf"\\{name}(?![A-Za-z])", letter, text)
    return re.sub(r"\\[,;! ]|\\(?=[A-Za-z])|[${}]", "", text).replace("\\|", "‖")
