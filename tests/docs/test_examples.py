"""The example notebooks run in the kernel of a notebook, and show what their text says."""

from __future__ import annotations

import jupytext
import nbclient
import pytest
from cli_process import REPOSITORY

# The notebook that the others resemble runs with all tests; each takes some ten seconds.
FIRST = "own_method"
OTHERS = sorted({path.stem for path in (REPOSITORY / "examples").glob("*.md")} - {FIRST})


def outputs(notebook) -> list:
    return [one for cell in notebook.cells for one in cell.get("outputs", ())]


def shown(notebook, kind: str) -> list[str]:
    """Contents of all outputs of a kind, such as ``text/html``."""
    return [one.data[kind] for one in outputs(notebook) if kind in one.get("data", {})]


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """Return an example by its name, executed in a folder of its own."""
    done = {}

    def execute(name: str):
        if name not in done:
            notebook = jupytext.read(REPOSITORY / "examples" / f"{name}.md")
            where = {"metadata": {"path": str(tmp_path_factory.mktemp(name))}}
            nbclient.NotebookClient(notebook, timeout=300, resources=where).execute()
            done[name] = notebook
        return done[name]

    return execute


@pytest.mark.parametrize(
    "name", [FIRST, *(pytest.param(name, marks=pytest.mark.deep) for name in OTHERS)]
)
def test_a_notebook_runs_with_a_bar_and_without_noise(executed, name):
    notebook = executed(name)
    bars = shown(notebook, "application/vnd.jupyter.widget-view+json")
    runs = [one.text for one in outputs(notebook) if one.get("name") == "stdout"]
    assert bars
    assert sum("; results in results/my_" in text for text in runs) == len(bars)
    assert [one for one in outputs(notebook) if one.get("name") == "stderr"] == []
    assert shown(notebook, "image/png") or "data:image/png" in "".join(shown(notebook, "text/html"))


def test_the_own_method_needs_the_most_samples(executed):
    comparisons = shown(executed("own_method"), "text/plain")[-1]
    assert "supported" in comparisons


@pytest.mark.deep
def test_the_four_sensors_are_chosen_most(executed):
    shares = shown(executed("own_data"), "text/plain")[-1].splitlines()[1:5]
    assert {row.split()[1] for row in shares} == {f"sensor_{j}" for j in (4, 11, 12, 30)}


@pytest.mark.deep
def test_the_claim_is_open_and_then_decided(executed):
    first, second = (
        page for page in shown(executed("paper_claim"), "text/html") if "reason" in page
    )
    assert "inconclusive" in first
    assert "supported" in second
