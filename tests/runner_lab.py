"""Small experiments on a plugin of their own, for the tests of the runner."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from pathlib import Path

import yaml

from greedyexp import config as experiments
from greedyexp import runner

_MADE: Counter[str] = Counter()

PLUGIN = '''
import itertools
import os
import signal
import time

import numpy as np

from greedyexp import Problem, algorithm, generator


@generator("TAG_data", provides=("truth",))
def data(rng, *, n: int = 12, p: int = 4, noise: float = 0.5, trouble: str = ""):
    """Gaussian rows; `draw` tells data sets apart."""
    X = rng.standard_normal((n, p))
    truth = np.zeros((p, 1))
    truth[0] = 1.0
    y = X @ truth[:, 0] + noise * rng.standard_normal(n)
    draw = float(rng.random())
    line = f"{n} {p} {draw!r}"
    note("data", line)
    if trouble == "raise" and draw < 0.5:
        raise ValueError(f"no data at {object()}")
    if trouble == "hang" and draw < 0.5:
        time.sleep(1000)
    return Problem((X,), (y,), truth, noise, 1, {"draw": draw})


@algorithm("TAG_ridge")
def ridge(problem, *, penalty: float = 1.0, pause: float = 0.0):
    """Ridge regression."""
    line = f"{penalty} {problem.facts['draw']!r}"
    note("ridge", line)
    time.sleep(pause)
    X, y = problem.X[0], problem.y[0]
    return np.linalg.solve(X.T @ X + penalty * np.eye(X.shape[1]), X.T @ y)[:, None]


@algorithm("TAG_median")
def median(problem):
    """One number for all coefficients."""
    return np.full((problem.n_features, 1), np.median(problem.y[0]))


def spin():
    """A loop in C that never ends: Python handles no signal and runs no other thread."""
    return sum(itertools.repeat(0.0))


@algorithm("TAG_trouble")
def trouble(problem, *, mode: str = "raise", below: float = 0.5):
    """Fails in a given way on data sets with a small draw."""
    coef = np.zeros((problem.n_features, 1))
    if problem.facts["draw"] >= below:
        return coef
    if mode == "raise":
        raise RuntimeError(f"broken, {object()}\\nsecond line")
    if mode == "spin":
        coef[0] = spin()
    if mode == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if mode == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    if mode == "exit":
        os._exit(3)
    if mode == "nan":
        coef[0] = np.nan
    if mode == "diverge":
        coef[0] = 1e120
    return coef


LAST = {}


def note(part, line):
    """Log a call, but not when greedyexp repeats it to see that the seed determines its result."""
    if LAST.get(part) != line:
        LAST[part] = line
        with open("LOG", "a") as log:
            log.write(f"{part} {line}\\n")
'''


def _new_tag() -> str:
    """A name for the parts: new each time, since a process has one registry.

    It is made of the test's name, so that the streams, which depend on the names of parts, are the
    same whichever tests run before.
    """
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0].rpartition("/")[2]
    digest = hashlib.sha256(test.encode()).hexdigest()[:8]
    _MADE[digest] += 1
    return f"lab{digest}_{_MADE[digest]}"


class Laboratory:
    """A plugin file in a folder of its own, and experiments on it.

    Parameters
    ----------
    folder : Path
        Where everything goes.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.tag = _new_tag()
        self.log = folder / "calls.log"
        self.plugin = folder / "parts.py"
        self.plugin.write_text(PLUGIN.replace("TAG", self.tag).replace("LOG", str(self.log)))
        self.results = folder / "results" / "lab" / "quick"

    def settings(self, **changes) -> dict:
        """An experiment as a dict; ``data`` is merged, other keys are replaced."""
        data = {"generator": f"{self.tag}_data", "sweep": {"n": [8, 12]}, **changes.pop("data", {})}
        return {
            "name": "lab",
            "seed": 7,
            "plugins": [str(self.plugin)],
            "data": data,
            "trials": 6,
            "algorithms": [f"{self.tag}_ridge", f"{self.tag}_median"],
            "metrics": ["frobenius_error", "sign_support"],
            **changes,
        }

    def experiment(self, *, only=(), **changes):
        return experiments.load(self.settings(**changes), only=only)

    def run(self, *, only=(), folder=None, how=None, **changes) -> runner.Report:
        """Run the settings with changes; ``how`` are the options of ``runner.run``.

        Without an engine or a number of jobs, no worker is started: each takes a second to import
        everything.
        """
        how = how or {}
        serial = {} if how.keys() & {"engine", "jobs"} else {"engine": "serial", "jobs": None}
        options = {"jobs": 1, "progress": False, **serial, **how}
        return runner.run(
            self.experiment(only=only, **changes),
            folder or self.results,
            runner.RunOptions(**options),
        )

    def trouble(self, mode: str, **params) -> dict:
        """An algorithm entry that fails in a given way, labelled ``trouble``."""
        return {f"{self.tag}_trouble": {"mode": mode, "label": "trouble", **params}}

    def write_yaml(self, **changes) -> Path:
        """The settings in a file, for commands that run elsewhere."""
        path = self.folder / "lab.yaml"
        path.write_text(yaml.safe_dump(self.settings(**changes)))
        return path

    def calls(self, part: str) -> list[str]:
        """Lines that a part has logged."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line for line in lines if line.startswith(f"{part} ")]


def rows_of(table: Path) -> list[str]:
    """The lines of a table below its header."""
    return table.read_text().splitlines()[1:]
