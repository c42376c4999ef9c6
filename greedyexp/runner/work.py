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

from greedyexp.core import registry
from greedyexp.core.errors import Interrupted, PluginError
from greedyexp.core.parts import Part
from greedyexp.core.plugins import load_plugins
from greedyexp.datasets.own import relative_to
from greedyexp.problems.problem import Problem, check_sizes
from greedyexp.protocols.base import Outcome, Setup, Status
from greedyexp.protocols.contracts import breach, check_problem, own_randomness_only, same_problem
from greedyexp.runner import code_version, seeds
from greedyexp.runner.blame import Blame
from greedyexp.runner.code_version import Source
from greedyexp.runner.watch import Watch

# Addresses in messages would differ from run to run.
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{4,}\b")
_LONGEST_MESSAGE = 500

# Exceptions of a part that cost only its replicate. KeyboardInterrupt is one of them:
# workers ignore Ctrl-C, and in the process of the command it raises Interrupted.
PART_ERRORS = BaseException

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
    folder : Path, optional
        Where relative paths of data files start.
    tracebacks : bool
        Whether outcomes of exceptions hold the traceback.
    pdb : bool
        Whether an exception stops in the debugger; only where there is a terminal.
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
    folder: Path | None = None
    tracebacks: bool = False
    pdb: bool = False


def describe(
    experiment,
    reserved: tuple[str, ...] = (),
    code: Mapping[Path, Source] | None = None,
    *,
    tracebacks: bool = False,
    pdb: bool = False,
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
        folder=experiment.folder,
        tracebacks=tracebacks,
        pdb=pdb,
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
        # The pool limits how long a worker may take to start.
        load_plugins(work.plugins, limit=None)
        self._work, self._watch = work, watch or Watch()
        self._generators = {name: registry.find("generator", name) for name in work.generators}
        self._protocol = registry.find("protocol", work.protocol)
        self._metrics = tuple(registry.find("metric", name) for name in work.metrics)
        self._algorithms = [registry.find("algorithm", task.name) for task in work.algorithms]
        parts = [*self._generators.values(), self._protocol, *self._metrics, *self._algorithms]
        self._blame = Blame(parts)
        self._drawn_twice: set[str] = set()
        # Only now, when all of it is imported: rows are stored under the version that the run has.
        _require_unchanged(work.code, parts)
        columns = self._protocol.columns(self._metrics, **work.protocol_params)
        self._columns = frozenset(one.name for one in columns if one.kind != "seconds")

    def problem(self, generator: str, params: dict, replicate: int) -> Problem:
        """One data set.

        Raises
        ------
        PluginError
            When the generator breaks its contract, or draws other data from the same seed: the
            first data set of a plugin's generator is drawn twice.
        """
        problem = self._draw(generator, params, replicate)
        part = self._generators[generator]
        if not part.shipped and generator not in self._drawn_twice:
            self._drawn_twice.add(generator)
            again = self._draw(generator, params, replicate)
            if not same_problem(problem, again):
                raise breach(
                    part,
                    "returned two different problems for the same seed",
                    "Draw only from the `rng` argument.",
                )
        return problem

    def _draw(self, generator: str, params: dict, replicate: int) -> Problem:
        work, part = self._work, self._generators[generator]
        rng = seeds.data_stream(work.seed, generator, part.seeding(params), replicate)
        try:
            with own_randomness_only(part), relative_to(work.folder):
                made = part.function(rng, **params)
        except (Interrupted, PluginError):
            raise
        except PART_ERRORS as error:
            if work.pdb:
                self._blame.debug(error)
            raise
        problem = check_problem(part, params, made, work.reserved)
        check_sizes(problem)
        _freeze(problem)
        return problem

    def no_data(self, error: Exception) -> Outcome:
        """The outcome of every algorithm on a data set that could not be made."""
        failed = self._failed(error)
        said = tidy_message(Outcome(Status.ERROR, f"no data: {failed.message}"))
        return replace(said, traceback=failed.traceback)

    def outcome(
        self, problem: Problem, generator: str, params: dict, replicate: int, algorithm: int
    ) -> Outcome:
        """One algorithm on one data set; an exception is an outcome like any other.

        Raises
        ------
        PluginError
            When a part breaks its contract, which ends the run (see ``protocols.contracts``).
        """
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
        part = self._algorithms[algorithm]
        try:
            with own_randomness_only(part if self._protocol.shipped else self._protocol):
                found = self._protocol.function(
                    problem,
                    part,
                    task.params,
                    Setup(task.tuning, task.folds, self._metrics, rng, self._watch.clock),
                    **work.protocol_params,
                )
            return self._tidy(found)
        except (Interrupted, PluginError):
            raise
        except PART_ERRORS as error:
            if work.pdb:
                self._blame.debug(error)
            return self._failed(error)

    def _failed(self, error: BaseException) -> Outcome:
        """What became of an exception; the message names the line of the plugin it came from."""
        outcome, place = Outcome.of_exception(error), self._blame.place(error)
        message = f"{place}: {outcome.message}" if place else outcome.message
        text = self._blame.traceback(error) if self._work.tracebacks else ""
        return tidy_message(replace(outcome, message=message, traceback=text))

    def _tidy(self, outcome: Outcome) -> Outcome:
        rows = [{key: plain(value) for key, value in row.items()} for row in outcome.rows]
        unknown = sorted({key for row in rows for key in row} - self._columns)
        if unknown:
            raise breach(self._protocol, f"made a column '{unknown[0]}' that it does not declare")
        if not rows and not outcome.status.failed:
            raise breach(self._protocol, "made no row")
        return tidy_message(replace(outcome, status=Status(outcome.status), rows=rows))


def _require_unchanged(code: Iterable[tuple[Path, Source]], parts: Iterable[Part]) -> None:
    known = dict(code)
    texts = {source.text for source in known.values()}
    edited = [path for path, source in known.items() if code_version.edited(path, source)]
    # If the parts were imported from another copy of the plugin, the copies must still be equal.
    files = {code_version.source_of(part.function) for part in parts if not part.shipped}
    for path in files - known.keys() - {None}:
        if texts and code_version.text_of(path) not in texts:
            edited.append(path)
    if edited:
        raise PluginError(
            "the code was edited while the run was going on.",
            place=str(edited[0]),
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
    # What is out of order would be put in order later, in place.
    X.sum_duplicates()
    return X.data, X.indices, X.indptr


def facts(problem: Problem) -> dict:
    """The facts of a problem as plain values."""
    return {key: plain(value) for key, value in problem.facts.items()}


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
