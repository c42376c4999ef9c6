"""Write numbers, verdicts and tables of committed results into documents.

No number of a result and no verdict is typed. A document holds Python in comments, which readers do
not see:

    <!--let
    gaps = rows("ultimate", record="iteration", iteration=60)["gap"]
    -->
    The median is 0.64<!--=gaps.median() as .2f-->.

    | method | k = 20 | 60 |
    |---|---|---|
    | RMP | 0.17 | 0.057<!--==[0.17, 0.057] as .2g--> |

``let`` runs statements, whose names later comments of the document use. ``=`` replaces the word
before it by a value, ``==`` the cell of a table before it, and with a list that cell and the ones
before it. ``as`` is followed by a format of Python. A page names published numbers in one such
comment, too.

A whole table of the results stands between two comments; the caption below it is not written:

    <!-- table results/NAME/PROFILE/tables/TABLE.md -->
    <!-- end of table -->

With --check nothing is written, and the exit code is 1 if a document differs from the results.
Run: python scripts/numbers_in_docs.py README.md docs/*.md docs/papers/*.md
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from greedyexp.experiment.design import read_design
from greedyexp.results.context import Context, context_of
from greedyexp.stats.crossing import Crossing
from greedyexp.stats.sequential import located_crossing

REPOSITORY = Path(__file__).resolve().parents[1]
_BLOCK = re.compile(r"(<!-- table (\S+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
# A word ends before what Markdown writes around it.
_WORD = re.compile(r"[^\s|()*\[\]]+")
_MARK = re.compile(
    r"<!--let\n(?P<let>.*?)\n-->"
    r"|(?P<cells>\|[^\n]*?)(?P<row><!--==(?P<list>[^\n]*?)-->)"
    rf"|(?P<word>{_WORD.pattern})(?P<one><!--=(?P<value>[^\n]*?)-->)",
    re.DOTALL,
)
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


class DocumentError(Exception):
    """A comment of a document that cannot be evaluated."""


def filled(text: str) -> str:
    """Return a document with all its numbers and tables as the results have them."""
    text = _BLOCK.sub(lambda block: f"{block[1]}{_table(block[2])}{block[3]}", text)
    names = names_of_results()
    parts, end = [], 0
    for fence in [*_FENCE.finditer(text), None]:
        until = fence.start() if fence else len(text)
        parts.append(_MARK.sub(functools.partial(_written, names=names), text[end:until]))
        parts.append(fence[0] if fence else "")
        end = fence.end() if fence else until
    return "".join(parts)


def _written(mark: re.Match, names: dict[str, Any]) -> str:
    try:
        if mark["let"] is not None:
            exec(mark["let"], names)
            return mark[0]
        if mark["one"]:
            return f"{_text(mark['value'], names)}{mark['one']}"
        values = _texts(mark["list"], names)
        cells = mark["cells"].split("|")[: -len(values)]
        before = _MARK.sub(functools.partial(_written, names=names), "|".join(cells))
        return f"{before}| {' | '.join(values)}{mark['row']}"
    except Exception as error:
        raise DocumentError(f"{mark[0][-200:]}: {error!r}") from error


def _texts(source: str, names: dict[str, Any]) -> list[str]:
    expression, _, form = source.partition(" as ")
    value = eval(expression, names)
    values = [value] if isinstance(value, str) or not np.iterable(value) else list(value)
    return [one if isinstance(one, str) else format(one, form) for one in values]


def _text(source: str, names: dict[str, Any]) -> str:
    (text,) = _texts(source, names)
    if not _WORD.fullmatch(text):
        raise ValueError(f"'{text}' is not a word")
    return text


def _table(name: str) -> str:
    lines = (REPOSITORY / name).read_text(encoding="utf-8").splitlines()
    return "".join(f"{line}\n" for line in lines if line.startswith("|"))


def names_of_results() -> dict[str, Any]:
    """Return the names that comments may use beside those that they define."""
    functions = (rows, seconds, threshold, claim, manifest, published, power)
    return {one.__name__: one for one in functions} | {"np": np, "pd": pd, "math": math}


def rows(run: str, **where) -> pd.DataFrame:
    """Return the rows of the table of a run in the paper profile.

    ``where`` maps columns to a value or to a list of values. The column ``method`` is the label of
    the algorithm without the parameters that were swept.
    """
    return _where(run, run, where)


def seconds(run: str, **where) -> pd.DataFrame:
    """Return the rows of ``timings.csv`` of a run, as ``rows``."""
    return _where(run, "timings", where)


@functools.cache
def _frame(run: str, table: str) -> pd.DataFrame:
    path = next(_folder(run).glob(f"{table}.csv*"))
    frame = pd.read_csv(path, low_memory=False)
    return frame.assign(method=frame["algorithm"].str.replace(r" \(\w+=.*\)$", "", regex=True))


def _where(run: str, table: str, where: dict[str, Any]) -> pd.DataFrame:
    frame = _frame(run, table)
    kept = np.ones(len(frame), dtype=bool)
    for column, wanted in where.items():
        values = wanted if isinstance(wanted, list | tuple) else [wanted]
        kept &= np.any([_equal(run, table, column, one) for one in values], axis=0)
    if not kept.any():
        raise ValueError(f"no row has {where}")
    return frame[kept]


# Masks are cached, because a page asks for the same values of a large table many times.
@functools.cache
def _equal(run: str, table: str, column: str, value: Any) -> np.ndarray:
    """Return a mask of the rows with a value; numbers are equal up to rounding."""
    values = _frame(run, table)[column]
    if isinstance(value, int | float):
        return np.isclose(values, value, rtol=1e-9, atol=0)
    return (values == value).to_numpy()


@functools.cache
def threshold(run: str, metric: str, level: float = 0.5, of: str = "theta", **where) -> Crossing:
    """Return where success crosses a level along ``of``: ``estimate``, ``low`` and ``high``."""
    context = _context(run)
    wins = rows(run, **where).groupby(of)[metric].agg(["sum", "count"])
    return located_crossing(
        wins.index.to_numpy(),
        *(wins["sum"], wins["count"], "rising"),
        sequential=context.placed,
        level=level,
        confidence=context.confidence,
    )


@functools.cache
def _context(run: str) -> Context:
    path = _folder(run) / "config.yaml"
    return context_of(read_design(path.read_text(encoding="utf-8"), path, "paper"), ())


@dataclass(frozen=True)
class ClaimOnPage:
    """A claim in ``claims.json``; ``tests`` is a list of dicts."""

    verdict: str
    tests: list[dict[str, Any]]

    def count(self, verdict: str) -> int:
        """Return the number of tests with a verdict."""
        return sum(test["verdict"] == verdict for test in self.tests)

    @property
    def supported(self) -> int:
        return self.count("supported")

    @property
    def refuted(self) -> int:
        return self.count("refuted")

    @property
    def open(self) -> int:
        return self.count("inconclusive")

    def __str__(self) -> str:
        """Return the verdict with its tests, such as ``refuted (3 of 15, 9 open)``."""
        total = len(self.tests)
        if total == 1:
            return self.verdict
        parts = [f"{self.count(self.verdict)} of {total}"]
        if self.verdict == "inconclusive":
            parts = [f"{self.supported} of {total} supported"]
        if self.open:
            parts.append(f"{self.open} open")
        return f"{self.verdict} ({', '.join(parts)})"


@functools.cache
def claim(run: str, name: str, **group) -> ClaimOnPage:
    """Return a claim of a run; ``group`` chooses among its tests."""
    claims = json.loads((_folder(run) / "claims.json").read_text(encoding="utf-8"))["claims"]
    found = next(one for one in claims if one["id"] == name)
    tests = [test for test in found["tests"] if group.items() <= test["group"].items()]
    if not tests:
        raise ValueError(f"claim {name} of {run} has no test with {group}")
    return ClaimOnPage(found["verdict"], tests)


def manifest(run: str) -> dict[str, Any]:
    """Return the manifest of a run."""
    return json.loads((_folder(run) / "manifest.json").read_text(encoding="utf-8"))


def published(run: str, title: str | None = None) -> dict[str, dict]:
    """Return the published numbers of a table of a config: algorithm -> metric -> row -> number.

    The title chooses the table where several have published numbers.
    """
    config = yaml.safe_load((REPOSITORY / "configs" / f"{run}.yaml").read_text(encoding="utf-8"))
    tables = [options for table in config["tables"] for options in table.values()]
    known = [one for one in tables if "published" in one]
    (table,) = (one for one in known if title is None or one.get("title") == title)
    return table["published"]


def power(number: float, digits: int = 1) -> str:
    """Return a number as 2.5e-3, without a zero in the exponent, or as 0.25."""
    if 0.1 <= abs(number) < 10:
        return f"{number:.{digits + 1}g}"
    mantissa, exponent = f"{number:.{digits}e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def _folder(run: str) -> Path:
    return REPOSITORY / "results" / run / "paper"


def main() -> int:
    parser = argparse.ArgumentParser(description="Write numbers of results into documents.")
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
