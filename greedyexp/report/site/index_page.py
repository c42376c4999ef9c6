"""What the index shows: experiments by paper, verdicts counted, and how fresh each run is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from greedyexp.report.site.run_page import VERDICTS, RunPage


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
    return {
        "runs": [
            {
                **{
                    name: page.content[name]
                    for name in ("title", "profile", "paper", "shown", "part", "counts", "made")
                },
                "place": place,
                # Where name and profile do not tell runs apart.
                "folder": page.content["folder"]
                if named[page.content["title"], page.content["profile"]] > 1
                else "",
                "changed": _changed(page),
            }
            for place, page in pages.items()
        ],
        "papers": _papers(list(pages.values())),
        "counts": _summed([page.content["counts"] for page in pages.values()]),
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
