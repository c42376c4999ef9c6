"""Drawing and tabulating, with the folder named in every complaint."""

from __future__ import annotations

from pathlib import Path

from greedyexp.errors import UserError


def drawn(folder: Path) -> list[Path]:
    """Draw the figures and write the tables of a run folder, which is the place of nameless errors.

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
