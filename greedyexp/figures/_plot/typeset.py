"""Letters and formulas in the texts of a figure, written as TeX does."""

from __future__ import annotations

import re
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
_NORM = re.compile(r"‖([a-z])\*‖(₁?)")
_RULES = (
    (re.compile(r"\bl1/linf\b"), r"$\\ell_1/\\ell_\\infty$"),
    (re.compile(r"\bl1/l2\b"), r"$\\ell_1/\\ell_2$"),
    (re.compile(r"\bl([12])\b"), r"$\\ell_\1$"),
    (re.compile(r"\bmu([12])\b"), r"$\\mu_\1$"),
    # A single letter is a variable where a value or a function of it follows.
    (re.compile(r"\b([npsrdk])(?= = | ≤ |/n\b)"), r"$\1$"),
)


def typeset(figure: Figure) -> None:
    """Typeset all texts of a figure."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        if isinstance(text, Text):
            text.set_text(formulas(text.get_text()))


def formulas(text: str) -> str:
    """Return a text with Greek letters, norms, powers and variables as formulas."""
    return "".join(
        part if _FORMULA.fullmatch(part) else _typeset(part) for part in _FORMULA.split(text)
    )


def _typeset(text: str) -> str:
    text = _POWER.sub(_power, text)
    text = _NORM.sub(lambda found: rf"$\|{found[1]}^*\|{'_1' if found[2] else ''}$", text)
    for pattern, formula in _RULES:
        text = pattern.sub(formula, text)
    # Not inside the formulas that were just made.
    return "".join(
        part if _FORMULA.fullmatch(part) else _with_greek(part) for part in _FORMULA.split(text)
    )


def _with_greek(text: str) -> str:
    for letter, name in _GREEK.items():
        text = text.replace(letter, rf"$\{name}$")
    return text


def _power(found: re.Match[str]) -> str:
    factor = rf"{found[1]}\cdot" if found[1] else ""
    return rf"${factor}10^{{{found[2].translate(_LOWERED)}}}$"
