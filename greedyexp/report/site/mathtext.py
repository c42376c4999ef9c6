"""Text of matplotlib, with its mathematics, as the simple markup of Plotly and as plain text."""

from __future__ import annotations

import html
import re

# Symbols of labels. Other commands are written by their names: ``\log`` is log.
_SYMBOLS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε",
    "eta": "η", "theta": "θ", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "pi": "π",
    "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω",
    "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Sigma": "Σ", "Phi": "Φ",
    "Omega": "Ω", "ell": "ℓ", "infty": "∞", "cdot": "·", "times": "×", "pm": "±", "leq": "≤",
    "le": "≤", "geq": "≥", "ge": "≥", "neq": "≠", "approx": "≈", "sim": "∼", "to": "→",
    "in": "∈", "sum": "∑", "sqrt": "√", "partial": "∂", "nabla": "∇",
    "|": "‖", ",": " ", ";": " ", ":": " ", " ": " ", "!": "", "{": "{", "}": "}",
}  # fmt: skip
_DIGITS = "−0123456789"
_LOW, _HIGH = (str.maketrans(_DIGITS, small) for small in ("₋₀₁₂₃₄₅₆₇₈₉", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
_FORMATS = (
    "mathdefault",
    "mathrm",
    "mathbf",
    "mathit",
    "mathcal",
    "text",
    "operatorname",
    "left",
    "right",
)
_TOKEN = re.compile(r"\\([A-Za-z]+)\s*|\\(.)|([\^_{}])|([A-Za-z]+)|(.)", re.DOTALL)
_MATHEMATICS = re.compile(r"(?<!\\)\$(.+?)(?<!\\)\$", re.DOTALL)


def markup(text: str) -> str:
    """Return a text of matplotlib as markup of Plotly: lines, subscripts, superscripts, italics.

    Everything else in the text is escaped, so it is shown as it is written.
    """
    pieces = _MATHEMATICS.split(text)
    shown = [
        _mathematics(piece) if place % 2 else html.escape(piece.replace(r"\$", "$"), quote=False)
        for place, piece in enumerate(pieces)
    ]
    return "".join(shown).replace("\n", "<br>")


def plain(text: str) -> str:
    """Return a text of matplotlib in plain characters: 10⁻³ for a power, b^k for another one."""
    shown = re.sub(r"<su([bp])>(.*?)</su[bp]>", _shifted, markup(text).replace("<br>", " "))
    return html.unescape(re.sub(r"</?i>", "", shown)).strip()


def plain_note(text: str) -> str:
    """Return the lines of a note in plain characters, without breaks inside of sentences."""
    return "\n".join(map(plain, re.sub(r"(?<!\.)\n", " ", text).split("\n")))


def _shifted(found: re.Match[str]) -> str:
    """Return a subscript or a superscript of digits in small digits, others in full size."""
    low, written = found[1] == "b", re.sub(r"</?i>", "", found[2])
    if set(written) <= set(_DIGITS):
        return written.translate(_LOW if low else _HIGH)
    return written if low else f"^{written}"


def _mathematics(text: str) -> str:
    tokens = [match for match in _TOKEN.finditer(text) if not match.group(0).isspace()]
    shown, _ = _group(tokens, 0)
    return shown


def _group(tokens: list[re.Match[str]], place: int) -> tuple[str, int]:
    """Return the markup up to the end of a group in braces, and the place behind it."""
    shown = ""
    while place < len(tokens):
        if tokens[place].group(3) == "}":
            return shown, place + 1
        piece, place = _one(tokens, place)
        shown += piece
    return shown, place


def _one(tokens: list[re.Match[str]], place: int) -> tuple[str, int]:
    """Return the markup of a symbol or of a group, and the place behind it."""
    command, escaped, special, letters, other = tokens[place].groups()
    place += 1
    if special == "{":
        return _group(tokens, place)
    if special in ("^", "_"):
        inner, place = _one(tokens, place) if place < len(tokens) else ("", place)
        tag = "sup" if special == "^" else "sub"
        return f"<{tag}>{inner}</{tag}>", place
    if letters is not None:
        # Letters of a formula are variables.
        return f"<i>{letters}</i>", place
    name = command or escaped
    if name is None:
        return html.escape({"-": "−"}.get(other, other), quote=False), place
    if name in _FORMATS:
        return "", place
    return _SYMBOLS.get(name, html.escape(name, quote=False)), place
