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
        assert "svg" in figure, figure.get("error")
        assert figure["series"]
        for series in figure["series"]:
            assert any(x is not None for x in series["x"])
            assert all(behind["rows"] for behind in series["behind"])
