"""Write the tables of committed results into documents.

A document names the file before the table, and marks its end:

    <!-- table results/NAME/PROFILE/tables/TABLE.md -->
    <!-- end of table -->

The caption below a table is not written. With --check nothing is written, and the exit code is 1
if a document differs from the results.
Run: python scripts/tables_in_docs.py docs/best_subset_today.md
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
_BLOCK = re.compile(r"(<!-- table (\S+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def filled(text: str) -> str:
    """Return a document with all its tables as the results have them."""
    return _BLOCK.sub(lambda block: f"{block[1]}{_rows(block[2])}{block[3]}", text)


def _rows(name: str) -> str:
    lines = (REPOSITORY / name).read_text(encoding="utf-8").splitlines()
    return "".join(f"{line}\n" for line in lines if line.startswith("|"))


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the tables of results into documents.")
    parser.add_argument("documents", nargs="+", type=Path)
    parser.add_argument("--check", action="store_true", help="only compare")
    given = parser.parse_args()
    stale = 0
    for document in given.documents:
        text = document.read_text(encoding="utf-8")
        if filled(text) != text:
            stale = 1
            if not given.check:
                document.write_text(filled(text), encoding="utf-8")
    return stale if given.check else 0


if __name__ == "__main__":
    raise SystemExit(main())
