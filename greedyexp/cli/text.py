"""Words and tables of the command line."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Sequence

from greedyexp.core.listing import shortened

# Minimum width of a wrapped column; narrower ones are hard to read.
_NARROWEST = 24
# Longer cells are shortened.
_WIDEST = 2000


def table(
    rows: Sequence[Sequence[str]],
    *,
    indent: str = "",
    right: Sequence[int] = (),
    width: int | None = None,
) -> str:
    """Return rows as aligned columns, two spaces apart.

    Parameters
    ----------
    rows : sequence of sequence of str
    indent : str
        Prefix of every line.
    right : sequence of int
        Columns that are right-aligned.
    width : int, optional
        Length of the lines. The last column is wrapped, and printed below the others if there is
        little space. Words are never broken.
    """
    rows = [[shortened(cell, _WIDEST) for cell in row] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    start = len(indent) + sum(widths[:-1]) + 2 * (len(widths) - 1)
    below = width is not None and width - start < _NARROWEST
    margin = f"{indent}    " if below else " " * start
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if index in right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        line = (indent + "  ".join(cells)).rstrip()
        if width is None or len(line) <= width:
            lines.append(line)
            continue
        head = indent + "  ".join(cells[:-1])
        tail = _wrapped(row[-1], width, margin)
        lines += [head.rstrip(), *tail] if below else [head + tail[0][len(head) :], *tail[1:]]
    return "\n".join(lines)


def terminal_width() -> int | None:
    """Return the width of the terminal, or COLUMNS; None if the output is not a terminal.

    Files and pipes get one line for each entry, which suits tools such as `grep`.
    """
    if os.environ.get("COLUMNS") or (sys.stdout is not None and sys.stdout.isatty()):
        return shutil.get_terminal_size().columns
    return None


def on_terminal() -> bool:
    """Return True if stderr, which shows progress, is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


def fitted(prose: str, width: int | None) -> str:
    """Wrap the paragraphs that have a line longer than ``width``."""
    paragraphs = []
    for paragraph in prose.split("\n\n"):
        lines = paragraph.split("\n")
        if width is not None and max(map(len, lines)) > width:
            # An underlined heading keeps its own line.
            top = 2 if len(lines) > 2 and set(lines[1]) == {"-"} else 0
            margins = [line[: len(line) - len(line.lstrip())] for line in lines]
            plain = len(set(margins)) == 1 and not any(
                line.startswith(("- ", "* ", ">>>", "|")) for line in lines[top:]
            )
            # Lists and code, which are indented in steps, keep their lines.
            parts = [" ".join(lines[top:])] if plain else lines[top:]
            wrapped = [
                _wrapped(one.strip(), width, margins[top + i]) for i, one in enumerate(parts)
            ]
            lines = [*lines[:top], *(line for part in wrapped for line in part)]
        paragraphs.append("\n".join(lines))
    return "\n\n".join(paragraphs)


def _wrapped(words: str, width: int, margin: str) -> list[str]:
    """Wrap words to lines that start with a margin; return at least one line."""
    return textwrap.wrap(
        words,
        max(width, len(margin) + _NARROWEST),
        initial_indent=margin,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [margin]
