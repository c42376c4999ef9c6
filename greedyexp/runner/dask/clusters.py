"""The Dask scheduler that a run uses, or the cluster that it starts."""

from __future__ import annotations

import importlib
import inspect
import json
import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from greedyexp.config.document import Document, Node
from greedyexp.config.reading import read_file
from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.experiment.parameters import BadValue, read_value

# Class and package of each kind of cluster.
_KINDS = {
    "slurm": ("SLURMCluster", "dask_jobqueue"),
    "pbs": ("PBSCluster", "dask_jobqueue"),
    "lsf": ("LSFCluster", "dask_jobqueue"),
    "sge": ("SGECluster", "dask_jobqueue"),
    "htcondor": ("HTCondorCluster", "dask_jobqueue"),
    "kubernetes": ("KubeCluster", "dask_kubernetes.operator"),
}

# Seconds to wait until a cluster of Kubernetes that could not be started is deleted.
_DELETE_LIMIT = 10

# Arguments of these classes that the engine chooses.
_RESERVED = {"self", "asynchronous", "loop", "job_cls", "n_workers"}


class ClusterFile(BaseModel):
    """A cluster to start, as a YAML file describes it.

    Parameters
    ----------
    kind : str
        The batch system.
    jobs : int
        Number of batch jobs, or of pods.
    options : dict
        Arguments of the class of dask-jobqueue or dask-kubernetes.
    """

    model_config = ConfigDict(extra="forbid")

    kind: Literal["slurm", "pbs", "lsf", "sge", "htcondor", "kubernetes"]
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
    failure: ClassVar[None] = None

    def __post_init__(self) -> None:
        if not self._is_file and "://" not in self.name:
            raise ConfigError(
                f"'{self.name}' is neither the address of a scheduler nor a scheduler file.",
                place="--scheduler",
                remedy="Give an address such as tcp://host:8786, or the file that"
                " `dask scheduler --scheduler-file FILE` writes.",
            )
        if self._is_file and not _has_address(Path(self.name)):
            raise ConfigError(
                "this is not a scheduler file: it has no address.",
                place=self.name,
                remedy="Give the file that `dask scheduler --scheduler-file FILE` writes.",
            )

    @property
    def _is_file(self) -> bool:
        return Path(self.name).is_file()

    @contextmanager
    def opened(self) -> Iterator[dict[str, Any]]:
        """Yield the arguments of ``Client`` that lead to the scheduler."""
        yield {"scheduler_file" if self._is_file else "address": self.name}


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
    failure: ClassVar[None] = None

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
                memory_limit=None,
            ) as cluster,
        ):
            yield {"address": cluster}


class Started:
    """A cluster of a batch system, described by a file.

    Parameters
    ----------
    path : Path

    Raises
    ------
    ConfigError
        If the file is invalid, or the package for its batch system is not installed.

    Attributes
    ----------
    failure : ConfigError or None
        Why a job could not be submitted.
    """

    def __init__(self, path: Path):
        self.name = str(path)
        self.failure: ConfigError | None = None
        document = read_file(path)
        node = Node(document)
        try:
            read = read_value(TypeAdapter(ClusterFile), document.data, "the cluster")
        except BadValue as error:
            node.add_all(error.found)
            node.diagnostics.stop_if_any()
            raise
        self.file: ClusterFile = read
        self._class = _class_of(self.file.kind, document)
        known = _arguments(self._class)
        for key in self.file.options:
            if key not in known:
                node.at("options", key).add(
                    f"{self._class.__name__} has no option '{key}' in a cluster file.",
                    did_you_mean(key, known),
                )
        node.diagnostics.stop_if_any()

    def create(self) -> Any:
        """Return the cluster, without jobs."""
        try:
            return self._class(**self.file.options)
        except Exception as error:
            # These classes check few of their arguments, so any exception may follow.
            if self.file.kind == "kubernetes":
                _give_up(self._class)
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
        job = getattr(self._class, "job_cls", None)
        submit = "" if job is None else shlex.split(job.submit_command)[0]
        if submit and shutil.which(submit) is None:
            raise ConfigError(
                f"this machine has no command '{submit}', which submits the jobs.",
                place=self.name,
                remedy="Start the run where jobs are submitted, such as on the login node.",
            )
        with self.create() as cluster:
            if self.file.kind == "kubernetes":
                cluster.scale(self.file.jobs)
                yield {"address": cluster}
            else:
                cluster.loop.add_callback(self._submit, cluster)
                # A client that knows the cluster would submit the jobs, too.
                yield {"address": cluster.scheduler_address, "security": cluster.security}

    async def _submit(self, cluster: Any) -> None:
        """Submit the jobs. ``cluster.scale`` would only log that the batch system rejects one."""
        from distributed import Status

        for _ in range(self.file.jobs):
            cluster.worker_spec.update(cluster.new_worker_spec())
        try:
            await cluster
        except Exception as error:
            # Otherwise Dask fails when it closes the cluster, after it has cancelled the others.
            for job in cluster.workers.values():
                job.status = Status.failed
            # The message of dask-jobqueue ends with what the command has printed.
            said = str(error).partition("stdout:\n")[2].replace("stderr:\n", "") or str(error)
            self.failure = ConfigError(
                f"the batch system rejected a job: {' '.join(said.split()).rstrip('.')}.",
                place=self.name,
                remedy="Check the options in this file.",
            )


def _give_up(kubernetes: Any) -> None:
    """Delete what was created; dask-kubernetes would at exit, with a traceback if it cannot."""
    for cluster in list(kubernetes._instances):
        with suppress(Exception):
            cluster.close(timeout=_DELETE_LIMIT)
        cluster.shutdown_on_close = False


def _has_address(path: Path) -> bool:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and isinstance(content.get("address"), str)


def _class_of(kind: str, document: Document) -> Any:
    name, module = _KINDS[kind]
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0].replace("_", "-")
        raise ConfigError(
            f"a cluster of the kind '{kind}' needs the package '{package}': {error}.",
            place=str(document.place(("kind",))),
            remedy=f"Install it: pip install {package}.",
        ) from None


def _arguments(cluster: Any) -> set[str]:
    """Return the options of a class of clusters, with those that it passes to its jobs."""
    functions = [cluster.__init__]
    if job := getattr(cluster, "job_cls", None):
        functions += [base.__init__ for base in job.__mro__]
        functions += [base.__init__ for base in cluster.__mro__]
    return {
        name
        for function in functions
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    } - _RESERVED
