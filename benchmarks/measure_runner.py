"""Measure the cost of the runner: overhead per replicate, gain of a second worker, memory.

Run with ``python benchmarks/measure_runner.py``; it writes to a temporary folder only.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PLUGIN = '''
import time

import numpy as np

from greedyexp import Problem, algorithm, generator

X = np.eye(4)


@generator("bench_data", provides=("truth",))
def data(rng, *, n: int = 4):
    """A data set that costs next to nothing."""
    return Problem((X,), (rng.standard_normal(4),), np.ones((4, 1)), 0.1, 4, {"n_samples": 4})


@algorithm("bench_nothing")
def nothing(problem):
    """The response itself."""
    return problem.y[0][:, None]


@algorithm("bench_burn")
def burn(problem, *, milliseconds: float = 20.0):
    """Keep one core busy for a given processor time."""
    end = time.process_time() + milliseconds / 1000
    while time.process_time() < end:
        pass
    return problem.y[0][:, None]


@algorithm("bench_wait")
def wait(problem, *, milliseconds: float = 20.0):
    """Take time without taking a core."""
    time.sleep(milliseconds / 1000)
    return problem.y[0][:, None]
'''

PROGRAM = """
import json, resource, sys, time
from greedyexp import config as experiment, runner
settings, folder, jobs = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3])
plan = experiment.load(settings)
report = runner.run(plan, folder, runner.RunOptions(jobs=jobs, progress=False))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([report.wall_seconds, report.computed, peak]))
"""


def run(folder: Path, algorithm, trials: int, jobs: int) -> tuple[float, int, int]:
    """Wall seconds, replicates computed and peak memory (kB) of a run in a separate process."""
    plugin = folder / "bench_parts.py"
    plugin.write_text(PLUGIN)
    settings = {
        "name": "bench",
        "seed": 1,
        "plugins": [str(plugin)],
        "data": {"generator": "bench_data"},
        "trials": trials,
        "algorithms": [algorithm],
        "metrics": ["frobenius_error"],
    }
    target = folder / f"{time.monotonic_ns()}" / "quick"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(settings), str(target), str(jobs)],
        capture_output=True,
        text=True,
        check=True,
    )
    return tuple(json.loads(done.stdout))


def overhead(folder: Path) -> float:
    """Milliseconds per empty replicate with one worker, without start-up."""
    few = min(run(folder, "bench_nothing", 1, 1)[0] for _ in range(3))
    many = min(run(folder, "bench_nothing", 10_001, 1)[0] for _ in range(2))
    return (many - few) / 10_000 * 1000


def gain(folder: Path, algorithm: str) -> float:
    """Speed-up by a second worker on 300 replicates of 20 ms, without start-up."""
    seconds = {}
    for jobs in (1, 2):
        few = run(folder, algorithm, jobs, jobs)[0]
        seconds[jobs] = run(folder, algorithm, 300, jobs)[0] - few
    return seconds[1] / seconds[2]


def bare_gain() -> float:
    """Speed-up of two processes that only compute: the limit of the machine at the moment."""
    program = "import time\nwhile time.process_time() < 3: pass"
    seconds = {}
    for number in (1, 2):
        start = time.monotonic()
        burning = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(number)]
        for process in burning:
            process.wait()
        seconds[number] = time.monotonic() - start
    return 2 * seconds[1] / seconds[2]


def growth(folder: Path) -> float:
    """Additional memory of the main process, in MB, for 20000 replicates instead of 200."""
    small = run(folder, "bench_nothing", 200, 1)[2]
    large = run(folder, "bench_nothing", 20_000, 1)[2]
    return (large - small) / 1024


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"overhead: {overhead(folder):.3f} ms per replicate")
        print(f"two workers: {gain(folder, 'bench_burn'):.2f} times one on work that needs a core")
        print(f"two bare processes: {bare_gain():.2f} times one")
        print(f"two workers: {gain(folder, 'bench_wait'):.2f} times one on work that only waits")
        print(f"memory: {growth(folder):+.1f} MB from 200 to 20000 replicates")


if __name__ == "__main__":
    main()
