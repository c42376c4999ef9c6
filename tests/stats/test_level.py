"""The confidence level of all intervals is set in one file, which everything else reads."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import greedyexp

PACKAGE = Path(greedyexp.__file__).parent
RESULTS = Path(__file__).parents[2] / "results"
_LEVEL = re.compile(r"\b95 ?%|\b0\.95\b|\b1\.96\b|\b0\.975\b")
# Numbers that would not change with the level.
_OTHERS = {
    "stats/level.py",
    # Simulated coverage, and the value of a function.
    "stats/crossing.py",
    "stats/sequential.py",
    # How often a support was found, weights of a paper, and a share of a bound.
    "algorithms/foba/gradient.py",
    "algorithms/dirty/greedy_dirty.py",
    "solvers/working_set.py",
}
# Runs a command after the level was edited.
_CHANGED = """
import sys
from greedyexp.stats import level
with open(level.__file__) as file:
    edited = file.read().replace("LEVEL = 0.95", "LEVEL = 0.9")
exec(edited, level.__dict__)
from greedyexp.cli.app import greedyexp
greedyexp(sys.argv[1:], standalone_mode=False)
"""


def test_no_other_file_states_the_level():
    texts = (path for suffix in ("py", "html", "js") for path in PACKAGE.rglob(f"*.{suffix}"))
    stated = {
        path.relative_to(PACKAGE).as_posix()
        for path in texts
        if not path.name.endswith(".min.js") and _LEVEL.search(path.read_text(encoding="utf-8"))
    }
    assert stated <= _OTHERS


def _with_another_level(*arguments: str) -> str:
    command = [sys.executable, "-c", _CHANGED, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout


def test_figures_and_tables_read_the_level(tmp_path):
    run = RESULTS / "backward_step" / "paper"
    _with_another_level("plot", str(run), "--out", str(tmp_path), "--quiet")
    texts = {path: path.read_text() for path in tmp_path.rglob("*.md")}
    pictures = {path: path.read_bytes() for path in tmp_path.rglob("*.png")}
    assert any("90%" in text for text in texts.values())
    assert any(b"90%" in content for content in pictures.values())
    assert not any("95%" in text for text in texts.values())
    assert not any(b"95%" in content for content in pictures.values())


def test_verdicts_read_the_level():
    run = RESULTS / "backward_step" / "paper"
    judged = _levels(_with_another_level("verify", str(run), "--json"))
    committed = _levels((run / "claims.json").read_text())
    # Each test of a family errs with twice the probability.
    assert judged == pytest.approx([2 * level - 1 for level in committed])


def _levels(text: str) -> list[float]:
    return sorted({float(number) for number in re.findall(r'"confidence": ([0-9.]+)', text)})
