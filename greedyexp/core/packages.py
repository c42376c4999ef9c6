"""Installed packages whose versions determine results."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from importlib.metadata import (
    Distribution,
    EntryPoints,
    PackageNotFoundError,
    distribution,
    distributions,
    entry_points,
    version,
)
from importlib.metadata import requires as requirements
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from greedyexp.core.errors import ConfigError

_Folders = tuple[tuple[str, int], ...]


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
    return _version(name, _path())


@lru_cache(maxsize=1000)
def _version(name: str, _path: _Folders) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def installed_plugins() -> EntryPoints:
    """Return what installed distributions offer in the group ``greedyexp.plugins``."""
    return _plugins(_path())


@lru_cache(maxsize=1)
def _plugins(_path: _Folders) -> EntryPoints:
    return entry_points(group="greedyexp.plugins")


def distributions_of(module: str) -> tuple[str, ...]:
    """Return the distributions that have a module or a part of its package.

    ``scikit-learn`` for ``sklearn.linear_model``. A package may be a namespace of several.
    """
    top = module.partition(".")[0]
    found = _owners(_path()).get(top, ())
    # A distribution that lists nothing may have the name of its module.
    return found or ((top,) if version_of(top) is not None else ())


def distribution_of(module: str) -> str | None:
    """Return the distribution that installed a module; None if no distribution did."""
    return next(iter(distributions_of(module)), None)


def _path() -> _Folders:
    """Return the folders of the path, and when each last had a distribution installed or removed.

    Metadata are read again only then, because reading those of every package takes 10 ms.
    """
    folders = map(os.path.abspath, sys.path)
    return tuple(
        (each, os.stat(each).st_mtime_ns if os.path.isdir(each) else 0) for each in folders
    )


@lru_cache(maxsize=1)
def _owners(_path: _Folders) -> dict[str, tuple[str, ...]]:
    """Return the distributions by the names of the modules that they have."""
    found: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for each in distributions():
        for name in _modules(each):
            found[name][each.name] = None
    return {name: tuple(owners) for name, owners in found.items()}


def requires(name: str, other: str) -> bool:
    """Return True if a distribution is another one, or its metadata list that as a requirement.

    Optional requirements count: estimators of gradient boosting often need no scikit-learn.
    """
    listed = [re.split(r"[^\w.-]", one.strip(), maxsplit=1)[0] for one in requirements(name) or ()]
    return _normal(other) in map(_normal, [name, *listed])


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def comes_from(module: str, name: str) -> bool:
    """Return True if a module would be imported from the files of a distribution.

    Nothing is imported. A file in the current folder may have the name of an installed package.
    """
    spec = find_spec(module.partition(".")[0])
    about = distribution(name)
    homes = [Path(str(about.locate_file(""))).resolve()]
    if homes[0] == Path.cwd():
        # Metadata in the current folder are no installation.
        return False
    source = json.loads(about.read_text("direct_url.json") or "{}")
    if source.get("dir_info", {}).get("editable"):
        homes.append(Path(url2pathname(urlsplit(source["url"]).path)).resolve())
    places = [*(spec.submodule_search_locations or ()), spec.origin] if spec else []
    files = [Path(place).resolve() for place in places if place]
    return bool(files) and all(any(map(file.is_relative_to, homes)) for file in files)


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
