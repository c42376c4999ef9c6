"""Generate data sets and evaluate algorithms on them.

Worker processes and the serial engine run the same functions and therefore give the same numbers.
"""

from __future__ import annotations

import importlib
import inspect
import math
import os
import pdb
import re
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path, PurePath
from types import TracebackType
from typing import Any, cast

import numpy as np
import scipy

from greedyexp.core import registry
from greedyexp.core.errors import PluginError
from greedyexp.core.part import Part
from greedyexp.core.plugins import load_plugins
from greedyexp.core.signals import Interrupted
from greedyexp.datasets.own import relative_to
from greedyexp.problems.problem import Problem, check_sizes
from greedyexp.protocols.base import LARGEST, Outcome, Setup, Status
from greedyexp.protocols.contracts import (
    breach,
    own_randomness_only,
    require_same,
    undetermined,
)
from greedyexp.protocols.problem_contract import check_problem, same_problem
from greedyexp.runner import code_version, seeds
from greedyexp.runner.code_version import SourceFile
from greedyexp.runner.work import DataMade, Item, Result, Work

# Addresses in messages would differ from run to run.
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{4,}\b")
_LONGEST_MESSAGE = 500

# The first calls of each algorithm and generator that are made twice, to see that the seed
# determines their results.
_REPEATS = 3

# Exceptions of a part that only make its replicate fail. They include KeyboardInterrupt: workers
# ignore Ctrl-C, and in the main process it raises Interrupted instead.
_PART_ERRORS = BaseException

# Libraries that parts import when they first use them. Loading them takes time that must not count
# as that of the first fit.
_LIBRARIES = (
    "clarabel",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.sparse",
    "scipy.spatial",
    "scipy.special",
)


