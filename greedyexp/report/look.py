"""Which figures are drawn, of which rows, and in which style, width and format."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from greedyexp.config.document import read_text
from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.core.parts import Display
from greedyexp.report.where import as_text, parse

_LENGTH = re.compile(r"(\d+(?:\.\d*)?|\.\d+) ?(in|cm|mm|pt)")
_PER_INCH = {"in": 1.0, "cm": 2.54, "mm": 25.4, "pt": 72.27}
# Widths of figures in inches.
_LEAST, _LARGEST = 2.0, 40.0


@dataclass(frozen=True)
class Look:
    """What to draw and how; the default is that of the files in a run folder.

    Parameters
    ----------
    formats : tuple of {"png", "pdf", "svg"}
    style : {"", "paper", "slides"}
    width : float, optional
        Width in inches; that of the style if None.
    figures : tuple of str
        Names of figures' files, such as ``comparison_2``; all, and all tables, if empty.
    where : dict
        Columns and values of the rows to show.
    row : str
        Value of the column with one row of panels per value; all rows of panels if empty.
    """

    formats: tuple[str, ...] = ("png", "pdf")
    style: str = ""
    width: float | None = None
    figures: tuple[str, ...] = ()
    where: dict[str, Any] = field(default_factory=dict)
    row: str = ""

    @property
    def changed(self) -> bool:
        """True if the figures differ from those of the run folder, whose names they have."""
        return self != Look(figures=self.figures)

    def options(self, name: str) -> str:
        """Return the options of ``greedyexp plot`` that draw one figure; empty for the default."""
        if not self.changed:
            return ""
        given = [("figure", name), ("style", self.style), ("row", self.row)]
        given += [("width", "" if self.width is None else f"{self.width:.4g}in")]
        given += [("where", as_text({column: value})) for column, value in self.where.items()]
        return "".join(f" --{option} {shlex.quote(text)}" for option, text in given if text)

    def chosen(self, names: Sequence[str]) -> set[str]:
        """Return the figures to draw.

        Raises
        ------
        ConfigError
            If a name is not among ``names``.
        """
        for name in self.figures:
            if name not in names:
                raise ConfigError(
                    f"this run has no figure '{name}'.", remedy=did_you_mean(name, names)
                )
        return set(self.figures or names)

    def rows(self, part: Display, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return columns and values of the rows to show in a figure with these parameters.

        Raises
        ------
        ConfigError
            If a row of panels is asked for and the figure has none.
        """
        if not self.row:
            return self.where
        known = part.parameters.model_fields.get("row")
        column = params.get("row")
        # A required row is an axis.
        if known is None or known.is_required() or column is None:
            raise ConfigError(
                f"figure '{part.name}' has no rows of panels here, so --row chooses nothing.",
                remedy="Use --where, or choose another figure by --figure.",
            )
        return {**self.where, column: read_text(self.row, "--row", lines=False).data}


def look_of(
    *,
    formats: Sequence[str] = (),
    style: str | None = None,
    width: str | None = None,
    figures: Sequence[str] = (),
    where: Sequence[str] = (),
    row: str | None = None,
) -> Look:
    """Return the look that the options of ``greedyexp plot`` describe.

    Raises
    ------
    ConfigError
        If the width is not a length, the row is empty, or a condition has another form than
        ``column=value``.
    """
    if row is not None and not row.strip():
        raise ConfigError("--row takes a value, but is empty.", remedy="For example: --row 256.")
    return Look(
        formats=tuple(dict.fromkeys(formats)) or Look.formats,
        style=style or "",
        width=None if width is None else inches(width),
        figures=tuple(figures),
        where=parse(",".join(where)),
        row=row or "",
    )


def inches(length: str) -> float:
    """Return a length such as ``3.3in``, ``84mm``, ``8.4cm`` or ``240pt`` in inches.

    Raises
    ------
    ConfigError
        If it has another form, or is not a useful width of a figure.
    """
    found = _LENGTH.fullmatch(length.strip())
    if not found:
        raise ConfigError(
            f"--width takes a length with its unit, but is '{length}'.",
            remedy="Write 3.3in, 84mm, 8.4cm or 240pt.",
        )
    width = float(found[1]) / _PER_INCH[found[2]]
    if not _LEAST <= width <= _LARGEST:
        raise ConfigError(
            f"--width must be from {_LEAST:g} to {_LARGEST:g} inches, but {length} is"
            f" {width:.3g} inches."
        )
    return width
