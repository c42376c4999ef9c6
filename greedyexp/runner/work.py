"""What a worker is told, and how it makes a data set and an outcome of it.

The same functions run in worker processes and in the serial engine, so that both give the same
numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from scipy import sparse

from greedyexp import registry
from greedyexp.errors import PluginError
from greedyexp.plugins import load_plugins
from greedyexp.problem import Problem, refuse_sizes
from greedyexp.protocols.outcome import Outcome, Status
from greedyexp.protocols.setup import Setup
from greedyexp.runner import code_version, seeds
from greedyexp.runner.code_version import Source
from greedyexp.runner.watch import Watch

# Addresses in messages would differ from run to run.
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{4,}\b")
_LONGEST_MESSAGE = 500
# Seconds of a fit that loading libraries within it would falsify.
_BRIEF = 1.0


@dataclass(frozen=True)
class AlgorithmTask:
    """One algorithm as an experiment asks for it."""

    label: str
    name: str
    params: dict
    tuning: str
    folds: int


@dataclass(frozen=True)
class Work:
    """The part of an experiment that a worker needs; plain values, so that it can be sent.

    Parameters
    ----------
    plugins : tuple of str
        Plugin files.
    reserved : tuple of str
        Names of CSV columns that facts of a problem must not take.
    code : tuple of (Path, Source)
        The files that rows depend on, as they were when the run began.
    """

    seed: int
    generators: tuple[str, ...]
    protocol: str
    protocol_params: dict
    metrics: tuple[str, ...]
    algorithms: tuple[AlgorithmTask, ...]
    plugins: tuple[str, ...]
    reserved: tuple[str, ...] = ()
    code: tuple[tuple[Path, Source], ...] = ()


def describe(
    experiment, reserved: tuple[str, ...] = (), code: Mapping[Path, Source] | None = None
) -> Work:
    """The work of an experiment; ``code`` must not be edited before a worker has imported it."""
    return Work(
        seed=experiment.seed,
        generators=tuple(dict.fromkeys(point.generator for point in experiment.points)),
        protocol=experiment.protocol.name,
        protocol_params=experiment.protocol.params,
        metrics=tuple(experiment.metrics),
        algorithms=tuple(
            AlgorithmTask(spec.label, spec.name, spec.params, spec.tuning, spec.folds)
            for spec in experiment.algorithms
        ),
        plugins=tuple(experiment.plugins),
        reserved=reserved,
        code=tuple((code or {}).items()),
    )


class Bench:
    """The parts of an experiment, found once and then called for every replicate.

    Parameters
    ----------
    work : Work
    watch : Watch
        By which protocols time fits.

    Raises
    ------
    PluginError, ConfigError
        When a plugin cannot be imported, a part does not exist, or its code was edited.
    """

    def __init__(self, work: Work, watch: Watch | None = None):
        load_plugins(work.plugins)
        self._work, self._watch = work, watch or Watch()
        self._generators = {name: registry.find("generator", name) for name in work.generators}
        self._protocol = registry.find("protocol", work.protocol)
        self._metrics = tuple(registry.find("metric", name) for name in work.metrics)
        self._algorithms = [registry.find("algorithm", task.name) for task in work.algorithms]
        # Only now, when all of it is imported: rows are stored under the version that the run has.
        _require_unchanged(work.code)
        columns = self._protocol.extra["columns"](self._metrics, **work.protocol_params)
        self._columns = frozenset(one.name for one in columns if one.kind != "seconds")

    def problem(self, generator: str, params: dict, replicate: int) -> Problem:
        """One data set."""
        work = self._work
        part = self._generators[generator]
        rng = seeds.data_stream(work.seed, generator, part.seeding(params), replicate)
        problem = part.function(rng, **params)
        for name, value in problem.facts.items():
            if name in work.reserved or (name in params and params[name] != value):
                raise ValueError(f"the data have a fact '{name}', which names another column")
        if problem.sparse_design and "sparse" not in part.provides(params):
            raise ValueError("the data have a sparse design, but provide no trait 'sparse'")
        empty = not problem.n_samples.all()
        if empty and "population" not in part.provides(params):
            raise ValueError("the data have no rows, but provide no trait 'population'")
        refuse_sizes(problem)
        _freeze(problem)
        return problem

    def outcome(
        self, problem: Problem, generator: str, params: dict, replicate: int, algorithm: int
    ) -> Outcome:
        """One algorithm on one data set; an exception is an outcome like any other."""
        before = self._watch.stops
        outcome = self._outcome(problem, generator, params, replicate, algorithm)
        brief = outcome.fit_seconds is not None and outcome.fit_seconds < _BRIEF
        if brief and self._watch.stops > before:
            # A process that loads code loads libraries too, and its first fit is many times slower.
            return self._outcome(problem, generator, params, replicate, algorithm)
        return outcome

    def _outcome(
        self, problem: Problem, generator: str, params: dict, replicate: int, algorithm: int
    ) -> Outcome:
        work, task = self._work, self._work.algorithms[algorithm]
        seeding = self._generators[generator].seeding(params)
        rng = seeds.algorithm_stream(work.seed, generator, seeding, replicate, task.name)
        try:
            found = self._protocol.function(
                problem,
                self._algorithms[algorithm],
                task.params,
                Setup(task.tuning, task.folds, self._metrics, rng, self._watch.clock),
                **work.protocol_params,
            )
            return self._tidy(found)
        except (Exception, SystemExit, GeneratorExit, KeyboardInterrupt) as error:
            # Workers are deaf to Ctrl-C: what arrives here was raised by the part itself.
            return tidy_message(Outcome.of_exception(error))

    def _tidy(self, outcome: Outcome) -> Outcome:
        rows = [{key: plain(value) for key, value in row.items()} for row in outcome.rows]
        unknown = sorted({key for row in rows for key in row} - self._columns)
        if unknown:
            raise ValueError(f"the protocol made a column '{unknown[0]}' that it does not declare")
        if not rows and not outcome.status.failed:
            raise ValueError("the protocol made no row")
        return tidy_message(replace(outcome, status=Status(outcome.status), rows=rows))


def _require_unchanged(code: Iterable[tuple[Path, Source]]) -> None:
    for path, source in code:
        if code_version.edited(path, source):
            raise PluginError(
                "the code was edited while the run was going on.",
                place=str(path),
                remedy="Everything finished is kept; the same command goes on with the new code.",
            )


def _freeze(problem: Problem) -> None:
    """Make the data read-only: all algorithms get the same arrays, whatever one of them does."""
    designs = [*problem.X, *problem.X_test]
    held = [array for X in designs for array in _arrays(X)]
    held += [*problem.y, *problem.y_test]
    held += [problem.truth, problem.start, problem.chains, problem.chains_test]
    for array in [one for one in held if one is not None]:
        array.flags.writeable = False


def _arrays(X) -> tuple:
    """What a design is kept in."""
    if not sparse.issparse(X):
        return (X,)
    if X.format != "csr":
        raise ValueError(f"a sparse design must be a CSR array, but is {X.format.upper()}")
    # What is out of order would be put in order later, in place.
    X.sum_duplicates()
    return X.data, X.indices, X.indptr


def facts(problem: Problem) -> dict:
    """The facts of a problem as plain values."""
    return {key: plain(value) for key, value in problem.facts.items()}


def data_failure(error: Exception) -> Outcome:
    """The outcome of every algorithm on a data set that could not be made."""
    failed = Outcome.of_exception(error)
    return tidy_message(Outcome(Status.ERROR, f"no data: {failed.message}"))


def tidy_message(outcome: Outcome) -> Outcome:
    """One line without addresses and of bounded length, the same in every run."""
    # Undecodable bytes in a message, as in file names, could not be stored.
    text = outcome.message.encode("utf-8", "backslashreplace").decode().replace("\0", " ")
    message = " ".join(_ADDRESS.sub("0x...", text).split())[:_LONGEST_MESSAGE]
    if message == outcome.message:
        return outcome
    return replace(outcome, message=message)


def plain(value):
    """A NumPy scalar as the Python number it holds; other values as they are.

    Raises
    ------
    TypeError
        For anything that is not a number, a string or None.
    """
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if value is not None and not isinstance(value, (bool, int, float, str)):
        raise TypeError(f"a cell of the CSV cannot hold a {type(value).__name__}")
    return value
