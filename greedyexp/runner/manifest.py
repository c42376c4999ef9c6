"""The manifest of a run: code, libraries, machine, times and counts."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import greedyexp
from greedyexp.core import registry
from greedyexp.core.errors import StorageError
from greedyexp.core.files import write_text
from greedyexp.core.packages import version_of
from greedyexp.core.run_files import CONFIG, DRAFT
from greedyexp.experiment.design import read_design
from greedyexp.experiment.model import Experiment
from greedyexp.experiment.stored_parts import described
from greedyexp.protocols.base import Status
from greedyexp.runner.code_version import SourceFile, surroundings
from greedyexp.runner.digests import LIBRARIES, file_digest
from greedyexp.runner.engine import Engine
from greedyexp.runner.journal import Journal
from greedyexp.runner.plan import Census, Plan
from greedyexp.runner.rows import write_tables
from greedyexp.runner.run_contents import digests_of
from greedyexp.runner.run_folder import RunFolder
from greedyexp.runner.shards import WHOLE, Shard

_UNCOMMITTED = " with uncommitted changes"
# What a manifest says of each run whose results were merged.
_OF_RUN = (
    *("shard", "engine", "jobs", "cluster", "mixed_versions", "git", "greedyexp", "python"),
    *("packages", "environment", "blas", "machine"),
    *("started", "finished", "wall_seconds", "cpu_seconds"),
)


class Manifest:
    """Collect the content of ``manifest.json`` from the start of a run to its end.

    Parameters
    ----------
    plan : Plan
        The whole experiment.
    journal : Journal
        That of the results folder ``<out>/<name>/<profile>``.
    engine : Engine
    installed : str
        ``installation()`` from before the run read any code, which may be edited meanwhile.
    shard : Shard
        The part of the experiment that is run.
    merged : list of dict, optional
        What the manifest says of each run whose results were merged here (see ``merged_runs``); by
        default what the previous manifest of the folder says.
    """

    def __init__(
        self,
        plan: Plan,
        journal: Journal,
        engine: Engine,
        installed: str,
        shard: Shard = WHOLE,
        merged: list[dict[str, Any]] | None = None,
    ):
        self._start = time.monotonic()
        self._cpu = _cpu_seconds()
        self._plan, self._journal, self._engine = plan, journal, engine
        self._installed = installed
        experiment, folder = plan.experiment, journal.path.parent
        journal.remember(experiment.folder, experiment.profile, shard)
        self._content: dict[str, Any] = {
            "name": experiment.name,
            "profile": experiment.profile,
            "seed": experiment.seed,
            "trials": experiment.resolved["trials"],
            "engine": engine.name,
            "jobs": engine.jobs,
            **({} if shard == WHOLE else {"shard": str(shard)}),
            **provenance(folder, experiment, plan.files.code),
            "started": _utc_now(),
        }
        if merged is None:
            # A damaged manifest is replaced.
            with suppress(StorageError):
                merged = RunFolder(folder).manifest().get("merged")
        if merged:
            self._content["merged"] = merged

    def finish(
        self, home: Path, census: Census, computed: int = 0, *, interrupted: bool = False
    ) -> Path:
        """Write the tables, and the manifest next to them and the settings; see ``next_state``.

        Parameters
        ----------
        home : Path
            Folder of the new state, which has the settings.
        census : Census
            Finished replicates of the whole experiment.
        computed : int
            Number of replicates that this run computed.
        interrupted : bool

        Returns
        -------
        Path
            The tidy table.
        """
        plan, journal = self._plan, self._journal
        table = write_tables(plan.experiment, plan.finished, journal, home)
        self._content |= {
            "jobs": self._engine.jobs,
            **self._engine.remarks(),
            "finished": _utc_now(),
            "wall_seconds": round(time.monotonic() - self._start, 3),
            "cpu_seconds": round(_cpu_seconds() - self._cpu, 3),
            "algorithm_seconds": round(census.seconds, 3),
            "interrupted": interrupted,
            "replicates": {
                "total": census.total,
                "done": census.done,
                "failed": census.failed,
                "not_converged": census.statuses.get(Status.NOT_CONVERGED.value, 0),
                "missing": census.missing,
                "computed": computed,
            },
            "data_files": plan.files.checksums(),
            "digests": digests_of(home),
            # While all three digests agree, ``status`` reads the manifest and not the journal.
            "config": file_digest(home / CONFIG),
            "installation": self._installed,
            "journal": journal.digest,
        }
        config = home / CONFIG
        design = read_design(config.read_text("utf-8"), config, "")
        if parts := described(design, plan.experiment.points):
            self._content["parts"] = parts
        text = json.dumps(self._content, indent=2, ensure_ascii=False)
        write_text(home / DRAFT, f"{text}\n")
        return table


def merged_runs(folder: Path) -> list[dict[str, Any]]:
    """Return what a manifest says of the runs that computed the results of a folder.

    Returns
    -------
    list of dict
        The last run of the folder, with its machine, versions and times, if it computed anything;
        and the runs whose results were merged there before. Empty if the folder has no manifest.
    """
    manifest = RunFolder(folder).manifest()
    known: list[dict[str, Any]] = list(manifest.get("merged", ()))
    if manifest.get("replicates", {}).get("computed"):
        kept = {key: manifest[key] for key in _OF_RUN if key in manifest}
        known.append({"folder": folder.resolve().name, **kept})
    return known


def provenance(
    folder: Path, experiment: Experiment, code: dict[Path, SourceFile] | None = None
) -> dict[str, Any]:
    """Return the versions of code and libraries, and the machine.

    Parameters
    ----------
    folder : Path
        The results folder ``<out>/<name>/<profile>``. Changes below ``<out>`` come from runs and
        do not make the repository dirty.
    experiment : Experiment
        The packages that its algorithms use and its plugins import are added to the libraries.
    code : dict of Path to SourceFile, optional
        Files of code as they were when first read.
    """
    # A copy, since files that are read only now do not count for rows.
    plugins = [Path(os.path.realpath(plugin)) for plugin in experiment.plugins]
    around = surroundings(plugins, dict(code or {}))
    used = {name: version_of(name) for name in LIBRARIES} | around.packages
    for spec in experiment.algorithms:
        used |= registry.find("algorithm", spec.name).packages_of(spec.params)
    out = folder.resolve().parent.parent
    return {
        "git": git_state(Path(greedyexp.__file__).resolve().parent, out),
        "greedyexp": greedyexp.__version__,
        "python": platform.python_version(),
        "packages": used,
        **({"environment": around.variables} if around.variables else {}),
        "blas": blas(),
        "machine": {
            "system": f"{platform.system()} {platform.release()}",
            "architecture": platform.machine(),
            "cpu": _cpu_model(),
            "cores": os.cpu_count(),
        },
    }


def version_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the versions of code and libraries that differ, such as ``numpy 2.3.1 -> 2.4.6``.

    A commit with uncommitted changes differs from any other. A package that only one side uses has
    the version ``none`` on the other.

    Parameters
    ----------
    before, after : mapping
        Two manifests, or the ``provenance`` of this process.
    """
    versions = [
        {
            "commit": _commit(one),
            "greedyexp": one.get("greedyexp"),
            "python": one.get("python"),
            **(one.get("packages") or {}),
        }
        for one in (before, after)
    ]
    found = []
    for name in dict.fromkeys([*versions[0], *versions[1]]):
        old, new = (one.get(name) or "none" for one in versions)
        if old != new or old.endswith(_UNCOMMITTED):
            found.append(f"{name} {old} -> {new}")
    return found


