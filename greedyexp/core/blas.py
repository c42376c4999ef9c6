"""Processors of this machine, and threads of the libraries of linear algebra."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

# Products with fewer numbers take one thread less time than several need to wait for one another,
# in particular if other programs use the processors.
_SMALL = 2**22


def usable_cores() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def threads_for(size: int) -> AbstractContextManager[object]:
    """Return a context in which products of arrays of this size use one thread if that is faster.

    Parameters
    ----------
    size : int
        Largest number of entries of an array.
    """
    if size >= _SMALL:
        return nullcontext()
    limited: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limited


@cache
def _controller() -> ThreadpoolController:
    """Return the controller of the libraries of linear algebra."""
    # SciPy loads a library of its own, which an earlier controller would not limit.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
