"""Time to start of commands and of first fits: nothing to compile, mostly nothing to compute.

Each is a process of its own, compared with one that does ``import numpy, scipy, pandas``: the
smallest processor time of several runs, of the process and of all that it starts.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from _measuring import Comparison, report

REPEATS = 7
EXPERIMENT = "phase_transition"
PEER = "import numpy, scipy, pandas"

RUN = ["run", EXPERIMENT, "--profile", "smoke"]
# The same with a single figure, in a folder of its own.
ONE_FIGURE = [*RUN, "--set", "figures=[phase_transition]", "--tag", "one"]
COMMANDS = {
    "--help": ["--help"],
    "check": ["check", EXPERIMENT],
    "status": ["status", "results"],
    "run, nothing to do": RUN,
    "plot, one figure": ["plot", f"results/{EXPERIMENT}/smoke+one"],
}

# Fits of small data, in which the start is what takes long.
DATA = """
import numpy as np
from greedyexp import solve
rng = np.random.default_rng(0)
X = rng.standard_normal((60, 20))
y = X[:, :3].sum(axis=1) + 0.1 * rng.standard_normal(60)
Y = np.column_stack([y, X[:, 1:4].sum(axis=1)])
"""
FITS = {
    "omp": "solve('omp', X, y)",
    "lasso": "solve('lasso', X, y)",
    "greedy_dirty": "solve('greedy_dirty', X, Y)",
    "dirty_lasso": "solve('dirty_lasso', X, Y)",
    "group_lasso": "solve('group_lasso', X, Y)",
    "foba_gdt, logistic": (
        "solve('foba_gdt', X, np.sign(y), loss='logistic', ridge=0.1, max_features=4)"
    ),
    "foba_gdt, crf": (
        "solve('foba_gdt', X, y > 0, loss='crf', chains=[30, 30], ridge=0.1, max_features=4)"
    ),
    "rmp": "solve('rmp', X, y, lam=0.1)",
    "forward_greedy": "solve('forward_greedy', X, y, radius=1.0, steps=50)",
    "ultimate": "solve('ultimate', X, y, lam=0.1)",
}


def cpu_seconds(commands: list[list[str]], folder: str) -> list[float]:
    """Return the least processor time of each command, in alternating runs."""
    # Compiled Python files are part of what is warm.
    environment = {**os.environ}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    least = [float("inf")] * len(commands)
    for _ in range(REPEATS):
        for k, command in enumerate(commands):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            least[k] = min(least[k], used)
    return least


def comparisons() -> Iterator[Comparison]:
    with tempfile.TemporaryDirectory() as folder:
        greedyexp = [sys.executable, "-m", "greedyexp"]
        for arguments in (RUN, ONE_FIGURE):
            subprocess.run([*greedyexp, *arguments, "--quiet"], cwd=folder, check=True)

        def compared(what: str, command: list[str]) -> Comparison:
            own, base = cpu_seconds([command, [sys.executable, "-c", PEER]], folder)
            return Comparison(what, PEER, own, base, f"takes {own / base:.2f} times as long")

        for name, arguments in COMMANDS.items():
            yield compared(f"start of {name}", [*greedyexp, *arguments])
        for name, call in FITS.items():
            yield compared(f"first solve, {name}", [sys.executable, "-c", DATA + call])


if __name__ == "__main__":
    report(comparisons, __doc__)
