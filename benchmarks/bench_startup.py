"""Time to start of commands when everything is warm: nothing to compile, nothing to compute.

Each number is processor time relative to ``import numpy, scipy, pandas``, the smallest of several
runs. Processor time counts all processes that a command starts.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

REPEATS = 7
EXPERIMENT = "phase_transition"
BASE = [sys.executable, "-c", "import numpy, scipy, pandas"]


def seconds(command: list[str], folder: str) -> float:
    """Return the least processor time of a command."""
    # Compiled Python files are part of what is warm.
    environment = {**os.environ}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    found = []
    for _ in range(REPEATS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


def main() -> None:
    run = ["run", EXPERIMENT, "--profile", "smoke", "--set", "figures=[phase_transition]"]
    run += ["--tag", "one"]
    commands = {
        "--help": ["--help"],
        "check": ["check", EXPERIMENT],
        "status": ["status", "results"],
        "run, nothing to do": run,
        "plot, one figure": ["plot", "results"],
    }
    with tempfile.TemporaryDirectory() as folder:
        greedyexp = [sys.executable, "-m", "greedyexp"]
        subprocess.run([*greedyexp, *run, "--quiet"], cwd=folder, check=True)
        files = sorted(path.name for path in Path(folder).rglob("*.png"))
        assert files == ["phase_transition.png"], files
        base = seconds(BASE, folder)
        print(f"{'import numpy, scipy, pandas':30} {base:6.2f} s")
        for name, arguments in commands.items():
            own = seconds([*greedyexp, *arguments], folder)
            print(f"{name:30} {own:6.2f} s  {own / base:5.2f}")


if __name__ == "__main__":
    main()
