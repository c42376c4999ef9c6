"""Drawing, with the folder named in every complaint."""

from __future__ import annotations

from pathlib import Path

from greedyexp.errors import UserError


def drawn(folder: Path) -> list[Path]:
    """Draw the figures of a run folder; an error that names no place gets the folder as its place.

    Raises
    ------
    UserError
        As ``report.draw``; the table is there all the same.
    """
    from greedyexp import report

    try:
        return report.draw(folder)
    except UserError as error:
        error.place = error.place or str(folder)
        raise
