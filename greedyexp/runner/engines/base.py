"""What an engine is: batches of replicates in, results out, in any order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from greedyexp.protocols.base import Outcome, Status
from greedyexp.runner.work import Work


@dataclass(frozen=True)
class Item:
    """One data set and the algorithms still to be run on it.

    Parameters
    ----------
    point : int
        Index of the sweep point.
    generator : str
        What draws the data there.
    params : dict
        Its complete parameters.
    replicate : int
    algorithms : tuple of int
        Indices of the algorithms.
    """

    point: int
    generator: str
    params: dict
    replicate: int
    algorithms: tuple[int, ...]


Batch = list[Item]


@dataclass(frozen=True)
class Result:
    """What came of one algorithm on one data set.

    Parameters
    ----------
    seconds : float
        Time of the algorithm, compilation left out.
    data_seconds : float
        Time to make the data set, shared among its algorithms.
    """

    point: int
    replicate: int
    algorithm: int
    outcome: Outcome
    facts: dict = field(default_factory=dict)
    seconds: float = 0.0
    data_seconds: float = 0.0


class Halt(ABC):
    """Whether a run was asked to stop, which an engine looks at between its steps."""

    @property
    @abstractmethod
    def soon(self) -> bool:
        """Start nothing new, wait a moment for what is under way."""

    @property
    @abstractmethod
    def now(self) -> bool:
        """Wait for nothing."""

    def abandonable(self) -> AbstractContextManager:
        """A context that a signal may end with ``Interrupted``, once nothing is waited for.

        For an engine that computes in this process and cannot look at ``now`` meanwhile. The part
        that is computing may catch the exception, so what it gives is valid only while ``now`` is
        false.
        """
        return nullcontext()


class Engine(ABC):
    """Runs batches; the runner knows nothing else of it.

    ``name`` and ``jobs`` go to the manifest; ``compiling`` says whether a worker compiles kernels
    rather than load them from the cache.
    """

    name: str
    jobs: int
    compiling = False

    @abstractmethod
    def results(
        self,
        work: Work,
        next_batch: Callable[[], Batch],
        *,
        expected: int,
        time_limit: float | None,
        halt: Halt,
    ) -> Iterator[list[Result]]:
        """Yield results as they arrive, and an empty list now and then when none do.

        Parameters
        ----------
        work : Work
            What the items are about.
        next_batch : callable
            The next batch, or an empty list when there are no more. Called only when a worker is
            free, so that memory is bounded by the batches in flight.
        expected : int
            How many results there will be, when nothing stops the run.
        time_limit : float, optional
            Seconds that one algorithm, or the making of one data set, may take; what takes longer
            is ended and becomes a result with status ``timeout``.
        halt : Halt
            When to stop early.

        Raises
        ------
        UserError
            When the work cannot be started at all.
        """


def timed_out(limit: float) -> Outcome:
    """The outcome of what took longer than its limit."""
    return Outcome(Status.TIMEOUT, f"longer than the time limit of {limit:g} s")
