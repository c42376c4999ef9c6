"""Write docs/licences.md: the licence of everything that an installation of greedyexp can bring.

Rows of packages that are installed are renewed. Others are kept, because versions of Python and of
packages differ in what they need. A test compares the page with what is installed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PAGE = Path(__file__).resolve().parents[1] / "docs" / "licences.md"
EXTRAS = {
    "always": "",
    "sklearn": "sklearn",
    "parquet": "parquet",
    "report": "report",
    "dask": "dask",
    "peers": "peers",
}
ROW = re.compile(r"^\| ([a-z0-9-]+) \| (.+) \| (\w+) \|$", re.MULTILINE)
TEXT = """\
# Licences

greedyexp has the [MIT licence](../LICENSE). Its wheels hold compiled code of two other projects:
[nanobind](../LICENSES/nanobind.txt) (BSD-3-Clause) and
[robin-map](../LICENSES/robin-map.txt) (MIT).

Everything else is installed by pip from packages of their own. The table lists what greedyexp
needs always, what an extra adds, and what these packages need in turn, with the licence that each
states in its metadata. Some are needed with some versions of Python or of other packages only. Of
the extra `peers`, abess has the GNU General Public License; greedyexp calls it and holds none of
its code.

| package | licence | needed by |
|---|---|---|
"""
# Texts that stand in place of a name.
NAMES = {
    "BSD": "BSD License",
    "BSD (3-clause)": "BSD-3-Clause",
    "BSD (3-Clause)": "BSD-3-Clause",
    "GPL-3": "GPL-3.0",
    "Apache 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
}


def licence(package: Distribution) -> str:
    """Return the licence that a package states: an expression, a name or classifiers."""
    data = package.metadata
    if expression := data.get("License-Expression"):
        return str(expression)
    classes = [
        each.rpartition(" :: ")[2]
        for each in data.get_all("Classifier") or []
        if each.startswith("License :: OSI Approved :: ")
    ]
    text = (data.get("License") or "").strip()
    if text and len(text) < 30 and "\n" not in text and text not in ("Dual License", "PSF"):
        return NAMES.get(text, text)
    return " or ".join(sorted(classes))


def needed(extra: str) -> dict[str, Distribution]:
    """Return the installed packages that greedyexp needs with an extra, by canonical name."""
    found: dict[str, Distribution] = {}
    waiting = list(_direct(distribution("greedyexp"), {"", extra}))
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if name in found:
            continue
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue
        found[name] = package
        waiting += _direct(package, {"", *wanted.extras})
    found.pop("greedyexp", None)
    return found


def _direct(package: Distribution, extras: set[str]) -> Iterator[Requirement]:
    for line in package.requires or []:
        wanted = Requirement(line)
        if not wanted.marker or any(wanted.marker.evaluate({"extra": each}) for each in extras):
            yield wanted


def direct(extra: str) -> set[str]:
    """Return the canonical names of what greedyexp itself asks for."""
    return {canonicalize_name(each.name) for each in _direct(distribution("greedyexp"), {extra})}


def listed() -> dict[str, tuple[str, str]]:
    """Return licence and extra of each package on the page."""
    if not PAGE.exists():
        return {}
    return {name: (text, extra) for name, text, extra in ROW.findall(PAGE.read_text("utf-8"))}


def main() -> None:
    """Write the page."""
    rows = listed()
    renewed: dict[str, tuple[str, str]] = {}
    for label, extra in EXTRAS.items():
        for name, package in needed(extra).items():
            renewed.setdefault(name, (licence(package), label))
    rows |= renewed
    order = sorted(rows, key=lambda name: (list(EXTRAS).index(rows[name][1]), name))
    lines = (f"| {name} | {rows[name][0]} | {rows[name][1]} |\n" for name in order)
    PAGE.write_text(TEXT + "".join(lines), "utf-8")


if __name__ == "__main__":
    main()
