"""The pages of several runs: the index, and the comparison of two runs.

The index has experiments by paper, verdicts counted, and how fresh each run is.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from greedyexp.report.compare import compare
from greedyexp.report.site.run_page import VERDICTS, RunPage, figure_content, table_content
from greedyexp.results.words import told_apart

# Lines of a table of a comparison on the page; the CSV has all.
_MOST = 500


def index_page(
    pages: Mapping[str, RunPage], comparisons: Sequence[dict[str, Any]], missing: Sequence[str]
) -> dict[str, Any]:
    """Return what the template of the index shows.

    Parameters
    ----------
    pages : mapping of str to RunPage
        The page of each run by its folder in the report.
    comparisons : sequence of dict
        Title and file of each comparison of two runs.
    missing : sequence of str
        A sentence for each page that could not be made.
    """
    named = Counter((page.content["title"], page.content["profile"]) for page in pages.values())
    runs = []
    for place, page in pages.items():
        content = page.content
        # Where name and profile do not tell runs apart.
        folder = content["folder"] if named[content["title"], content["profile"]] > 1 else ""
        changed = [
            f"{one['name']} {one['ran']}, here {one['here'] or 'none'}"
            for one in content["made"]["versions"]
            if one["ran"] != one["here"]
        ]
        runs.append({**content, "place": place, "folder": folder, "changed": changed})
    papers = []
    for paper in sorted({run["paper"] for run in runs}):
        own = [run for run in runs if run["paper"] == paper]
        papers.append({"paper": paper or "no paper", "runs": len(own), "counts": _verdicts_of(own)})
    return {
        "runs": runs,
        "papers": papers,
        "counts": _verdicts_of(runs),
        "comparisons": list(comparisons),
        "missing": list(missing),
    }


def _verdicts_of(runs: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    return {name: sum(run["counts"][name] for run in runs) for name in VERDICTS}


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
    return content, {f"{place}.csv": found.differences.to_csv(index=False).encode()}


def _limited(table: Any) -> dict[str, Any] | None:
    return None if table.empty else table_content(table.head(_MOST))


def _name(folder: Path) -> str:
    place = folder.resolve()
    return f"{place.parent.name}/{place.name}"
