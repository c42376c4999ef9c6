"""Whether a Dask worker would compute the same rows: its versions, its code and its data files."""

from __future__ import annotations

import importlib.util
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import greedyexp
from greedyexp.core import registry
from greedyexp.core.errors import MOST_NAMES, DataError, UserError
from greedyexp.core.listing import listed
from greedyexp.core.packages import distribution_of, version_of
from greedyexp.core.plugins import import_folder
from greedyexp.datasets.own import locate, relative_to
from greedyexp.runner import code_version
from greedyexp.runner.code_version import SourceFile
from greedyexp.runner.digests import NUMERICAL_LIBRARIES
from greedyexp.runner.fingerprint import file_hash, python_version
from greedyexp.runner.work import Work

_ABSENT = "not installed"


def own_versions(work: Work) -> dict[str, str]:
    """Return the versions that rows depend on, by name."""
    packages = set(NUMERICAL_LIBRARIES)
    for spec in work.algorithms:
        packages |= registry.find("algorithm", spec.name).packages_of(spec.params).keys()
    packages |= {name for _, source in work.code for name in source.packages}
    return _versions(sorted(packages))


def differences(expected: Mapping[str, str]) -> list[str]:
    """Return a clause for each version that differs between this process, a worker, and the client.

    Parameters
    ----------
    expected : dict of str to str
        ``own_versions`` of the client.
    """
    own = _versions([name for name in expected if name not in ("greedyexp", "Python")])
    return [_clause(name, here, own[name]) for name, here in expected.items() if own[name] != here]


def _clause(name: str, here: str, there: str) -> str:
    return f"{name} {here} here, {there}"


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
        # A data file has no name of a module, and is not looked for.
        found = importlib.util.find_spec(self.name) if self.name.isidentifier() else None
        if found is None or found.origin is None:
            return {}
        origin = Path(found.origin).resolve()
        folder = origin.parents[1] if origin.name == "__init__.py" else origin.parent
        return {folder / name: source for name, source in self.files.items()}

    def differences(self) -> list[str]:
        """Return how the code differs on this machine: one clause or none."""
        located = self.located()
        edited = sorted(
            path.name for path, one in located.items() if code_version.edited(path, one)
        )
        if located and not edited:
            return []
        there = _ABSENT
        if edited:
            there = f"{_package_version(self.name)} (differs in {listed(edited, 1)})"
        return [_clause(f"code of {self.name}", self.version, there)]


def packages_of(files: Iterable[tuple[Path, SourceFile]]) -> list[Package]:
    """Return the packages to which files of code belong."""
    found: dict[str, dict[Path, SourceFile]] = {}
    for path, source in files:
        name = path.relative_to(import_folder(path))
        found.setdefault(name.parts[0].removesuffix(".py"), {})[name] = source
    return [Package(name, _package_version(name), some) for name, some in found.items()]


def _package_version(name: str) -> str:
    return version_of(name) or version_of(distribution_of(name) or name) or "unknown version"


class Comparison(NamedTuple):
    """How a worker differs from the main process.

    Parameters
    ----------
    differences : list of str
        Clauses on its versions and its code, such as "numpy 2.0 here, 1.26".
    error : str
        A sentence if data are missing or differ, or ''.
    """

    differences: list[str]
    error: str


def refusal(answers: Mapping[str, Comparison | BaseException]) -> UserError | None:
    """Return why workers cannot compute the same rows, or None if they can.

    Parameters
    ----------
    answers : dict of str to Comparison or exception
        The answers by the address of the worker. An exception prevented the comparison.
    """
    differing: dict[str, list[str]] = defaultdict(list)
    broken: dict[str, list[str]] = defaultdict(list)
    for address, answer in answers.items():
        if isinstance(answer, BaseException):
            error = f"{type(answer).__name__}: {answer}."
            broken[f"{error} Install greedyexp {greedyexp.__version__} there, as here."] += [
                address
            ]
            continue
        for clause in answer.differences:
            differing[clause].append(address)
        if answer.error:
            broken[answer.error].append(address)
    if differing:
        clauses = [f"{text} on {listed(names, MOST_NAMES)}" for text, names in differing.items()]
        return UserError(
            "Dask workers differ from the main process, so rows could differ:"
            f" {'; '.join(clauses)}.",
            remedy="Install the same versions there.",
        )
    sentences = []
    for error, names in broken.items():
        workers = f"the Dask worker{'s' * (len(names) > 1)} {listed(names, MOST_NAMES)}"
        sentences.append(f"{workers} cannot compute: {error}")
    return UserError(" ".join(sentences)) if sentences else None


def data_error(work: Work, cwd: Path) -> str:
    """Return a sentence if this machine lacks a data file or has another one, otherwise ''.

    Parameters
    ----------
    work : Work
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
    found = {"greedyexp": greedyexp.__version__, "Python": python_version()}
    return found | {name: version_of(name) or _ABSENT for name in packages}