class Evaluator:
    """Call the parts of an experiment, which are looked up once, for every replicate.

    Parameters
    ----------
    work : Work

    Raises
    ------
    PluginError, ConfigError
        If a plugin cannot be imported, a part does not exist, or its code was edited.
    """

    def __init__(self, work: Work):
        load_plugins(work.plugins)
        self._work = work
        self._generators = {name: registry.find("generator", name) for name in work.generators}
        self._protocol = registry.find("protocol", work.protocol)
        self._metrics = tuple(registry.find("metric", name) for name in work.metrics)
        self._algorithms = [registry.find("algorithm", task.name) for task in work.algorithms]
        parts = [*self._generators.values(), self._protocol, *self._metrics, *self._algorithms]
        self._tracebacks = PluginTracebacks(parts)
        self._repeated: Counter[Part] = Counter()
        for library in _LIBRARIES:
            importlib.import_module(library)
        # Checked after the import, since rows are stored under the version that the run has read.
        _require_unchanged(work.code, parts)
        columns = self._protocol.columns(self._metrics, **work.protocol_params)
        self._columns = frozenset(one.name for one in columns if one.kind != "seconds")

    def evaluate(
        self, item: Item, guard: Callable[[], AbstractContextManager[Any]] = nullcontext
    ) -> Iterator[DataMade | Result]:
        """Generate a data set and evaluate its algorithms in order; exceptions become outcomes.

        Parameters
        ----------
        guard : callable
            Returns a context for calls of parts.

        Raises
        ------
        PluginError
            If a part breaks its contract, which ends the run (see ``protocols.contracts``).
        """
        place = item.point, item.replicate
        start = time.perf_counter()
        try:
            with guard():
                problem = self.problem(item.generator, item.params, item.replicate)
                facts = {key: plain(value) for key, value in problem.facts.items()}
        except (Interrupted, PluginError):
            raise
        except _PART_ERRORS as error:
            failed = self._failed(error)
            outcome = replace(failed, message=_tidy_message(f"no data: {failed.message}"))
            for algorithm in item.algorithms:
                yield Result(*place, algorithm, outcome)
            return
        data = DataMade(facts, (time.perf_counter() - start) / len(item.algorithms))
        yield data
        for algorithm in item.algorithms:
            start = time.perf_counter()
            with guard():
                outcome = self._outcome(problem, item, algorithm)
            seconds = time.perf_counter() - start
            self._require_determined(problem, item, algorithm, outcome, seconds, guard)
            yield Result(*place, algorithm, outcome, facts, seconds, data.seconds)

    def problem(self, generator: str, params: dict[str, Any], replicate: int) -> Problem:
        """Return one data set.

        Raises
        ------
        PluginError
            If the generator breaks its contract or draws different data from the same seed.
        """
        start = time.perf_counter()
        problem = self._draw(generator, params, replicate)
        part = self._generators[generator]
        repeated = self._repeats([part], time.perf_counter() - start)
        if repeated and not same_problem(problem, self._draw(generator, params, replicate)):
            raise undetermined([part], "two different problems")
        return problem

    def _repeats(self, parts: Sequence[Part], seconds: float) -> bool:
        """Return True if a call that took so long is to be made again.

        The first calls of the first of these parts are, if any of them comes from a plugin.
        """
        # Far below the time limit, the second call does not exceed it.
        cheap = seconds < min(self._work.cheap, (self._work.time_limit or math.inf) / 10)
        repeated = cheap and not self._work.pdb and self._repeated[parts[0]] < _REPEATS
        repeated = repeated and not all(part.shipped for part in parts)
        self._repeated[parts[0]] += repeated
        return repeated

    def _require_determined(
        self,
        problem: Problem,
        item: Item,
        algorithm: int,
        outcome: Outcome,
        seconds: float,
        guard: Callable[[], AbstractContextManager[Any]],
    ) -> None:
        parts = [self._algorithms[algorithm], self._protocol, *self._metrics]
        # A signal, a full memory or a program that dies may end one of two equal calls.
        if outcome.status.failed or not self._repeats(parts, seconds):
            return
        with guard():
            again = self._outcome(problem, item, algorithm)
        if not again.status.failed:
            require_same([part for part in parts if not part.shipped], outcome, again)

    def _draw(self, generator: str, params: dict[str, Any], replicate: int) -> Problem:
        work, part = self._work, self._generators[generator]
        rng = seeds.data_stream(work.seed, generator, part.seeding(params), replicate)
        try:
            with own_randomness_only(part), relative_to(work.folder):
                made = part.function(rng, **params)
        except (Interrupted, PluginError):
            raise
        except _PART_ERRORS as error:
            if work.pdb:
                self._tracebacks.debug(error)
            raise
        # A generator may look at its file again to say what its data provide.
        with relative_to(work.folder):
            problem = check_problem(part, params, made, work.reserved)
        check_sizes(problem)
        _freeze(problem)
        return problem

    def _outcome(self, problem: Problem, item: Item, algorithm: int) -> Outcome:
        work, task = self._work, self._work.algorithms[algorithm]
        seeding = self._generators[item.generator].seeding(item.params)
        rng = seeds.algorithm_stream(work.seed, item.generator, seeding, item.replicate, task.name)
        part = self._algorithms[algorithm]
        try:
            with own_randomness_only(part if self._protocol.shipped else self._protocol):
                found = self._protocol.function(
                    problem,
                    part,
                    task.params,
                    Setup(task.tuning, task.folds, self._metrics, rng),
                    **work.protocol_params,
                )
            return self._tidy(found)
        except (Interrupted, PluginError):
            raise
        except _PART_ERRORS as error:
            if work.pdb:
                self._tracebacks.debug(error)
            return self._failed(error)

    def _failed(self, error: BaseException) -> Outcome:
        """Return the outcome of an exception; its message names the line of the plugin."""
        outcome, place = Outcome.of_exception(error), self._tracebacks.place(error)
        message = f"{place}: {outcome.message}" if place else outcome.message
        text = self._tracebacks.text(error) if self._work.tracebacks else ""
        return replace(outcome, message=_tidy_message(message), traceback=text)

    def _tidy(self, outcome: Outcome) -> Outcome:
        rows = [{key: plain(value) for key, value in row.items()} for row in outcome.rows]
        unknown = sorted({key for row in rows for key in row} - self._columns)
        if unknown:
            raise breach(self._protocol, f"made a column '{unknown[0]}' that it does not declare")
        if not rows and not outcome.status.failed:
            raise breach(self._protocol, "made no row")
        for row in rows:
            for key, value in row.items():
                if isinstance(value, (int, float)) and abs(value) > LARGEST:
                    return Outcome(Status.NONFINITE, f"{key} is not finite, or beyond {LARGEST:g}")
        message = _tidy_message(outcome.message)
        return replace(outcome, status=Status(outcome.status), message=message, rows=rows)