def changed_files(manifest: Mapping[str, Any], checksums: Mapping[str, str]) -> list[str]:
    """Return the names of the data files that have other checksums than in a manifest."""
    known = manifest.get("data_files") or {}
    return [name for name, digest in checksums.items() if known.get(name, digest) != digest]


def git_state(folder: Path, results: Path) -> dict[str, Any] | None:
    """Return the commit, and whether tracked files were changed; None outside a repository.

    Parameters
    ----------
    folder : Path
        Folder of the code.
    results : Path
        Changes below this folder do not count.
    """
    commit = _git(folder, "rev-parse", "HEAD")
    top = _git(folder, "rev-parse", "--show-toplevel")
    if commit is None or top is None:
        return None
    paths = ["."]
    if results.is_relative_to(top) and results != Path(top):
        paths.append(f":(exclude){results.relative_to(top).as_posix()}")
    changed = _git(Path(top), "status", "--porcelain", "--untracked-files=no", "--", *paths)
    # Changes count as made if git cannot tell.
    return {"commit": commit, "dirty": changed is None or bool(changed)}


def blas() -> list[dict[str, Any]]:
    """Return name, version and threads of the linear algebra libraries."""
    import numpy.linalg  # noqa: F401 (loads the library)
    from threadpoolctl import threadpool_info

    found = {
        (entry["internal_api"], entry.get("version"), entry.get("architecture"))
        for entry in threadpool_info()
        if entry["user_api"] == "blas"
    }
    return [
        {"name": name, "version": number, "kernels": kernels, "threads_per_worker": 1}
        for name, number, kernels in sorted(found, key=str)
    ]


def _cpu_model() -> str:
    """Return the model of the processor."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _commit(manifest: Mapping[str, Any]) -> str:
    git = manifest.get("git") or {}
    return f"{str(git.get('commit') or 'unknown')[:12]}{_UNCOMMITTED if git.get('dirty') else ''}"


def _utc_now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _cpu_seconds() -> float:
    """Return the processor time of this process and of its children that have ended."""
    return sum(os.times()[:4])


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
