"""Check that every package with a lower bound is installed in exactly that version.

`make test-lowest` runs it, so that no bound is promised that no test has seen.
"""

from __future__ import annotations

import sys
from importlib.metadata import requires, version

from packaging.requirements import Requirement
from packaging.version import Version

EXTRAS = ("", "dask", "docs", "parquet", "sklearn")


def higher_than_promised() -> list[str]:
    """Name each package whose installed version differs from its lower bound."""
    wrong = []
    for line in requires("greedyexp") or []:
        wanted = Requirement(line)
        if wanted.name == "greedyexp":
            continue
        if wanted.marker and not any(wanted.marker.evaluate({"extra": each}) for each in EXTRAS):
            continue
        (bound,) = (each for each in wanted.specifier if each.operator == ">=")
        if Version(version(wanted.name)) != Version(bound.version):
            wrong.append(f"{wanted} is tested with {version(wanted.name)}")
    return wrong


if __name__ == "__main__":
    sys.exit("\n".join(higher_than_promised()) or 0)