class PluginTracebacks:
    """Find the code of plugins in tracebacks, by the folders of their files.

    Parameters
    ----------
    parts : iterable of Part
        Parts that come with greedyexp are ignored.
    """

    def __init__(self, parts: Iterable[Part]):
        self._folders = {
            _folder(code.co_filename)
            for part in parts
            if not part.shipped
            and (code := getattr(inspect.unwrap(part.function), "__code__", None)) is not None
        }

    def place(self, error: BaseException) -> str:
        """Return ``file:line`` of the innermost frame of a plugin, without folders, or ''."""
        own = self._own(error)
        if not own:
            return ""
        return f"{PurePath(own[-1].tb_frame.f_code.co_filename).name}:{own[-1].tb_lineno}"

    def text(self, error: BaseException) -> str:
        """Return the traceback, starting at the first frame of a plugin if there is one."""
        first = next(iter(self._own(error)), error.__traceback__)
        return "".join(traceback.format_exception(type(error), error, first))

    def debug(self, error: BaseException) -> None:
        """Stop in the debugger, in the innermost frame of a plugin or where the error was raised.

        Raises
        ------
        Interrupted
            If the user quits the debugger.
        """
        chain = None
        for one in reversed(self._own(error) or _frames(error)):
            chain = TracebackType(chain, one.tb_frame, one.tb_lasti, one.tb_lineno)
        print("".join(traceback.format_exception_only(type(error), error)), end="")
        debugger = pdb.Pdb()
        debugger.reset()
        debugger.interaction(None, chain)
        if debugger.quitting:
            raise Interrupted(signal.SIGINT)

    def _own(self, error: BaseException) -> list[TracebackType]:
        return [
            one
            for one in _frames(error)
            if _folder(one.tb_frame.f_code.co_filename) in self._folders
        ]


def _frames(error: BaseException) -> list[TracebackType]:
    frames = []
    frame = error.__traceback__
    while frame is not None:
        frames.append(frame)
        frame = frame.tb_next
    return frames


def _folder(file: str) -> str:
    """Return the folder of a source file, or a name such as ``<stdin>`` for code without a file."""
    return file if file.startswith("<") else os.path.dirname(file)


def _require_unchanged(code: Iterable[tuple[Path, SourceFile]], parts: Iterable[Part]) -> None:
    known = dict(code)
    texts = {source.text for source in known.values()}
    edited = [path for path, source in known.items() if code_version.edited(path, source)]
    # Parts imported from another copy of the plugin are accepted if the copies are equal.
    files = {code_version.source_of(part.function) for part in parts if not part.shipped}
    for path in files - known.keys():
        if path is not None and texts and code_version.text_of(path) not in texts:
            edited.append(path)
    if edited:
        raise PluginError(
            "the code was edited during the run.",
            place=str(edited[0]),
            remedy="Finished replicates are kept; the same command continues with the new code.",
        )


def _freeze(problem: Problem) -> None:
    """Make the data read-only, because all algorithms share the same arrays."""
    arrays = [array for X in (*problem.X, *problem.X_test) for array in _arrays(X)]
    arrays += [*problem.y, *problem.y_test]
    optional = (problem.truth, problem.start, problem.chains, problem.chains_test)
    for array in [*arrays, *(one for one in optional if one is not None)]:
        array.flags.writeable = False


def _arrays(X: Any) -> tuple[np.ndarray, ...]:
    """Return the arrays that store a design."""
    if not scipy.sparse.issparse(X):
        return (X,)
    X = cast(scipy.sparse.csr_array, X)
    # Unsorted indices would later be sorted in place.
    X.sum_duplicates()
    return X.data, X.indices, X.indptr


def _tidy_message(text: str) -> str:
    """Return a message as one line of bounded length without addresses, the same in every run."""
    # Undecodable bytes in a message, as in file names, could not be stored.
    text = text.encode("utf-8", "backslashreplace").decode().replace("\0", " ")
    return " ".join(_ADDRESS.sub("0x...", text).split())[:_LONGEST_MESSAGE]


def plain(value: Any) -> bool | int | float | str | None:
    """Convert a NumPy scalar to the Python number; return other plain values as they are.

    Raises
    ------
    TypeError
        If the value is not a number, a string or None.
    """
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if value is not None and not isinstance(value, (bool, int, float, str)):
        raise TypeError(f"a cell of the CSV cannot hold a {type(value).__name__}")
    return value
