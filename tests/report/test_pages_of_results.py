"""The pages of the committed runs: each figure can be pointed at, and nothing is missing."""

from pathlib import Path

import pytest

from greedyexp.report.site.run_page import run_page
from greedyexp.results.records import NO_SECONDS

RUNS = sorted(Path("results").glob("*/paper"))


@pytest.mark.deep
@pytest.mark.parametrize("folder", RUNS, ids=lambda folder: folder.parent.name)
def test_the_page_of_a_committed_run_has_all_figures_and_tables(folder):
    content = run_page(folder).content
    errors = [one["error"] for one in content["tables"] if "error" in one]
    if not list(folder.glob("timings.csv*")):
        errors = [error for error in errors if NO_SECONDS not in error]
    assert errors == []
    for figure in content["figures"]:
        assert figure["data"] is not None, figure.get("error") or figure["reason"]
        # Colours of a scale show or hide nothing.
        orphans = [
            entry["label"]
            for entry in figure["legend"]
            if not entry["traces"] + entry["shapes"] and not is_of_scale(entry)
        ]
        assert not orphans, figure["stem"]
        points = figure["data"]["points"].values()
        assert points
        assert all(behind["rows"] for known in points for behind in known["behind"])


def is_of_scale(entry):
    return entry["swatch"].get("area", "").startswith("#")
