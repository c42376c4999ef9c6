"""The statements of the papers, each with what shows whether it holds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

# One file for each paper, beside the page on it.
FOLDER = "papers"

KINDS = (
    *("theorem", "proposition", "lemma", "corollary", "conjecture", "remark"),
    *("algorithm", "figure", "table", "equation", "sentence"),
)


@dataclass(frozen=True)
class Statement:
    """A statement of a paper.

    Parameters
    ----------
    paper : str
        The paper as ``key`` under ``paper`` in experiments.
    number : str
        Its number or place in the paper.
    kind : str
        One of ``KINDS``.
    says : str
        The statement in a line.
    claims : tuple of str
        Claims that test it, as ``experiment/id``.
    tests : tuple of str
        Tests of this repository that check it, as ``file::function`` below ``tests/``.
    misprint : str
        Words of the entry of ``misprints.md`` that shows where the statement is wrong.
    untested : str
        Why nothing here checks it.
    """

    paper: str
    number: str
    kind: str
    says: str
    claims: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    misprint: str = ""
    untested: str = ""

    @property
    def shown(self) -> bool:
        """True if a claim, a test or a counterexample shows whether the statement holds."""
        return bool(self.claims or self.tests or self.misprint)


def statements(docs: Path) -> list[Statement]:
    """Return the statements of all papers, in the order of the files and of their lines."""
    found = []
    for path in sorted((docs / FOLDER).glob("*.yaml")):
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        for row in content["statements"]:
            listed = {name: tuple(row.pop(name, ())) for name in ("claims", "tests")}
            found.append(Statement(paper=content["paper"], **listed, **row))
    return found


def verdicts(root: Path) -> dict[str, str]:
    """Return the verdicts of the claims of all committed results, by ``experiment/id``."""
    found = {}
    for path in sorted((root / "results").glob("*/paper/claims.json")):
        judged = json.loads(path.read_text(encoding="utf-8"))
        for claim in judged["claims"]:
            found[f"{judged['experiment']}/{claim['id']}"] = claim["verdict"]
    return found


def row(statement: Statement, judged: dict[str, str]) -> tuple[Any, ...]:
    """Return the cells of a statement: number, kind, words, what shows it, and verdict."""
    shown = [f"[{name}](results/{name.partition('/')[0]}.md)" for name in statement.claims]
    shown += [f"`{name.partition('::')[2]}`" for name in statement.tests]
    found = sorted({judged.get(name, "not computed") for name in statement.claims})
    if statement.tests:
        found.append("tested")
    if statement.misprint:
        shown.append("[misprints](../../misprints.md)")
        found.append("wrong as printed")
    return (
        statement.number,
        statement.kind,
        statement.says,
        ", ".join(shown),
        ", ".join(found) or f"not tested: {statement.untested}",
    )
