"""What the page of two compared runs shows."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from greedyexp.report.compare import Comparison, compare
from greedyexp.report.site.run_page import figure_content, table_content
from greedyexp.results.words import told_apart

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
    changed = found.verdicts[found.verdicts["a"] != found.verdicts["b"]]
    content = {
        "title": " and ".join(told_apart({str(one): _name(one) for one in (a, b)}).values()),
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
            "title": "Means of b against those of a",
            "caption": "",
            **figure_content(found.figure(), "comparison"),
        },
        "csv": f"{place}.csv",
        "command": shlex.join(["greedyexp", "compare", str(a), str(b)]),
    }
    return content, {f"{place}.csv": _csv(found)}


def _limited(table: Any) -> dict[str, Any] | None:
    return None if table.empty else table_content(table.head(_MOST))


def _csv(found: Comparison) -> bytes:
    return found.differences.to_csv(index=False).encode()


def _name(folder: Path) -> str:
    place = folder.resolve()
    return f"{place.parent.name}/{place.name}"
