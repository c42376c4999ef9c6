"""Installed packages whose versions determine results."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distributions, version
from typing import Any

from greedyexp.core.errors import ConfigError


def versions(names: Iterable[str], user: str) -> dict[str, str]:
    """Return the version of each distribution by its name, without importing it.

    Parameters
    ----------
    names : iterable of str
        Names of distributions, such as ``scikit-learn``.
    user : str
        What needs them, for messages, such as ``algorithm 'celer_lasso'``.

    Raises
    ------
    ConfigError
        If one of them is not installed.
    """
    found = {}
    for name in names:
        known = version_of(name)
        if known is None:
            raise ConfigError(
                f"{user} needs the package '{name}', which is not installed.",
                remedy="Install it, or all packages that greedyexp compares with: "
                "pip install 'greedyexp[peers]'.",
            )
        found[name] = known
    return found


def version_of(name: str) -> str | None:
    """Return the version of a distribution; None if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


@cache
def distribution_of(module: str) -> str | None:
    """Return the distribution that installed a module; None if no distribution did.

    ``scikit-learn`` for ``sklearn.linear_model``.
    """
    top = module.partition(".")[0]
    return next((each.name for each in distributions() if top in _modules(each)), None)


def _modules(distribution: Distribution) -> set[str]:
    """Return the names that a distribution lists, or else those of its files.

    ``packages_distributions`` of Python 3.10 knows only names that are listed, and many packages
    list none.
    """
    listed = distribution.read_text("top_level.txt")
    if listed is not None:
        return set(listed.split())
    files = (distribution.read_text("RECORD") or "").splitlines()
    return {re.split("[/.,]", file, maxsplit=1)[0] for file in files}


def exact_numbers() -> dict[str, Any]:
    """Return arguments of ``pandas.read_csv`` by which every number is the nearest float.

    Before pandas 3.1 the default parser may be wrong in the last digit.
    """
    old = tuple(int(number) for number in (version_of("pandas") or "0.0").split(".")[:2]) < (3, 1)
    return {"float_precision": "round_trip"} if old else {}
