"""docs/performance.md and the promises of speed in DESIGN.md."""

import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def page(monkeypatch):
    monkeypatch.syspath_prepend(str(REPOSITORY / "benchmarks"))
    names = ("page", "_measuring", "measure_scale")
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    import page

    yield page
    for name in names:
        sys.modules.pop(name, None)


def test_page_has_every_promise_of_the_design(page):
    rows = [line.split(" | ") for line in page.PAGE.read_text().splitlines()]
    shown = {(row[0].lstrip("| "), row[1]): row[2:4] for row in rows if len(row) == 5}
    promises = page.read_promises()
    assert promises
    for key, least in promises.items():
        ratio, promised = map(float, shown[key])
        assert promised == least
        # The page gives two digits.
        assert ratio >= 0.95 * least


def test_page_counts_broken_and_missing_promises(page):
    found = [page.Comparison("fast", "peer", 1.0, 4.0), page.Comparison("slow", "peer", 1.0, 2.0)]
    promises = {("fast", "peer"): 4.0, ("slow", "peer"): 2.5, ("gone", "peer"): 1.0}
    assert page.faults(found, promises) == [
        "slow: 2.00 times as fast as peer, 2.5 promised.",
        "gone: the ratio to peer was not measured.",
    ]


def test_page_lists_ratios_and_promises(page):
    found = {"bench_omp.py": [page.Comparison("fast", "peer", 1.0, 4.0, "same fits")]}
    text = page.page(found, {("fast", "peer"): 3.0})
    assert "| fast | peer | 4 | 3 | same fits |" in text
    assert "## `benchmarks/bench_omp.py`\n\nCompare OMP and group OMP" in text
    assert "Run: " not in text


def test_page_says_what_each_script_compares(page):
    text = page.PAGE.read_text()
    for script in page.FOLDER.glob("bench_*.py"):
        section = text.partition(f"## `benchmarks/{script.name}`\n\n")[2]
        assert section.startswith("\n".join(page.purpose(script.name)) + "\n\n|"), script


def test_page_gives_the_slopes_of_growth(page):
    common = {"method": "omp", "n": 50, "s": 5, "theirs": None, "their_bytes": None}
    rows = [
        common | {"p": p, "ours": 1e-6 * p**2, "our_bytes": 2**20 * p} for p in (512, 1024, 2048)
    ]
    lines = page.growth(rows)
    assert lines[-4] == "| omp | 50 x 512 | 5 | 0.26 | 512 |  |  |"
    assert lines[-1] == "| omp | slope | | **2.0** | **1.0** |  |  |"
