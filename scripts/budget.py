"""Check the size of each package of ``greedyexp`` against the table in ``scripts/budget.csv``.

    python scripts/budget.py            # a line for each package that is over its budget
    python scripts/budget.py --table    # the sizes of all packages

A code line is a line that is not blank, not a comment and not part of a docstring.
"""

from __future__ import annotations

import ast
import csv
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "greedyexp"
BUDGET = ROOT / "scripts" / "budget.csv"

_NO_CODE = (
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    tokenize.ENDMARKER,
)
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_lines(source: str) -> int:
    """Return the number of code lines of a module."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            docstring = node.body[0]
            lines.difference_update(range(docstring.lineno, (docstring.end_lineno or 0) + 1))
    return len(lines)


def sizes() -> dict[str, tuple[int, int]]:
    """Return the numbers of files and of code lines by package; modules at the top are ``top``."""
    files: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for path in PACKAGE.rglob("*.py"):
        inner = path.relative_to(PACKAGE).parts
        package = inner[0] if len(inner) > 1 else "top"
        files[package] += 1
        lines[package] += code_lines(path.read_text(encoding="utf-8"))
    return {package: (files[package], lines[package]) for package in sorted(files)}


def main(show: bool) -> int:
    """Print what is over its budget, or all sizes; return 1 if a package is over its budget."""
    measured = sizes()
    files_of_all, lines_of_all = zip(*measured.values(), strict=True)
    measured["total"] = (sum(files_of_all), sum(lines_of_all))
    with BUDGET.open(encoding="utf-8", newline="") as stream:
        budget = {
            row["package"]: (int(row["files"]), int(row["lines"])) for row in csv.DictReader(stream)
        }
    over = 0
    for package, (files, lines) in measured.items():
        allowed = budget.get(package, (0, 0))
        if show:
            print(f"{package},{files},{lines}")
        elif files > allowed[0] or lines > allowed[1]:
            over += 1
            print(
                f"{package} has {lines} code lines in {files} files, but its budget is"
                f" {allowed[1]} in {allowed[0]}. See 'Budget' in CONTRIBUTING.md."
            )
    return int(over > 0)


if __name__ == "__main__":
    sys.exit(main("--table" in sys.argv[1:]))
