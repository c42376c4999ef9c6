"""What the index shows: experiments by paper, verdicts counted, and how fresh each run is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from greedyexp.report.site.run_page import VERDICTS, RunPage


def index_page(
    pages: Sequence[RunPage], comparisons: Sequence[dict[str, Any]], missing: Sequence[str]
) -> dict[str, Any]:
    """Return what the template of the index shows.

    Parameters
    ----------
    pages : sequence of RunPage
    comparisons : sequence of dict
        Title and file of each comparison of two runs.
    missing : sequence of str
        A sentence for each run that could not be read.
    """
    return {
        "runs": [
            {
                **{
                    name: page.content[name]
                    for name in ("name", "title", "profile", "paper", "shown", "part", "counts")
                },
                "place": page.place,
                "finished": page.content["made"].get("finished", ""),
                "commit": page.content["made"].get("commit", ""),
                "changed": _changed(page),
                "replicates": page.content["made"].get("replicates", {}),
                "rows": page.content["rows"],
                "seconds": page.content["made"].get("seconds"),
            }
            for page in pages
        ],
        "papers": _papers(pages),
        "counts": _summed([page.content["counts"] for page in pages]),
        "comparisons": list(comparisons),
        "missing": list(missing),
    }


def _changed(page: RunPage) -> list[str]:
    """Return the packages whose version here is not that of the run."""
    return [
        f"{one['name']} {one['ran']}, here {one['here'] or 'none'}"
        for one in page.content["made"]["versions"]
        if one["ran"] != one["here"]
    ]


def _papers(pages: Sequence[RunPage]) -> list[dict[str, Any]]:
    found = []
    for paper in sorted({page.content["paper"] for page in pages}):
        own = [page.content for page in pages if page.content["paper"] == paper]
        found.append(
            {
                "paper": paper or "no paper",
                "runs": len(own),
                "counts": _summed([one["counts"] for one in own]),
            }
        )
    return found


def _summed(counts: Sequence[dict[str, int]]) -> dict[str, int]:
    return {name: sum(one[name] for one in counts) for name in VERDICTS}
