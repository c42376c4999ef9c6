"""Data that a run exchanges with its engines: the work, its items and their results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from greedyexp.core import registry
from greedyexp.experiment.model import AlgorithmSpec, Experiment
from greedyexp.protocols.base import Outcome
from greedyexp.runner.code_version import SourceFile
from greedyexp.runner.shards import WHOLE, Shard


@dataclass(frozen=True)
class RunOptions:
    """Options for the computation of an experiment.

    Parameters
    ----------
    engine : {"processes", "serial"}
    jobs : int, optional
        Number of worker processes; by default one for each usable core.
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
    """

    engine: str = "processes"
    jobs: int | None = None
    force: bool = False
    retry_failed: bool = False
    progress: bool = True
    tracebacks: bool = False
    pdb: bool = False
    shard: Shard = WHOLE


DEFAULTS = RunOptions()


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
    folder : Path, optional
        Base folder of relative paths of data files.
    time_limit : float, optional
        Seconds for one algorithm, or for making one data set. An algorithm or a generator that
        takes longer is stopped, and its status is ``timeout``.
    tracebacks : bool
        Add tracebacks to the outcomes of exceptions.
    pdb : bool
        Stop in the debugger at an exception; requires a terminal.
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
    folder: Path | None = None
    time_limit: float | None = None
    tracebacks: bool = False
    pdb: bool = False


def work_of(
    experiment: Experiment,
    options: RunOptions = DEFAULTS,
    reserved: tuple[str, ...] = (),
    code: Mapping[Path, SourceFile] | None = None,
) -> Work:
    """Return the work of an experiment.

    A worker refuses to start if a file in ``code`` was edited before the worker imported it.
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
        code=tuple((code or {}).items()),
        folder=experiment.folder,
        time_limit=experiment.time_limit,
        tracebacks=options.tracebacks,
        pdb=options.pdb,
    )


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
