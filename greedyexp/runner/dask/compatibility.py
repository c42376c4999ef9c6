"""Whether a Dask worker would compute the same rows: its versions, its code and its data files."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import greedyexp
from greedyexp.core import registry
from greedyexp.core.errors import DataError, UserError
from greedyexp.core.listing import listed
from greedyexp.core.packages import distribution_of, version_of
from greedyexp.core.plugins import import_folder
from greedyexp.datasets.own import locate, relative_to
from greedyexp.runner import code_version
from greedyexp.runner.code_version import SourceFile
from greedyexp.runner.files import NUMERICAL_LIBRARIES
from greedyexp.runner.fingerprint import file_hash, python_version
from greedyexp.runner.work import Work

_ABSENT = "not installed"


class Difference(NamedTuple):
    """Something that differs between this process and a worker.

    Parameters
    ----------
    name : str
        A package, ``Python``, or the code of a package, such as ``code of greedyexp``.
    here, there : str
        The versions on the client and on the worker.
    """

    name: str
    here: str
    there: str


def own_versions(work: Work) -> dict[str, str]:
    """Return the versions that rows depend on, by name."""
    packages = set(NUMERICAL_LIBRARIES)
    for spec in work.algorithms:
        packages |= registry.find("algorithm", spec.name).packages_of(spec.params).keys()
    return _versions(sorted(packages))


def differences(expected: Mapping[str, str]) -> list[Difference]:
    """Return the versions that differ between this process, a worker, and the client.

    Parameters
    ----------
    expected : dict of str to str
        ``own_versions`` of the client.
    """
    own = _versions([name for name in expected if name not in ("greedyexp", "Python")])
    return [
        Difference(name, here, own[name]) for name, here in expected.items() if own[name] != here
    ]


@dataclass(frozen=True)
class Package:
    """The code of greedyexp, or of an installed package with entry points, on the client.

    Parameters
    ----------
    name : str
        The name under which Python imports it.
    version : str
    files : dict of Path to SourceFile
        Files that rows depend on, by paths such as ``greedyexp/algorithms/omp.py``.
    """

    name: str
    version: str
    files: dict[Path, SourceFile]

    def located(self) -> dict[Path, SourceFile]:
        """Return the files by their paths on this machine; empty without the package."""
        found = importlib.util.find_spec(self.name)
        if found is None or found.origin is None:
            return {}
        origin = Path(found.origin).resolve()
        folder = origin.parents[1] if origin.name == "__init__.py" else origin.parent
        return {folder / name: source for name, source in self.files.items()}

    def differences(self) -> list[Difference]:
        """Return how the code differs on this machine: one difference or none."""
        located = self.located()
        edited = sorted(
            path.name for path, one in located.items() if code_version.edited(path, one)
        )
        if located and not edited:
            return []
        there = _ABSENT
        if edited:
            there = f"{_package_version(self.name)} (differs in {listed(edited, 1)})"
        return [Difference(f"code of {self.name}", self.version, there)]


def packages_of(files: Iterable[tuple[Path, SourceFile]]) -> list[Package]:
    """Return the packages to which files of code belong."""
    found: dict[str, dict[Path, SourceFile]] = {}
    for path, source in files:
        name = path.relative_to(import_folder(path))
        found.setdefault(name.parts[0].removesuffix(".py"), {})[name] = source
    return [Package(name, _package_version(name), some) for name, some in found.items()]


def _package_version(name: str) -> str:
    return version_of(name) or version_of(distribution_of(name) or name) or "unknown version"


def clauses_of(found: Mapping[str, Iterable[Difference]]) -> str:
    """Return the differences as clauses, one for each that some workers share.

    Parameters
    ----------
    found : dict of str to iterable of Difference
        The differences by the address of the worker.
    """
    workers: dict[Difference, list[str]] = {}
    for address, some in found.items():
        for one in some:
            workers.setdefault(one, []).append(address)
    clauses = []
    for one, addresses in workers.items():
        clauses.append(f"{one.name} {one.here} here, {one.there} on {listed(addresses, 1)}")
    return "; ".join(clauses)


def data_error(work: Work, cwd: Path) -> str:
    """Return a sentence if this machine lacks a data file or has another one, otherwise ''.

    Parameters
    ----------
    cwd : Path
        Working directory of the client, for relative paths.
    """
    try:
        for data in work.data:
            for file, expected in data.own.items():
                path = _located(file, work.folder, cwd)
                if file_hash(path) != expected:
                    return f"{path}: this file differs from that of the main process."
            # Their values are compared with the published checksum when they are read.
            reads = registry.find("generator", data.generator).reads if data.published else None
            if reads is not None:
                reads(**data.params)
    except UserError as error:
        return str(error)
    return ""


def _located(file: str, folder: Path | None, cwd: Path) -> Path:
    try:
        with relative_to(folder):
            return locate(file)
    except DataError:
        with relative_to(cwd):
            return locate(file)


def _versions(packages: Iterable[str]) -> dict[str, str]:
    found = {
        "greedyexp": greedyexp.__version__,
        "Python": python_version(),
    }
    return found | {name: version_of(name) or _ABSENT for name in packages}
