"""Tables of committed results in documents are those of the results."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
DOCUMENTS = [path for path in REPOSITORY.glob("docs/**/*.md") if "<!-- table " in path.read_text()]


@pytest.fixture
def script():
    path = REPOSITORY / "scripts" / "tables_in_docs.py"
    spec = importlib.util.spec_from_file_location("tables_in_docs", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_tables_are_those_of_the_results(script, document):
    text = document.read_text(encoding="utf-8")
    assert script.filled(text) == text


def test_a_stale_table_is_replaced_and_the_rest_kept(script, tmp_path, monkeypatch):
    (tmp_path / "table.md").write_text("| a |\n| --- |\n| 2 |\n\nCaption.\n", encoding="utf-8")
    monkeypatch.setattr(script, "REPOSITORY", tmp_path)
    block = "<!-- table table.md -->\n| a |\n| --- |\n| {} |\n<!-- end of table -->"
    assert script.filled(f"Before.\n{block.format(1)}\nAfter.\n") == (
        f"Before.\n{block.format(2)}\nAfter.\n"
    )


def test_documents_with_tables_are_found():
    assert DOCUMENTS


def test_verdicts_of_best_subset_today_are_those_of_the_results():
    text = (REPOSITORY / "docs" / "best_subset_today.md").read_text(encoding="utf-8")
    section = text.partition("| claim | verdict |")[2].partition("\n\n")[0]
    stated = re.findall(r"\| (supported|refuted|inconclusive)\b", section)
    found = []
    for name in ("best_subset_today", "best_subset_today_tasks"):
        judged = (REPOSITORY / "results" / name / "paper" / "claims.json").read_text()
        found += [claim["verdict"] for claim in json.loads(judged)["claims"]]
    assert stated == found
