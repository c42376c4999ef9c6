"""The inventory of the papers' statements agrees with experiments, tests and counterexamples."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "docs"))
import statements as inventory  # noqa: E402 - docs/ is no package

LISTED = inventory.statements(REPOSITORY / "docs")
PAPERS = sorted({one.paper for one in LISTED})


def ids(statement) -> str:
    return f"{statement.paper}: {statement.number}"


@cache
def claims() -> dict[str, str]:
    """Return the papers of all claims of the shipped experiments, by experiment and id."""
    found = {}
    for path in (REPOSITORY / "configs").glob("*.yaml"):
        settings = yaml.safe_load(path.read_text(encoding="utf-8"))
        paper = (settings.get("paper") or {}).get("key", "")
        for claim in settings.get("claims") or ():
            found[f"{path.stem}/{claim['id']}"] = paper
    return found


@cache
def functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("statement", LISTED, ids=ids)
def test_what_shows_a_statement_exists(statement):
    assert statement.kind in inventory.KINDS
    assert bool(statement.untested) != statement.shown
    assert set(statement.claims) <= set(claims())
    for name in statement.tests:
        file, _, function = name.partition("::")
        assert function.startswith("test_")
        assert function in functions(REPOSITORY / "tests" / file)
    if statement.misprint:
        text = (REPOSITORY / "docs" / "misprints.md").read_text(encoding="utf-8")
        assert " ".join(statement.misprint.split()) in " ".join(text.split())


def test_every_claim_of_a_paper_belongs_to_a_statement():
    shown = {name for one in LISTED for name in one.claims}
    assert {name for name, paper in claims().items() if paper in PAPERS} <= shown


def test_a_statement_is_listed_once():
    counts = Counter((one.paper, one.number, one.says) for one in LISTED)
    assert [one for one, count in counts.items() if count > 1] == []


def test_verdicts_are_those_of_the_results():
    judged = inventory.verdicts(REPOSITORY)
    for one in LISTED:
        verdict = inventory.row(one, judged)[-1]
        assert {judged[name] for name in one.claims if name in judged} <= set(verdict.split(", "))


def test_the_readme_counts_the_statements():
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    said = re.search(r"(\d+) statements of the papers; (\d+) of them are tested", text)
    assert said is not None
    assert tuple(map(int, said.groups())) == (len(LISTED), sum(one.shown for one in LISTED))
