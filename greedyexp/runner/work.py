"""Data that a run exchanges with its engines: the work, its items and their results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from greedyexp.experiment.model import AlgorithmSpec, Experiment
from greedyexp.protocols.base import Outcome
from greedyexp.runner.code_version import Source


@dataclass(frozen=True)
class Work:
    """The part of an experiment that a worker needs, in values that can be pickled.

    Parameters
    ----------
    plugins : tuple of str
        Plugin files.
    reserved : tuple of str
        Columns of the CSV, whose names a fact of a problem must not have.
    code : tuple of (Path, Source)
        The files that rows depend on, as they were when the run began.
    folder : Path, optional
        Base folder of relative paths of data files.
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
    code: tuple[tuple[Path, Source], ...] = ()
    folder: Path | None = None
    tracebacks: bool = False
    pdb: bool = False


def work_of(
    experiment: Experiment,
    reserved: tuple[str, ...] = (),
    code: Mapping[Path, Source] | None = None,
    *,
    tracebacks: bool = False,
    pdb: bool = False,
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
        tracebacks=tracebacks,
        pdb=pdb,
    )


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
        Its complete parameters.
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
class Result:
    """The result of one algorithm on one data set.

    Parameters
    ----------
    seconds : float
        Time of the algorithm without compilation.
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
