"""Data that a run exchanges with its engines: the work, its items and their results."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from greedyexp.core import reading, registry
from greedyexp.core.errors import ConfigError, PluginError, placed_in
from greedyexp.datasets.own import locate, relative_to
from greedyexp.experiment.model import AlgorithmSpec, Experiment
from greedyexp.protocols.base import Outcome
from greedyexp.runner.code_version import ROOT, SourceFile
from greedyexp.runner.digests import NUMERICAL_LIBRARIES
from greedyexp.runner.shards import WHOLE, Shard

if TYPE_CHECKING:
    from greedyexp.runner.fingerprint import InputFiles


@dataclass(frozen=True)
class RunOptions:
    """Options for the computation of an experiment.

    Parameters
    ----------
    engine : {"processes", "serial", "dask"}
    jobs : int, optional
        Number of worker processes; by default one for each usable core.
    scheduler : str, optional
        Address of a Dask scheduler, or its scheduler file. The default is a cluster of ``jobs``
        workers on this machine.
    cluster : Path, optional
        File that describes a Dask cluster to start; see ``dask.clusters``.
    force : bool
        Compute everything again; an old row is replaced once the new one is finished.
    retry_failed : bool
        Compute failed replicates again.
    progress : bool
        Show a progress bar in a notebook or on a terminal, and lines elsewhere.
    tracebacks : bool
        Print tracebacks of exceptions raised by parts on stderr, one for each location.
    pdb : bool
        Stop in the debugger at an exception of a part; implies the serial engine and no progress.
    shard : Shard
        The part of the experiment to compute.
    max_time : float, optional
        Seconds after which no further replicate is started, if trials continue until the claims
        are decided.
    """

    engine: str = "processes"
    jobs: int | None = None
    scheduler: str | None = None
    cluster: Path | None = None
    force: bool = False
    retry_failed: bool = False
    progress: bool = True
    tracebacks: bool = False
    pdb: bool = False
    shard: Shard = WHOLE
    max_time: float | None = None

    @classmethod
    def of(
        cls, *, shard: str | None = None, max_time: str | None = None, **others: Any
    ) -> RunOptions:
        """Return options with a shard such as ``3/16`` and a time such as ``2h``.

        Raises
        ------
        ConfigError
            If a text has another form. The place of the error is the option of the command line.
        """
        with placed_in(f"--shard {shard}"):
            part = WHOLE if shard is None else Shard.parse(shard)
        with placed_in(f"--max-time {max_time}"):
            seconds = None if max_time is None else seconds_of(max_time)
        return cls(shard=part, max_time=seconds, **others)

    def require_decisions(self, experiment: Experiment) -> None:
        """Raise ``ConfigError`` for a limit of time if the claims do not decide on the trials."""
        rule = experiment.adaptive
        if self.max_time is not None and not (rule and rule.until_decided):
            raise ConfigError(
                "only runs until the claims are decided have a time limit.",
                place=f"--max-time {self.max_time:g}s",
                remedy="Add --until-decided, or set `time_limit`, which limits each fit.",
            )


DEFAULTS = RunOptions()

_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def seconds_of(duration: str) -> float:
    """Return the seconds of a duration such as ``90s``, ``30m`` or ``2h``.

    Raises
    ------
    ConfigError
        If the text is something else, or the duration is not positive and finite.
    """
    number, unit = str(duration)[:-1], str(duration)[-1:]
    with suppress(ValueError, KeyError):
        seconds = float(number) * _SECONDS[unit]
        if 0 < seconds < math.inf:
            return seconds
    raise ConfigError(f"{duration!r} is not a duration.", remedy="For example: 90s, 30m or 2h.")


Found = TypeVar("Found")
Find = Callable[[Sequence[bytes]], dict[bytes, Found]]


class Slot(NamedTuple):
    """One algorithm on one data set: indices, and the key in the journal."""

    point: int
    replicate: int
    algorithm: int
    key: bytes


@dataclass(frozen=True)
class DataFiles:
    """Files that a generator reads for some of its parameters.

    Parameters
    ----------
    generator : str
    params : dict
    own : dict of str to str
        SHA-256 of the user's own files by their names in the settings.
    published : bool
        True if the generator also reads files of a public data set.
    """

    generator: str
    params: dict[str, Any]
    own: dict[str, str]
    published: bool


@dataclass(frozen=True)
class Work:
    """The settings of an experiment that a worker needs, in a form that can be pickled.

    Parameters
    ----------
    plugins : tuple of str
        Plugin files.
    reserved : tuple of str
        Columns of the CSV, whose names a fact of a problem must not have.
    code : tuple of (Path, SourceFile)
        The files that rows depend on, as they were when the run began.
    data : tuple of DataFiles
        The data files that rows depend on.
    folder : Path, optional
        Base folder of relative paths of data files.
    cwd : Path, optional
        Working directory of worker processes, if it exists on their machine. By default they have
        that of the process that starts them.
    time_limit : float, optional
        Seconds for one algorithm, or for making one data set. An algorithm or a generator that
        takes longer is stopped, and its status is ``timeout``.
    tracebacks : bool
        Add tracebacks to the outcomes of exceptions.
    pdb : bool
        Stop in the debugger at an exception; requires a terminal.
    cheap : float
        Seconds. The first calls of plugins that take less are made twice, to see that the seed
        determines their results.
    began : float
        When the run began, by ``time.time``.
    """

    seed: int
    generators: tuple[str, ...]
    protocol: str
    protocol_params: dict[str, Any]
    metrics: tuple[str, ...]
    algorithms: tuple[AlgorithmSpec, ...]
    plugins: tuple[str, ...]
    reserved: tuple[str, ...] = ()
    code: tuple[tuple[Path, SourceFile], ...] = ()
    data: tuple[DataFiles, ...] = ()
    folder: Path | None = None
    cwd: Path | None = None
    time_limit: float | None = None
    tracebacks: bool = False
    pdb: bool = False
    cheap: float = 1.0
    began: float = field(default_factory=time.time)

    @contextmanager
    def only_counted_reads(self) -> Iterator[None]:
        """Refuse that parts read files or variables that do not count for rows (`core.reading`).

        Raises
        ------
        PluginError
            If a variable of the environment has another value than in the main process.
        """
        # Without known code, as for Dask workers of other versions, nothing can be refused.
        if not any(not path.is_relative_to(ROOT) for path, _ in self.code):
            yield
            return
        variables = dict(item for _, source in self.code for item in source.variables)
        for name, value in variables.items():
            if reading.variable_hash(name) != value:
                raise PluginError(
                    f"the environment variable {name}, which a plugin reads, is not that of the"
                    " main process.",
                    remedy="Set it to the same value on all machines.",
                )
        with relative_to(self.folder):
            data = {Path(os.path.realpath(locate(name))) for one in self.data for name in one.own}
        packages = {name for _, source in self.code for name in source.packages}
        files = {*data, *dict(self.code)}
        with reading.refusing(files, variables, packages.union(NUMERICAL_LIBRARIES), self.began):
            yield


def work_of(
    experiment: Experiment,
    options: RunOptions = DEFAULTS,
    reserved: tuple[str, ...] = (),
    files: InputFiles | None = None,
) -> Work:
    """Return the work of an experiment.

    A worker refuses to start if code of ``files`` was edited before the worker imported it.
    """
    return Work(
        seed=experiment.seed,
        generators=tuple(dict.fromkeys(point.generator for point in experiment.points)),
        protocol=experiment.protocol.name,
        protocol_params=experiment.protocol.params,
        metrics=tuple(experiment.metrics),
        algorithms=tuple(experiment.algorithms),
        plugins=tuple(experiment.plugins),
        reserved=reserved,
        code=tuple(files.code.items()) if files else (),
        data=_data_of(experiment, files) if files else (),
        folder=experiment.folder,
        time_limit=experiment.time_limit,
        tracebacks=options.tracebacks,
        pdb=options.pdb,
    )


def _data_of(experiment: Experiment, files: InputFiles) -> tuple[DataFiles, ...]:
    found: dict[tuple[str, ...], DataFiles] = {}
    for point in experiment.points:
        part = registry.find("generator", point.generator)
        names = tuple(part.reads(**point.params)) if part.reads else ()
        key = (part.name, *names)
        if names and key not in found:
            named = names if not part.shipped else [n for n in names if n in point.params.values()]
            own = {name: files.hash(name) for name in named}
            published = len(own) < len(set(names))
            found[key] = DataFiles(part.name, point.params, own, published)
    return tuple(found.values())


def prepare(work: Work) -> None:
    """Let every algorithm import and compile what it uses, before the first fit is timed."""
    for spec in work.algorithms:
        part = registry.find("algorithm", spec.name)
        if part.prepare is not None:
            part.prepare(**spec.params)


@dataclass(frozen=True)
class Item:
    """One data set and the algorithms to run on it.

    Parameters
    ----------
    point : int
        Index of the point of the sweep.
    generator : str
        Name of the generator at this point.
    params : dict
        The complete parameters of the generator.
    replicate : int
    algorithms : tuple of int
        Indices of the algorithms.
    """

    point: int
    generator: str
    params: dict[str, Any]
    replicate: int
    algorithms: tuple[int, ...]


Batch = list[Item]


@dataclass(frozen=True)
class DataMade:
    """A data set was generated.

    Parameters
    ----------
    facts : dict
        Facts of the problem.
    seconds : float
        Time to generate it, divided by the number of algorithms.
    """

    facts: dict[str, Any]
    seconds: float


@dataclass(frozen=True)
class Result:
    """The result of one algorithm on one data set.

    Parameters
    ----------
    seconds : float
        Time of the algorithm, with its tuning and metrics.
    data_seconds : float
        Time to make the data set, divided by the number of its algorithms.
    """

    point: int
    replicate: int
    algorithm: int
    outcome: Outcome
    facts: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    data_seconds: float = 0.0
