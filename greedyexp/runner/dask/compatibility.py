"""Whether a Dask worker would compute the same rows: its versions, its code and its data files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import greedyexp
from greedyexp.core import registry
from greedyexp.core.errors import DataError, UserError
from greedyexp.core.listing import listed
from greedyexp.core.packages import version_of
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
        A package, ``Python``, or ``code of greedyexp``.
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


def differences(
    expected: Mapping[str, str], code: Iterable[tuple[Path, SourceFile]]
) -> list[Difference]:
    """Return what differs between this process, a worker, and the client.

    Parameters
    ----------
    expected : dict of str to str
        ``own_versions`` of the client.
    code : iterable of (Path, SourceFile)
        Files of greedyexp, where they are on this machine, as the client has read them.
    """
    own = _versions([name for name in expected if name not in ("greedyexp", "Python")])
    found = [
        Difference(name, here, own[name]) for name, here in expected.items() if own[name] != here
    ]
    edited = sorted(path.name for path, source in code if code_version.edited(path, source))
    if edited:
        found.append(Difference("code of greedyexp", "-", f"differs in {listed(edited, 1)}"))
    return found


def table(found: Mapping[str, Iterable[Difference]]) -> str:
    """Return the differences as a table, one line for each that some workers share.

    Parameters
    ----------
    found : dict of str to iterable of Difference
        The differences by the address of the worker.
    """
    workers: dict[Difference, list[str]] = {}
    for address, some in found.items():
        for one in some:
            workers.setdefault(one, []).append(address)
    lines = [("", "here", "there", "workers")]
    for one, addresses in workers.items():
        lines.append((*one, listed(addresses, 1)))
    widths = [max(len(line[column]) for line in lines) for column in range(4)]
    return "\n".join("  " + "  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


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
                    return f"{path}: this file differs from that of the process that was started."
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
