"""Words and tables of the command line."""

from __future__ import annotations

from collections.abc import Sequence


def table(rows: Sequence[Sequence[str]], *, indent: str = "", right: Sequence[int] = ()) -> str:
    """Rows as aligned columns, two spaces apart; columns listed in ``right`` are right-aligned."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if index in right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append((indent + "  ".join(cells)).rstrip())
    return "\n".join(lines)


def duration(seconds: float) -> str:
    """Seconds in words short enough for a table: ``0.4 s``, ``3 min 05 s``, ``2 h 10 min``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def size(n_bytes: int) -> str:
    """Bytes in decimal units: ``12 B``, ``3.4 kB``, ``5.0 MB``."""
    if n_bytes < 1000:
        return f"{n_bytes} B"
    for unit, scale in (("kB", 1e3), ("MB", 1e6)):
        if n_bytes < 1000 * scale:
            return f"{n_bytes / scale:.1f} {unit}"
    return f"{n_bytes / 1e9:.1f} GB"


def count(number: int, noun: str) -> str:
    """A number with its noun: ``1 trial``, ``4 trials``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
