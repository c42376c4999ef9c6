"""The common form of the benchmarks: comparisons with a peer, measured in one process.

A script yields comparisons; ``report`` prints them and, with ``--json FILE``, also writes them for
``benchmarks/page.py``, which makes docs/performance.md from the comparisons of all scripts.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

# Seconds for which a short call is repeated before the next side has its turn.
IN_A_ROW = 0.02


@dataclass(frozen=True)
class Comparison:
    """Seconds of one piece of work, by greedyexp and by a peer.

    Parameters
    ----------
    what : str
        The work and its size, such as "OMP, 400 x 512, 50 atoms"; unique among all scripts.
    peer : str
        What it is compared with, such as "scikit-learn".
    ours, theirs : float > 0
        Seconds of both sides, measured in the same run.
    remark : str
        What else a reader has to know, such as the difference of the results.
    """

    what: str
    peer: str
    ours: float
    theirs: float
    remark: str = ""

    @property
    def ratio(self) -> float:
        """How many times as fast as the peer greedyexp is."""
        return self.theirs / self.ours


def cpu_seconds(*calls: Callable[[], object], repeats: int) -> list[float]:
    """Return the least processor time of each call, in alternating runs.

    A short call is made several times in a row, because after another one the caches hold the data
    of that. The time is that of the whole process, because some peers work in threads of their own.
    """
    least = [np.inf] * len(calls)
    for _ in range(repeats):
        for k, call in enumerate(calls):
            spent = 0.0
            while spent < IN_A_ROW:
                begin = time.process_time()
                call()
                once = time.process_time() - begin
                spent += once
                least[k] = min(least[k], once)
    return least


def report(comparisons: Callable[[], Iterable[Comparison]], doc: str | None) -> None:
    """Measure the comparisons of a script on one thread and print each as it is finished."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, help="write the comparisons to this file, too")
    target = parser.parse_args().json
    found = []
    with threadpool_limits(1):
        for one in comparisons():
            found.append(asdict(one))
            print(
                f"{one.what:48s} {1e3 * one.ours:10.2f} ms   {one.peer}: {1e3 * one.theirs:.2f} ms,"
                f" {one.ratio:.1f} times" + (f"   {one.remark}" if one.remark else "")
            )
            sys.stdout.flush()
    if target:
        target.write_text(json.dumps(found, indent=1))
