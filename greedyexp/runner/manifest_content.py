"""The structure of ``manifest.json``: what a run writes and every reader may rely on."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

_Count = Annotated[int, Field(ge=0, lt=2**63)]
_Seconds = Annotated[float, Field(ge=0)]


class _Git(BaseModel):
    commit: str | None = None
    dirty: bool = False


class _Machine(BaseModel):
    system: str = ""
    architecture: str = ""
    cpu: str = ""
    cores: _Count | None = None


class _Replicates(BaseModel):
    total: _Count
    done: _Count
    failed: dict[str, _Count]
    missing: _Count
    not_converged: _Count
    computed: _Count


class _Run(BaseModel):
    """What a manifest says of a run, and of each run that was merged."""

    shard: str = ""
    engine: str = ""
    # An interrupted run may have no worker yet.
    jobs: _Count = 1
    git: _Git | None = None
    greedyexp: str = ""
    python: str = ""
    packages: dict[str, str | None] = {}
    blas: list[dict[str, Any]] = []
    machine: _Machine = _Machine()
    started: str = ""
    finished: str = ""
    wall_seconds: _Seconds = 0
    cpu_seconds: _Seconds = 0


class ManifestContent(_Run):
    """The whole file. Other keys are not read."""

    name: str
    profile: str = ""
    algorithm_seconds: _Seconds
    interrupted: bool = False
    replicates: _Replicates
    data_files: dict[str, str] = {}
    digests: dict[str, str] = {}
    config: str = ""
    installation: str = ""
    journal: str = ""
    merged: list[_Run] = []
