"""What a worker and its pool say to each other.

A batch goes down; up comes ``READY`` once, then for each item one ``DATA`` and one ``RESULT`` per
algorithm, in order, as they finish. ``HELD_UP`` brackets what the time limit does not count: numba
compiles kernels or loads them from its cache, or a data set is drawn a second time; ``COMPILING``
comes within it when kernels are compiled. ``COMPILED`` comes instead of a result that the process
must not give, ``FAILED`` instead of any message when the run cannot go on; after both it leaves.
"""

from __future__ import annotations

import os
import subprocess
from enum import IntEnum
from multiprocessing import connection


class Kind(IntEnum):
    """First element of every tuple a worker sends."""

    READY = 0
    FAILED = 1
    DATA = 2
    RESULT = 3
    COMPILING = 4
    COMPILED = 5
    HELD_UP = 6


def pair() -> tuple[connection.Connection, connection.Connection]:
    """Two ends of a two-way channel: the pool's and the worker's."""
    return connection.Pipe(duplex=True)


def inherited(end: connection.Connection) -> dict:
    """Arguments of ``subprocess.Popen`` that let a child inherit one end and nothing else."""
    if os.name == "nt":
        os.set_handle_inheritable(end.fileno(), True)
        information = subprocess.STARTUPINFO(lpAttributeList={"handle_list": [end.fileno()]})
        return {"startupinfo": information}
    return {"pass_fds": (end.fileno(),)}


def attach(handle: int) -> connection.Connection:
    """The inherited end, in the child."""
    if os.name == "nt":
        return connection.PipeConnection(handle)
    return connection.Connection(handle)
