"""What the page of two compared runs shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from greedyexp.report.compare import Comparison, compare
from greedyexp.report.draw import arrange
from greedyexp.report.site.interactive import interactive
from greedyexp.report.site.run_page import figure_data, table_content

# Lines of a table on the page; the CSV has all.
_MOST = 500


def comparison_page(a: Path, b: Path, place: str) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Compare two runs.

    Parameters
    ----------
    a, b : Path
        Run folders.
    place : str
        Name of the page without suffix.

    Returns
    -------
    content : dict
        What the template shows.
    files : dict of str to bytes
        Files beside the page.

    Raises
    ------
    StorageError, ConfigError
        As ``compare``.
    """
    found = compare(a, b)
    picture = found.figure()
    arrange(picture)
    shown = interactive(picture)
    changed = found.verdicts[found.verdicts["a"] != found.verdicts["b"]]
    content = {
        "title": f"{_name(a)} and {_name(b)}",
        "a": str(a),
        "b": str(b),
        "settings": found.settings,
        "versions": found.versions,
        "notes": found.notes,
        "paired": found.paired,
        "count": len(found.differences),
        "beyond": len(found.beyond_chance),
        "differences": _limited(found.beyond_chance.drop(columns="p_value")),
        "changed": _limited(found.changed),
        "changed_count": len(found.changed),
        "thresholds": None if found.thresholds.empty else table_content(found.thresholds),
        "verdicts": table_content(found.verdicts),
        "verdicts_changed": len(changed),
        "figure": {
            "stem": "comparison",
            "title": shown.title or "Means of b against those of a",
            "note": shown.note,
            "width": shown.width,
            "height": shown.height,
            "legend": shown.legend,
            "caption": "",
            "data": figure_data(shown, None),
        },
        "csv": f"{place}.csv",
        "command": f"greedyexp compare {a} {b}",
    }
    return content, {f"{place}.csv": _csv(found)}


def _limited(table: Any) -> dict[str, Any] | None:
    return None if table.empty else table_content(table.head(_MOST))


def _csv(found: Comparison) -> bytes:
    return found.differences.to_csv(index=False).encode()


def _name(folder: Path) -> str:
    place = folder.resolve()
    return f"{place.parent.name}/{place.name}"
