"""The Dask scheduler that a run uses, or the cluster that it starts."""

from __future__ import annotations

import importlib
import json
import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from greedyexp.config.document import Node, read_file
from greedyexp.core.errors import ConfigError
from greedyexp.experiment.parameters import BadValue, read_value

# Class of dask-jobqueue for each kind of cluster.
_KINDS = {
    "slurm": "SLURMCluster",
    "pbs": "PBSCluster",
    "lsf": "LSFCluster",
    "sge": "SGECluster",
    "htcondor": "HTCondorCluster",
}


class ClusterFile(BaseModel):
    """A cluster to start, as a YAML file describes it.

    Parameters
    ----------
    kind : str
        The batch system.
    jobs : int
        Number of batch jobs.
    options : dict
        Arguments of the class of dask-jobqueue.
    """

    model_config = ConfigDict(extra="forbid")

    kind: Literal["slurm", "pbs", "lsf", "sge", "htcondor"]
    jobs: Annotated[int, Field(ge=1)]
    options: dict[str, Any] = {}


def require_distributed() -> None:
    """Raise ``ConfigError`` if Dask cannot be imported."""
    try:
        importlib.import_module("distributed")
    except ImportError as error:
        raise ConfigError(
            f"the engine 'dask' needs the package 'distributed': {error}.",
            place="engine",
            remedy="Install it: pip install 'greedyexp[dask]'.",
        ) from None


@dataclass(frozen=True)
class Scheduler:
    """A scheduler that runs already.

    Parameters
    ----------
    name : str
        Its address, such as ``tcp://host:8786``, or its scheduler file.
    """

    name: str

    def __post_init__(self) -> None:
        from distributed.comm.addressing import get_address_host_port

        try:
            # That of this process has no port.
            if not self._address.startswith("inproc://"):
                get_address_host_port(self._address, strict=True)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise ConfigError(
                f"'{self.name}' is neither the address of a scheduler nor a scheduler file.",
                place="--scheduler",
                remedy="Give an address such as tcp://host:8786, or the file that"
                " `dask scheduler --scheduler-file FILE` writes.",
            ) from None

    @property
    def _address(self) -> Any:
        path = Path(self.name)
        return json.loads(path.read_bytes())["address"] if path.is_file() else self.name

    @contextmanager
    def opened(self) -> Iterator[dict[str, Any]]:
        """Yield the arguments of ``Client`` that lead to the scheduler."""
        yield {"address": self._address}


@dataclass(frozen=True)
class Local:
    """A cluster in this process, whose worker processes are on this machine.

    Parameters
    ----------
    jobs : int
        Number of worker processes.
    """

    jobs: int
    name: str = "a local cluster"

    @contextmanager
    def opened(self) -> Iterator[dict[str, Any]]:
        """Start the cluster, and yield the arguments of ``Client`` that lead to it."""
        import dask
        from distributed import LocalCluster

        # The threads of one Dask worker are enough: what computes are processes of their own. So
        # these threads need no profiler. The event loop need not be checked 50 times a second,
        # which takes 2% of a core.
        quiet = {
            "distributed.worker.profile.enabled": False,
            "distributed.admin.tick.interval": "1s",
            # Otherwise the link names an address of this machine where nobody listens.
            "distributed.dashboard.link": "{scheme}://127.0.0.1:{port}/status",
        }
        with (
            dask.config.set(quiet),
            LocalCluster(
                n_workers=1,
                threads_per_worker=self.jobs,
                processes=False,
                dashboard_address="127.0.0.1:0",
                # Otherwise every machine of the network could ask for the state of the worker.
                worker_dashboard_address="127.0.0.1:0",
                memory_limit=None,
            ) as cluster,
        ):
            yield {"address": cluster.scheduler_address}


class Started:
    """A cluster of a batch system, described by a file.

    Parameters
    ----------
    path : Path

    Raises
    ------
    ConfigError
        If the file is invalid, or dask-jobqueue is not installed.
    """

    def __init__(self, path: Path):
        self.name = str(path)
        document = read_file(path)
        node = Node(document)
        try:
            read = read_value(TypeAdapter(ClusterFile), document.data, "the cluster")
        except BadValue as error:
            node.add_all(error.found)
            node.diagnostics.stop_if_any()
            raise
        self._file: ClusterFile = read
        try:
            self._class = getattr(importlib.import_module("dask_jobqueue"), _KINDS[read.kind])
        except ImportError as error:
            raise ConfigError(
                f"a cluster of the kind '{read.kind}' needs the package 'dask-jobqueue': {error}.",
                place=self.name,
                remedy="Install it: pip install dask-jobqueue.",
            ) from None

    def create(self) -> Any:
        """Return the cluster, without jobs."""
        try:
            return self._class(**self._file.options)
        except Exception as error:
            # The class checks few of its arguments, so any exception may follow.
            said = " ".join(str(error).split()).rstrip(".")
            raise ConfigError(
                f"{self._class.__name__} cannot be started with these options: {said}.",
                place=self.name,
                remedy="Check the options in this file.",
            ) from None

    @contextmanager
    def opened(self) -> Iterator[dict[str, Any]]:
        """Submit the jobs, and yield the arguments of ``Client`` that lead to their scheduler.

        Raises
        ------
        ConfigError
            If the batch system is not installed on this machine.
        """
        command = shlex.split(self._class.job_cls.submit_command)[0]
        if shutil.which(command) is None:
            raise ConfigError(
                f"this machine has no command '{command}', which submits the jobs.",
                place=self.name,
                remedy="Start the run where jobs are submitted, such as on the login node.",
            )
        with self.create() as cluster:
            cluster.scale(jobs=self._file.jobs)
            yield {"address": cluster.scheduler_address, "security": cluster.security}


Cluster = Scheduler | Local | Started
